# snapwalk. `make help` lists the targets. Everything built goes to $(BUILD); the source tree stays clean.
VERSION := $(shell awk '/^\#define SW_VERSION_(MAJOR|MINOR|PATCH) / { printf "%s%s", dot, $$3; dot = "." }' include/snapwalk/status.h)
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/snapwalk
DESTDIR ?=
BUILD ?= build
CFLAGS ?= -O2 -g
FUZZ_S ?= 60
ifeq ($(origin CC),default)
CC := gcc
endif

WARN := -Wall -Wextra -Wconversion -Wshadow -Wmissing-prototypes -Werror
# ASSERTS=1 is a build for tests: what always holds of the main structures (sw_*_is_valid) is asserted.
ASSERTS ?=
# VISIBLE=1: objects of the shared library.
VISIBLE ?=
CPPFLAGS += -Iinclude -Ilib -Isrc $(if $(ASSERTS),,-DNDEBUG) $(if $(VISIBLE),-DSW_BUILDING_SHARED) $(FLAGS_$(SW_HOST))
SW_CFLAGS := -std=c11 $(WARN) -fPIC -fvisibility=hidden -ffunction-sections -fno-common
# Bound at start: a walk in a signal handler must not enter the dynamic loader.
LDLIBS := -lZydis -lelf -llzma -Wl,-z,now

