# Installing, and what goes with it: packages, documentation, an archive of the sources.

# What programs link beside the library, for pkg-config. With CMake: mk/snapwalkConfig.cmake.in.
LIBS_linux := -Wl,-z,now
LIBS_PRIVATE_linux := -lZydis $(if $(MINIMAL),,-lelf -llzma -lz) -pthread
CMAKE_LIBS := Zydis;$(if $(MINIMAL),,elf;lzma;z;)-pthread
LIBS_windows := -lZydis -lntdll
# install-packages NAME...: pkg-config files of these names, and the CMake package
define install-packages
install -d '$(DESTDIR)$(LIBDIR)/pkgconfig' '$(DESTDIR)$(LIBDIR)/cmake/snapwalk'
for file in $(addprefix pkgconfig/,$(addsuffix .pc,$(1))) cmake/snapwalk/snapwalkConfig.cmake \
	cmake/snapwalk/snapwalkConfigVersion.cmake; do \
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' -e 's|@DATADIR@|$(DATADIR)|' -e 's|@DOCDIR@|$(DOCDIR)|' \
		-e 's|@VERSION@|$(VERSION)|' \
		-e 's|@LIBS@|$(LIBS_$(SW_HOST))|' -e 's|@LIBS_PRIVATE@|$(LIBS_PRIVATE_$(SW_HOST))|' -e 's|@CMAKE_LIBS@|$(CMAKE_LIBS)|' "mk/$${file##*/}.in" \
		> '$(DESTDIR)$(LIBDIR)/'"$$file"; \
done
endef

INSTALLED := libsnapwalk.a libZydis.a libsnapwalk-harness.a libsnapwalk.so.$(VERSION) $(SONAME) libsnapwalk.so \
	libsnapwalk-profiler.so
FOUND = @[ -n '$(DESTDIR)' ] || mk/found.sh '$(LIBDIR)' $(SONAME)
# The library alone: what a minimal build (MINIMAL=1) has to install.
install-lib: lib shared
	install -d '$(DESTDIR)$(LIBDIR)' '$(DESTDIR)$(INCLUDEDIR)/snapwalk'
	install -m 644 $(LIB) $(DSO) '$(DESTDIR)$(LIBDIR)/'
	ln -sf $(notdir $(DSO)) '$(DESTDIR)$(LIBDIR)/$(SONAME)'
	ln -sf $(SONAME) '$(DESTDIR)$(LIBDIR)/libsnapwalk.so'
	install -m 644 include/snapwalk/*.h include/snapwalk/*.hpp '$(DESTDIR)$(INCLUDEDIR)/snapwalk/'
	$(call install-packages,snapwalk)
	$(if $(filter install,$(MAKECMDGOALS)),,$(FOUND))

# What people read and begin with: pages, tutorials, examples; and the bindings, which are sources.
PAGES := README.md ARCHITECTURE.md CHANGELOG.md LICENSE SECURITY.md $(wildcard docs/*.md docs/tutorials/*.md) $(shell find examples -type f)
BINDINGS := $(shell find bindings -type f ! -name '*.pyc')
install-pages:
	@for file in $(PAGES); do install -D -m 644 "$$file" '$(DESTDIR)$(DOCDIR)/'"$$file" || exit 1; done
	@for file in $(BINDINGS); do install -D -m 644 "$$file" '$(DESTDIR)$(DATADIR)/'"$$file" || exit 1; done

install: install-lib install-pages harness tools $(RUNNER)
	install -d '$(DESTDIR)$(BINDIR)' '$(DESTDIR)$(MANDIR)/man1' '$(DESTDIR)$(MANDIR)/man7'
	install -m 755 $(SNAPSTACKS) $(COMMAND) $(CONVERT) $(RUNNER) '$(DESTDIR)$(BINDIR)/'
	install -m 644 docs/man/*.1 '$(DESTDIR)$(MANDIR)/man1/'
	install -m 644 docs/man/*.7 '$(DESTDIR)$(MANDIR)/man7/'
	install -m 755 $(PROFILER) '$(DESTDIR)$(LIBDIR)/'
	install -m 644 $(HARNESS) '$(DESTDIR)$(LIBDIR)/'
	$(call install-packages,snapwalk-harness)
	$(FOUND)

# An archive of the decoder, which Debian has not: for programs that are linked with -static or -static-pie.
install-zydis:
	@mk/zydis.sh $(BUILD)
	install -d '$(DESTDIR)$(LIBDIR)'
	install -m 644 $(BUILD)/zydis/libZydis.a '$(DESTDIR)$(LIBDIR)/'

uninstall:
	cd '$(DESTDIR)$(LIBDIR)' && rm -f $(INSTALLED) pkgconfig/snapwalk.pc pkgconfig/snapwalk-harness.pc
	rm -rf '$(DESTDIR)$(INCLUDEDIR)/snapwalk' '$(DESTDIR)$(LIBDIR)/cmake/snapwalk' '$(DESTDIR)$(DOCDIR)' '$(DESTDIR)$(DATADIR)'
	rm -f $(patsubst %,'$(DESTDIR)$(BINDIR)/%',snapstacks snapwalk-profiler snapwalk-profile-convert clr-in-a-tube)
	rm -f $(patsubst %,'$(DESTDIR)$(MANDIR)/%',$(patsubst docs/man/%.1,man1/%.1,$(wildcard docs/man/*.1)) \
		$(patsubst docs/man/%.7,man7/%.7,$(wildcard docs/man/*.7)))
	rm -f '$(DESTDIR)$(MANDIR)/man3/'sw_*.3 '$(DESTDIR)$(MANDIR)/man3/'snapwalk_*.3

docs: deps-docs
	@mk/docs.sh $(BUILD) $(VERSION)

install-docs: docs
	install -d '$(DESTDIR)$(MANDIR)/man3' '$(DESTDIR)$(DOCDIR)'
	install -m 644 $(BUILD)/docs/man/man3/*.3 '$(DESTDIR)$(MANDIR)/man3/'
	cp -R $(BUILD)/docs/html '$(DESTDIR)$(DOCDIR)/'

# The sources of the last commit, the same bytes each time.
dist:
	@mkdir -p $(BUILD)
	git archive --format=tar --prefix=snapwalk-$(VERSION)/ HEAD | xz -T1 > $(BUILD)/snapwalk-$(VERSION).tar.xz

install-for-windows: archive
	install -d '$(DESTDIR)$(LIBDIR)' '$(DESTDIR)$(INCLUDEDIR)/snapwalk'
	install -m 644 $(LIB) $(BUILD)/zydis/libZydis.a '$(DESTDIR)$(LIBDIR)/'
	install -m 644 include/snapwalk/*.h '$(DESTDIR)$(INCLUDEDIR)/snapwalk/'
	$(call install-packages,snapwalk)
