# programs/: SelIR programs, and the module that runs them under CPython.
nobase_dist_pkgdata_DATA += \
	programs/detent/attention.py \
	programs/selir.py

# programs/sglang/: SGLang's selections.
nobase_dist_pkgdata_DATA += \
	programs/sglang/fa3.py \
	programs/sglang/fa3_tiles.py
