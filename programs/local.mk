# programs/: SelIR programs, and the module that runs them under CPython.
nobase_dist_pkgdata_DATA += \
	programs/detent/attention.py \
	programs/selir.py