# Files that ask the operating system or libelf; everything else is freestanding. SW_HOST: linux, or windows
# (mk/windows.sh).
SW_HOST ?= linux
HOSTED_linux := $(wildcard src/target/linux/*.c src/clr/linux/*.c lib/elf/*.c)
HOSTED_windows := $(wildcard src/target/windows/*.c src/clr/windows/*.c)
HOSTED := $(HOSTED_$(SW_HOST))
HOSTED_FLAGS_linux := -D_GNU_SOURCE
# Sources of the library never include windows.h behind corprof.h.
FLAGS_windows := -DSNAPWALK_WITHOUT_WINDOWS_H
HOSTED_FLAGS_windows := -D_WIN32_WINNT=0x0602 -DWIN32_LEAN_AND_MEAN
PORTABLE := $(filter-out $(HOSTED_linux) $(HOSTED_windows),$(wildcard lib/*/*.c lib/*/*/*.c src/*/*.c src/*/*/*.c))
OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(PORTABLE) $(HOSTED))
LIB := $(BUILD)/libsnapwalk.a

# The same, compiled once more, as a shared library: only what has SW_API is visible, as a version of its own.
SONAME := libsnapwalk.so.$(word 1,$(subst ., ,$(VERSION)))
DSO := $(BUILD)/libsnapwalk.so.$(VERSION)

# A runtime in a test tube: an archive of its own, on the public headers only.
HARNESS := $(BUILD)/libsnapwalk-harness.a
TUBE := $(patsubst %.c,$(BUILD)/%,$(wildcard test/harness/*.c))
# The runner of scenarios, and the profilers that they try.
RUNNER := $(BUILD)/examples/clr-in-a-tube/clr-in-a-tube
CLIENTS := $(patsubst examples/%.c,$(BUILD)/examples/%.so,$(wildcard examples/clr-in-a-tube/profilers/*.c))
GUIDE := $(BUILD)/examples/clr-in-a-tube/guide/profiler.so $(BUILD)/examples/clr-in-a-tube/guide/test

UNIT := $(patsubst %.c,$(BUILD)/%,$(wildcard test/unit/*.c))
RACE := $(filter %_race,$(UNIT))
# row.o is linked whether something of it is called or not.
SUPPORT := $(BUILD)/test/support/row.o $(BUILD)/test/support/libsupport.a
EXAMPLES := $(patsubst %.c,$(BUILD)/%,$(wildcard examples/*.c))
ORACLE := $(patsubst %.c,$(BUILD)/%,$(wildcard test/oracle/*.c))
# One program of many files, and rivals that must not share a process with it.
BENCH := $(BUILD)/test/bench/bench
BENCH_SHARED := test/bench/stacks.c test/bench/turns.c test/bench/measure.c test/bench/programs/rival.c
BENCH_RIVALS := $(patsubst %.c,$(BUILD)/%,$(filter-out $(BENCH_SHARED),$(wildcard test/bench/programs/*.c)))
SAMPLER := $(BUILD)/test/bench/programs/libsampler.so
TORTURE := $(patsubst %.c,$(BUILD)/%,$(wildcard test/torture/*.c))
FUZZ := $(patsubst %.c,$(BUILD)/%,$(wildcard test/fuzz/*.c))
PROFILER := $(BUILD)/libsnapwalk-profiler.so
COMMAND := $(BUILD)/tools/snapwalk-profiler
PROFILER_PARTS := $(BUILD)/test/profiler/parts
OVERLAY := $(BUILD)/examples/libsnapwalk-overlay.so
PROBE_linux := libclrtest.so
PROBE_windows := clrtest.dll
PROBE := $(BUILD)/test/clr/$(PROBE_$(SW_HOST))
# The example for Windows, and the one that repairs Wine first.
SAMPLERS := $(BUILD)/examples/clr_sampler.dll $(BUILD)/test/clr/clr_sampler.dll
PROGRAMS := $(UNIT) $(TUBE) $(EXAMPLES) $(ORACLE) $(FUZZ) $(TORTURE)

lib: deps-lib $(LIB)

# A test build is a build of its own: make BUILD=build/asan CC=clang CFLAGS=... programs
archive: $(LIB)
shared: deps-lib $(DSO)
harness: $(HARNESS)
unit: $(UNIT) $(TUBE)
race: $(RACE)
examples: $(EXAMPLES) $(OVERLAY)
clr-probe: $(PROBE)
clr-samplers: $(SAMPLERS)
clr-libraries: $(PROFILER) $(OVERLAY) $(PROBE)
tube-programs: $(RUNNER) $(CLIENTS) $(GUIDE)
oracle: $(ORACLE)
fuzzers: $(FUZZ)

$(LIB): $(OBJECTS)
	@rm -f $@
	@$(AR) rcs $@ $^
	@echo "  AR      $@"

$(DSO): $(PORTABLE) $(HOSTED) mk/snapwalk.map
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/shared VISIBLE=1 archive
	@$(CC) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=mk/snapwalk.map -Wl,-z,defs -Wl,-z,relro $(CFLAGS) $(LDFLAGS) \
		-Wl,--whole-archive $(BUILD)/shared/libsnapwalk.a -Wl,--no-whole-archive $(LDLIBS) -pthread -o $@
	@ln -sf $(notdir $@) $(BUILD)/$(SONAME)
	@ln -sf $(SONAME) $(BUILD)/libsnapwalk.so
	@echo "  LD      $@"

$(patsubst %.c,$(BUILD)/%.o,$(HOSTED)): CPPFLAGS += $(HOSTED_FLAGS_$(SW_HOST))
# Functions in assembly language: a compiler that puts off what it compiles would lose them.
$(patsubst %,$(BUILD)/src/%.o,target/linux/self_capture clr/linux/stack_switch target/windows/self_capture target/windows/memory): \
	SW_CFLAGS += -fno-lto
$(BUILD)/lib/%.o: lib/%.c
	@mkdir -p $(@D)
	@echo "  CC      $<"
	@$(CC) $(CPPFLAGS) $(CFLAGS) $(SW_CFLAGS) -MMD -MP -c $< -o $@
$(BUILD)/src/%.o: src/%.c
	@mkdir -p $(@D)
	@echo "  CC      $<"
	@$(CC) $(CPPFLAGS) $(CFLAGS) $(SW_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/harness/%.o: harness/%.c
	@mkdir -p $(@D)
	@echo "  CC      $<"
	@$(CC) -Iinclude -Iharness -D_GNU_SOURCE $(SW_CFLAGS) -pthread $(CFLAGS) -MMD -MP -c $< -o $@
$(BUILD)/harness/%.o: harness/%.S
	@mkdir -p $(@D)
	@echo "  CC      $<"
	@$(CC) $(CFLAGS) -fPIC -c $< -o $@
$(HARNESS): $(patsubst %,$(BUILD)/%.o,$(basename $(wildcard harness/*.c harness/*.S)))
	@rm -f $@
	@$(AR) rcs $@ $^
	@echo "  AR      $@"

# Examples see what users see: the public headers only. (private: the archive is built with its own flags.)
$(EXAMPLES): private CPPFLAGS := -Iinclude
$(UNIT): private LIB := $(SUPPORT) $(LIB)
$(UNIT): private LDLIBS += -lcmocka -ldl
$(UNIT): $(SUPPORT)
$(TUBE): private LIB := $(SUPPORT) $(HARNESS) $(LIB)
$(TUBE): private LDLIBS += -lcmocka -ldl
$(TUBE): private CPPFLAGS += -Iharness
$(TUBE): $(SUPPORT) $(HARNESS)
$(TORTURE): private LIB := $(BUILD)/test/support/libsupport.a $(LIB)
$(TORTURE): private LDLIBS += -ldl
$(TORTURE): $(BUILD)/test/support/libsupport.a
$(ORACLE): private LDLIBS += -ldw -lcapstone
$(FUZZ): private LDLIBS += -fsanitize=fuzzer
# Two of them read what the harness reads.
FUZZ_TUBE := $(BUILD)/test/fuzz/fuzz_script $(BUILD)/test/fuzz/fuzz_compare
$(FUZZ_TUBE): private LIB := $(HARNESS) $(LIB)
$(FUZZ_TUBE): private LDLIBS += -ldl
$(FUZZ_TUBE): $(HARNESS)
# What it reads and writes is no part of the library.
FUZZ_FOLDED := $(BUILD)/test/fuzz/fuzz_folded
$(FUZZ_FOLDED): private LIB := $(BUILD)/libsnapwalk-profile.a
$(FUZZ_FOLDED): private LDLIBS += -lprotobuf-c -lz
$(FUZZ_FOLDED): private CPPFLAGS += -Itools
$(FUZZ_FOLDED): $(BUILD)/libsnapwalk-profile.a
$(PROGRAMS): $(BUILD)/%: %.c $(LIB)
	@mkdir -p $(@D)
	@echo "  CC      $<"
	@$(CC) $(CPPFLAGS) -D_GNU_SOURCE -std=c11 $(WARN) -pthread $(CFLAGS) -MMD -MP -MF $@.d $< $(LIB) $(LDFLAGS) $(LDLIBS) -o $@

$(BUILD)/test/support/%.o: test/support/%.c
	@mkdir -p $(@D)
	@echo "  CC      $<"
	@$(CC) $(CPPFLAGS) -D_GNU_SOURCE -std=c11 $(WARN) $(CFLAGS) -MMD -MP -c $< -o $@
$(BUILD)/test/support/libsupport.a: $(patsubst %.c,$(BUILD)/%.o,$(filter-out %/row.c,$(wildcard test/support/*.c)))
	@rm -f $@
	@$(AR) rcs $@ $^

$(BENCH): $(wildcard test/bench/*.c test/bench/*.h) $(LIB)
	@mkdir -p $(@D)
	@echo "  CC      $@"
	@$(CC) $(CPPFLAGS) -Itest/bench -D_GNU_SOURCE -std=c11 $(WARN) -pthread $(CFLAGS) $(filter %.c,$^) $(LIB) $(LDLIBS) \
		-lunwind -ldl -lm -o $@
$(BUILD)/test/bench/programs/ptrace: RIVAL_LIBS := -lunwind-ptrace -lunwind-generic -lunwind
$(BENCH_RIVALS): $(BUILD)/%: %.c $(BENCH_SHARED) $(wildcard test/bench/*.h test/bench/programs/*.h)
	@mkdir -p $(@D)
	@echo "  CC      $<"
	@$(CC) -D_GNU_SOURCE -std=c11 $(WARN) -pthread $(CFLAGS) $(filter %.c,$^) $(RIVAL_LIBS) -ldl -o $@

# Libraries that a runtime loads: the archive within, nothing of it visible, never unloaded.
SHARED := $(FLAGS_$(SW_HOST)) -D_GNU_SOURCE -std=c11 $(WARN) -fPIC -fvisibility=hidden -pthread -shared
LOADED_linux := -ldl -Wl,-z,nodelete,--exclude-libs,ALL,--no-undefined
LOADED_windows := -Wl,--exclude-libs,ALL
LOADED := $(LOADED_$(SW_HOST))
# The profiler: the archive, the writers of profiles.
PROFILER_O := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tools/profiler/*.c) tools/send/send.c)
$(PROFILER_O): $(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC      $<"
	@$(CC) -Iinclude -Itools -D_GNU_SOURCE $(SW_CFLAGS) -pthread $(CFLAGS) -MMD -MP -c $< -o $@
$(PROFILER): $(PROFILER_O) $(BUILD)/libsnapwalk-profile.a $(LIB)
	@echo "  LD      $@"
	@$(CC) -pthread -shared $(CFLAGS) -o $@ $^ $(LDLIBS) -lprotobuf-c -lz -lm $(LOADED)
$(OVERLAY): $(wildcard examples/clr-overlay/*) $(LIB)
	@mkdir -p $(@D)
	@echo "  CC      $@"
	@$(CC) -Iinclude $(SHARED) $(CFLAGS) -o $@ $(filter %.c %.S,$^) $(LIB) $(LDLIBS) $(LOADED)
$(SAMPLER): test/bench/sampled/sampler.c $(LIB)
	@mkdir -p $(@D)
	@echo "  CC      $@"
	@$(CC) -Iinclude $(SHARED) $(CFLAGS) -o $@ $(filter %.c,$^) $(LIB) $(LDLIBS) $(LOADED)
$(PROBE): $(wildcard test/clr/probe/*.[ch] test/clr/probe/$(SW_HOST)/*.[ch]) tools/profiler/callbacks.c tools/profiler/callbacks.h $(LIB)
	@mkdir -p $(@D)
	@echo "  CC      $@"
	@$(CC) $(CPPFLAGS) $(SHARED) $(HOSTED_FLAGS_$(SW_HOST)) $(CFLAGS) -o $@ $(filter %.c,$^) $(LIB) $(LDLIBS) $(LOADED)

$(BUILD)/test/clr/clr_sampler.dll: test/clr/windows/repaired.c test/clr/probe/windows/repair.c
$(SAMPLERS): examples/windows/clr_sampler.c tools/profiler/callbacks.c tools/profiler/callbacks.h $(LIB)
	@mkdir -p $(@D)
	@echo "  CC      $@"
	@$(CC) $(CPPFLAGS) $(SHARED) -Itools/profiler $(HOSTED_FLAGS_$(SW_HOST)) $(CFLAGS) -o $@ $(filter %.c,$^) $(LIB) $(LDLIBS) $(LOADED)

# What a profiler finds by dlsym: the annotations of its locks.
$(RUNNER): $(wildcard examples/clr-in-a-tube/*.[ch]) $(HARNESS) $(LIB)
	@mkdir -p $(@D)
	@echo "  CC      $@"
	@$(CC) -Iinclude -D_GNU_SOURCE -std=c11 $(WARN) -pthread $(CFLAGS) -o $@ $(filter %.c,$^) $(HARNESS) $(LIB) $(LDLIBS) -ldl \
		-Wl,--export-dynamic-symbol='sw_tube_lock_*'
# Profilers for scenarios: plain COM, nothing of this library within.
$(CLIENTS) $(BUILD)/examples/clr-in-a-tube/guide/profiler.so: $(BUILD)/%.so: %.c $(wildcard examples/clr-in-a-tube/profilers/*.h)
	@mkdir -p $(@D)
	@echo "  CC      $@"
	@$(CC) -Iinclude -Iexamples/clr-in-a-tube/profilers $(SHARED) $(CFLAGS) -o $@ $< -ldl -Wl,--no-undefined
$(BUILD)/examples/clr-in-a-tube/guide/test: examples/clr-in-a-tube/guide/test.c $(HARNESS) $(LIB)
	@mkdir -p $(@D)
	@echo "  CC      $@"
	@$(CC) -Iinclude -std=c11 $(WARN) -pthread $(CFLAGS) -o $@ $< $(HARNESS) $(LIB) $(LDLIBS) -ldl

# Writers of profiles: an archive of its own, on nothing of this library; messages are made by protobuf-c.
PROFILES := $(BUILD)/libsnapwalk-profile.a
PROTO_C := $(patsubst tools/profile/proto/%.proto,$(BUILD)/tools/profile/%.pb-c.c,$(wildcard tools/profile/proto/*.proto))
# The tool that people keep: several files on the library's public headers and on the writers of profiles.
SNAPSTACKS := $(BUILD)/tools/snapstacks/snapstacks
tools: deps-tools $(BUILD)/tools/profile-convert $(SNAPSTACKS) $(PROFILER) $(COMMAND)
snapstacks: $(SNAPSTACKS)
$(PROTO_C): $(BUILD)/tools/profile/%.pb-c.c: tools/profile/proto/%.proto
	@mkdir -p $(@D)
	@echo "  PROTOC  $<"
	@protoc-c --proto_path=$(<D) --c_out=$(@D) $<
$(PROTO_C:.c=.o): %.o: %.c
	@$(CC) -std=c11 -fPIC -fvisibility=hidden $(CFLAGS) -c $< -o $@
$(BUILD)/tools/profile/%.o: tools/profile/%.c $(PROTO_C)
	@mkdir -p $(@D)
	@echo "  CC      $<"
	@$(CC) -Itools/profile -I$(BUILD)/tools/profile -D_GNU_SOURCE $(SW_CFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@
$(BUILD)/tools/profile/page.o: tools/profile/page.S tools/profile/page.html
	@mkdir -p $(@D)
	@$(CC) -Wa,-Itools/profile -c $< -o $@
$(PROFILES): $(patsubst %.c,$(BUILD)/%.o,$(wildcard tools/profile/*.c)) $(BUILD)/tools/profile/page.o $(PROTO_C:.c=.o)
	@rm -f $@
	@$(AR) rcs $@ $^
	@echo "  AR      $@"
$(BUILD)/tools/profile-convert: tools/profile-convert.c $(PROFILES)
	@mkdir -p $(@D)
	@echo "  CC      $<"
	@$(CC) -Itools -D_GNU_SOURCE -std=c11 $(WARN) $(CFLAGS) -MMD -MP -MF $@.d $< $(PROFILES) -lprotobuf-c -lz -o $@
$(COMMAND): $(wildcard tools/command/*.[ch])
	@mkdir -p $(@D)
	@echo "  CC      $@"
	@$(CC) -D_GNU_SOURCE -std=c11 $(WARN) $(CFLAGS) $(filter %.c,$^) -o $@

$(BUILD)/tools/snapstacks/%.o: tools/snapstacks/%.c
	@mkdir -p $(@D)
	@echo "  CC      $<"
	@$(CC) -Iinclude -Itools -D_GNU_SOURCE -std=c11 $(WARN) $(CFLAGS) -MMD -MP -c $< -o $@
# LIBDW=0: without libdw, and so without files, lines and inlined functions.
LIBDW ?= 1
SNAPSTACKS_SOURCES := $(filter-out tools/snapstacks/symbols_$(if $(filter 0,$(LIBDW)),dw,none).c,$(wildcard tools/snapstacks/*.c))
$(SNAPSTACKS): $(patsubst %.c,$(BUILD)/%.o,$(SNAPSTACKS_SOURCES)) $(PROFILES) $(LIB)
	@echo "  LINK    $@"
	@$(CC) -pthread $(CFLAGS) -o $@ $^ $(if $(filter 0,$(LIBDW)),,-ldw) $(LDLIBS) -liberty -lprotobuf-c -lz

# The profiler's parts that need no runtime.

$(PROFILER_PARTS): test/profiler/parts.c tools/command/ipc.c tools/command/process.c $(patsubst %,$(BUILD)/tools/profiler/%.o,options ring output columns events wide sample) $(BUILD)/tools/send/send.o $(PROFILES) $(LIB)
	@mkdir -p $(@D)
	@echo "  CC      $<"
	@$(CC) -Iinclude -Itools -D_GNU_SOURCE -std=c11 $(WARN) -pthread $(CFLAGS) -MMD -MP -MF $@.d $^ $(LDLIBS) -lcmocka -lprotobuf-c -lz -lm -ldl -o $@

-include $(wildcard $(BUILD)/tools/*/*.d $(BUILD)/tools/*.d $(BUILD)/test/profiler/*.d)
-include $(OBJECTS:.o=.d) $(wildcard $(BUILD)/harness/*.d) $(addsuffix .d,$(PROGRAMS)) $(wildcard $(BUILD)/test/support/*.d)

deps:
	@mk/deps.sh all
deps-lib:
	@mk/deps.sh lib
deps-docs:
	@mk/deps.sh docs
deps-tools:
	@mk/deps.sh tools
deps-run:
	@mk/deps.sh run

run: deps-run $(EXAMPLES) snapstacks
	@mk/run.sh $(BUILD) $(TARGET)

# One room of the tests: ONLY=cache. One test: ONLY=unit-cache ROW=caches_of_any_size_give_the_same.
test check test-all arm64-test: deps
	@ONLY='$(ONLY)' ROW='$(ROW)' test/run.sh $(BUILD) $@

# Built for ARM64 against Debian's packages, in $(BUILD)/arm64; nothing of this system changes.
arm64: deps
	@mk/arm64.sh $(BUILD)/arm64/signed archive examples

# Built for Windows on x64 by mingw-w64, in $(BUILD)/windows; the test runs what is built by Wine.
windows-lib: deps
	@mk/windows.sh $(BUILD)/windows archive
# With the decoder that the archive needs, which no package of Windows has.
windows-install: deps
	@mk/windows.sh $(BUILD)/windows install-for-windows PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' INCLUDEDIR='$(INCLUDEDIR)' \
		DESTDIR='$(DESTDIR)'
install-for-windows: archive
	install -d '$(DESTDIR)$(LIBDIR)' '$(DESTDIR)$(INCLUDEDIR)/snapwalk'
	install -m 644 $(LIB) $(BUILD)/zydis/libZydis.a '$(DESTDIR)$(LIBDIR)/'
	install -m 644 include/snapwalk/*.h '$(DESTDIR)$(INCLUDEDIR)/snapwalk/'
	$(call install-packages,snapwalk)
windows: deps
	@FULL=1 test/windows/run.sh $(BUILD)
	@test/clr/windows.sh $(BUILD)

clrmd: deps $(EXAMPLES) snapstacks
	@mk/clrmd.sh $(BUILD)

clr: deps clr-libraries
	@mk/clr.sh $(BUILD)

clr-cost: deps clr-libraries
	@mk/clr-events.sh $(BUILD)

accuracy: deps archive
	@test/accuracy/accuracy.sh $(BUILD)

accuracy-arm64: deps archive
	@test/accuracy/arm64.sh $(BUILD)

audit: deps $(EXAMPLES) $(ORACLE)
	@mk/audit.sh $(BUILD)

# Scenarios for profilers, and what each expects; the last line is "tube: N of N scenarios as expected".
tube: deps-lib tube-programs
	@mk/tube.sh $(BUILD)

# Built apart, so that flags for tests do not make it slow.
bench-programs: $(BENCH) $(BENCH_RIVALS) $(SAMPLER) $(EXAMPLES) snapstacks
bench: deps
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/bench CFLAGS="-O2 -g" bench-programs
	@mk/bench.sh $(BUILD)/bench

# What takes minutes and tries to do harm. ONLY=kill: scenarios whose name has a match.
torture: deps
	@ONLY='$(ONLY)' test/torture/run.sh $(BUILD)

# What the profiler costs; the last line is "profiler: overhead N % at 1000 Hz CPU time".
profiler: deps tools
	@mk/profiler.sh $(BUILD)

# Changes that a test must notice, one at a time. ONLY=clr: of files whose name has a match.
mutants: deps
	@ONLY='$(ONLY)' test/mutants/run.sh $(BUILD)

lint: deps
	@mk/lint.sh $(BUILD)

fuzz: deps
	@mk/fuzz.sh $(BUILD)/fuzz $(FUZZ_S) '$(ONLY)'

# What programs link beside the library, for pkg-config. With CMake: mk/snapwalkConfig.cmake.in.
LIBS_linux := -Wl,-z,now
LIBS_PRIVATE_linux := -lZydis -lelf -llzma -lz -pthread
LIBS_windows := -lZydis -lntdll
# install-packages NAME...: pkg-config files of these names, and the CMake package
define install-packages
install -d '$(DESTDIR)$(LIBDIR)/pkgconfig' '$(DESTDIR)$(LIBDIR)/cmake/snapwalk'
for file in $(addprefix pkgconfig/,$(addsuffix .pc,$(1))) cmake/snapwalk/snapwalkConfig.cmake \
	cmake/snapwalk/snapwalkConfigVersion.cmake; do \
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' -e 's|@VERSION@|$(VERSION)|' \
		-e 's|@LIBS@|$(LIBS_$(SW_HOST))|' -e 's|@LIBS_PRIVATE@|$(LIBS_PRIVATE_$(SW_HOST))|' "mk/$${file##*/}.in" \
		> '$(DESTDIR)$(LIBDIR)/'"$$file"; \
done
endef
INSTALLED := libsnapwalk.a libsnapwalk-harness.a libsnapwalk.so.$(VERSION) $(SONAME) libsnapwalk.so \
	libsnapwalk-profiler.so
