# man/: pages in scdoc.  Built pages are shipped, so scdoc is for a clone only.
man_sources = \
	man/detent-deployment.5.scd \
	man/detent-profiler.8.scd \
	man/detent-trace.5.scd \
	man/detent-verify.1.scd \
	man/detent.7.scd \
	man/detentctl.1.scd \
	man/detentd.8.scd \
	man/libdetent.3.scd
EXTRA_DIST += $(man_sources) man/README.md
man_pages = \
	man/detent-deployment.5 \
	man/detent-profiler.8 \
	man/detent-trace.5 \
	man/detent-verify.1 \
	man/detent.7 \
	man/detentctl.1 \
	man/detentd.8 \
	man/libdetent.3
if HAVE_MAN_PAGES
dist_man_MANS += $(man_pages)
endif
if HAVE_SCDOC
CLEANFILES += $(man_pages)
$(man_pages): man/%: man/%.scd
	$(AM_V_GEN)$(MKDIR_P) man && $(SCDOC) < $< > $@.new && mv $@.new $@
endif