install: lib harness shared tools
	install -d '$(DESTDIR)$(LIBDIR)' '$(DESTDIR)$(INCLUDEDIR)/snapwalk' '$(DESTDIR)$(BINDIR)' \
		'$(DESTDIR)$(MANDIR)/man1' '$(DESTDIR)$(MANDIR)/man7'
	install -m 755 $(SNAPSTACKS) $(COMMAND) '$(DESTDIR)$(BINDIR)/'
	install -m 644 tools/snapstacks/snapstacks.1 docs/man/*.1 '$(DESTDIR)$(MANDIR)/man1/'
	install -m 644 docs/man/*.7 '$(DESTDIR)$(MANDIR)/man7/'
	install -m 755 $(PROFILER) '$(DESTDIR)$(LIBDIR)/'
	install -m 644 $(LIB) $(HARNESS) $(DSO) '$(DESTDIR)$(LIBDIR)/'
	ln -sf $(notdir $(DSO)) '$(DESTDIR)$(LIBDIR)/$(SONAME)'
	ln -sf $(SONAME) '$(DESTDIR)$(LIBDIR)/libsnapwalk.so'
	install -m 644 include/snapwalk/*.h include/snapwalk/*.hpp '$(DESTDIR)$(INCLUDEDIR)/snapwalk/'
	$(call install-packages,snapwalk snapwalk-harness)

uninstall:
	cd '$(DESTDIR)$(LIBDIR)' && rm -f $(INSTALLED) pkgconfig/snapwalk.pc pkgconfig/snapwalk-harness.pc
	rm -rf '$(DESTDIR)$(INCLUDEDIR)/snapwalk' '$(DESTDIR)$(LIBDIR)/cmake/snapwalk' '$(DESTDIR)$(DOCDIR)'
	rm -f $(patsubst %,'$(DESTDIR)$(BINDIR)/%',snapstacks snapwalk-profiler)
	rm -f $(patsubst %,'$(DESTDIR)$(MANDIR)/%',man1/snapstacks.1 $(patsubst docs/man/%.1,man1/%.1,$(wildcard docs/man/*.1)) \
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

clean:
	rm -rf $(BUILD)

help:
	@echo 'make run            a real program with JIT code, and the stacks of all its threads'
	@echo '  TARGET=toy|dotnet   which program (default: dotnet where that command exists)'
	@echo 'make check          the quick half of the tests: unit tests, also with ASan, and checks; two minutes'
	@echo 'make test           all tests; the last line is "N passed, N failed"'
	@echo 'make test-all       and those that take long: .NET for Windows and ARM64 beside the CLR'
	@echo '  ONLY=cache          groups and programs whose name has a match; ROW=NAME: tests of that name'
	@echo 'make lib            the archive, $(BUILD)/libsnapwalk.a'
	@echo 'make shared         the shared library, $(DSO)'
	@echo 'make install        tools, libraries, headers, pkg-config, CMake files; PREFIX LIBDIR INCLUDEDIR DESTDIR; make uninstall'
	@echo 'make docs           the reference of all headers: pages of man and HTML, $(BUILD)/docs; make install-docs'
	@echo 'make dist           the sources of the last commit, $(BUILD)/snapwalk-$(VERSION).tar.xz'
	@echo 'make tools          snapstacks: stacks of a process or a core; the .NET profiler; profile-convert; $(BUILD)/tools'
	@echo 'make arm64          archive and examples for ARM64, $(BUILD)/arm64/signed'
	@echo 'make arm64-test     its unit tests and examples under qemu, on two processors'
	@echo 'make windows-lib    archive for Windows on x64, by mingw-w64, $(BUILD)/windows'
	@echo 'make windows-install  into DESTDIR, PREFIX, LIBDIR, INCLUDEDIR, with pkg-config and CMake files'
	@echo 'make windows        its tests and walk_self.exe, run by Wine; "windows: N of N walks as expected"'
	@echo 'make clrmd          a stopped .NET process, seen by this library, ClrMD and eu-stack'
	@echo 'make clr            inside a real .NET: every answer beside the CLR'"'"'s own, samples at any instant, cost'
	@echo 'make clr-cost       what following a runtime costs a .NET program: each event, dotnet build, memory'
	@echo 'make tube           scenarios for .NET profilers, played without .NET; "tube: N of N scenarios as expected"'
	@echo 'make profiler       what the profiler costs, beside the same timer alone, and that programs are the same under it'
	@echo 'make accuracy       real programs, single-stepped: every walk beside the calls that were made'
	@echo 'make accuracy-arm64 the same of ARM64 programs, in qemu-aarch64'
	@echo 'make audit          unwind tables of large libraries beside their instructions'
	@echo 'make bench          speed beside all alternatives: one table, $(BUILD)/bench/bench.json, bench.svg'
	@echo 'make fuzz           every fuzz target for FUZZ_S=$(FUZZ_S) seconds'
	@echo 'make torture        what could harm a walked or a walking process, ten minutes; "torture: N of N held"'
	@echo 'make mutants        one-line changes of the library, each against the tests that must notice it; an hour'
	@echo 'make lint           clang-tidy and gcc -fanalyzer over lib, src and examples'
	@echo 'make deps           installs what all of these need (Debian packages, as root)'
	@echo 'make clean          removes $(BUILD)'
	@echo 'Variables: CC, CFLAGS, BUILD; ASSERTS=1: invariants are asserted'

.DEFAULT_GOAL := lib
.PHONY: check lib archive harness tube tube-programs unit race examples oracle fuzzers deps deps-lib deps-run deps-tools tools run test arm64 arm64-test windows-lib windows clrmd clr clr-cost clr-libraries accuracy accuracy-arm64 audit bench bench-programs lint mutants torture fuzz install uninstall dist docs install-docs deps-docs shared clean help snapstacks windows-install install-for-windows profiler test-all
