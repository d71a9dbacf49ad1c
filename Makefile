# snapwalk. `make help` lists the targets. Everything built goes to $(BUILD); the source tree stays clean.
VERSION := $(shell awk '/^\#define SW_VERSION_(MAJOR|MINOR|PATCH) / { printf "%s%s", dot, $$3; dot = "." }' include/snapwalk/status.h)
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/snapwalk
DATADIR ?= $(PREFIX)/share/snapwalk
DESTDIR ?=
BUILD ?= build
# One name for each file, however BUILD is written: what a file was made of is noted by its name.
override BUILD := $(patsubst $(CURDIR)/%,%,$(BUILD))
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
# What the caller gives, without this tree's folders: for the tools, which see the public headers only.
GIVEN_CPPFLAGS := $(CPPFLAGS)
override CPPFLAGS += -Iinclude -Ilib -Isrc $(if $(ASSERTS),,-DNDEBUG) $(if $(VISIBLE),-DSW_BUILDING_SHARED) $(FLAGS_$(SW_HOST))
# The same bytes wherever the sources are: debug information names files from the top of the tree.
SAME_PATHS := -ffile-prefix-map='$(CURDIR)'=. -ffile-prefix-map='$(BUILD)'=build
SW_CFLAGS := -std=c11 $(WARN) -fPIC -fvisibility=hidden -ffunction-sections -fno-common $(SAME_PATHS)
# Bound at start: a walk in a signal handler must not enter the dynamic loader.
LDLIBS := -lZydis $(if $(MINIMAL),,-lelf -llzma) -Wl,-z,now

# Files that ask the operating system or libelf; everything else is freestanding. SW_HOST: linux, or windows
# (mk/windows.sh).
SW_HOST ?= linux
# MINIMAL=1: without libelf and liblzma. ELF files are not read: tables of this process where they are mapped, cores by
# their own bytes, no names.
MINIMAL ?=
ELF := $(wildcard lib/elf/*.c)
NO_ELF := lib/no_elf/no_elf.c
HOSTED_linux := $(wildcard src/target/linux/*.c src/clr/linux/*.c) $(if $(MINIMAL),$(NO_ELF),$(ELF))
HOSTED_windows := $(wildcard src/target/windows/*.c src/clr/windows/*.c) $(NO_ELF)
HOSTED := $(HOSTED_$(SW_HOST))
HOSTED_FLAGS_linux := -D_GNU_SOURCE
# Sources of the library never include windows.h behind corprof.h.
FLAGS_windows := -DSNAPWALK_WITHOUT_WINDOWS_H
HOSTED_FLAGS_windows := -D_WIN32_WINNT=0x0602 -DWIN32_LEAN_AND_MEAN
PORTABLE := $(filter-out $(HOSTED_linux) $(HOSTED_windows) $(ELF) $(NO_ELF),$(wildcard lib/*/*.c lib/*/*/*.c src/*/*.c src/*/*/*.c))
OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(PORTABLE) $(HOSTED))
LIB := $(BUILD)/libsnapwalk.a

# The same, compiled once more, as a shared library: only what has SW_API is visible, as a version of its own.
SONAME := libsnapwalk.so.$(shell awk '/^\#define SW_VERSION_ABI / { print $$3 }' include/snapwalk/status.h)
DSO := $(BUILD)/libsnapwalk.so.$(VERSION)

# A runtime in a test tube: an archive of its own, on the public headers only.
HARNESS := $(BUILD)/libsnapwalk-harness.a

lib: deps-lib $(LIB)

# A test build is a build of its own: make BUILD=build/asan CC=clang CFLAGS=... programs
archive: $(LIB)
shared: deps-lib $(DSO)
harness: $(HARNESS)

$(LIB): $(OBJECTS)
	@rm -f $@
	@$(AR) rcs $@ $^
	@echo "  AR      $@"

# Asked each time: only the other make knows what its objects are made of.
$(BUILD)/shared/libsnapwalk.a: again
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/shared VISIBLE=1 archive
again:
$(DSO): $(BUILD)/shared/libsnapwalk.a mk/snapwalk.map
	@$(CC) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=mk/snapwalk.map -Wl,-z,defs -Wl,-z,relro $(CFLAGS) $(LDFLAGS) \
		-Wl,--whole-archive $< -Wl,--no-whole-archive $(LDLIBS) -pthread -o $@
	@ln -sf $(notdir $@) $(BUILD)/$(SONAME)
	@ln -sf $(SONAME) $(BUILD)/libsnapwalk.so
	@echo "  LD      $@"

$(patsubst %.c,$(BUILD)/%.o,$(HOSTED)): override CPPFLAGS += $(HOSTED_FLAGS_$(SW_HOST))
# Functions in assembly language: a compiler that puts off what it compiles would lose them.
$(patsubst %,$(BUILD)/src/%.o,target/linux/self_capture clr/linux/stack_switch target/windows/self_capture target/windows/memory): \
	SW_CFLAGS += -fno-lto
# A loop of some 20 cycles, which in one place of four is an eighth slower where jumps in it are not aligned. clang knows no such flag.
$(BUILD)/src/walk/whole.o: SW_CFLAGS += -falign-jumps=32 -Wno-ignored-optimization-argument
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
	@$(CC) $(CFLAGS) $(SAME_PATHS) -fPIC -c $< -o $@
$(HARNESS): $(patsubst %,$(BUILD)/%.o,$(basename $(wildcard harness/*.c harness/*.S)))
	@rm -f $@
	@$(AR) rcs $@ $^
	@echo "  AR      $@"

# Tools, examples and tests, installing: rooms of their own.
include mk/tools.mk mk/tests.mk mk/install.mk

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
deps-debuggers:
	@mk/deps.sh debuggers
deps-run:
	@mk/deps.sh run

run: deps-run $(EXAMPLES) snapstacks
	@mk/run.sh $(BUILD) $(TARGET)

# One room of the tests: ONLY=cache. One test: ONLY=unit-cache ROW=caches_of_any_size_give_the_same.
test check test-ci test-all arm64-test: deps
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
windows: deps
	@FULL=1 test/windows/run.sh $(BUILD)
	@test/clr/windows.sh $(BUILD)

clrmd: deps $(EXAMPLES) snapstacks
	@mk/clrmd.sh $(BUILD)

debuggers: deps-debuggers snapstacks
	@test/debuggers/run.sh $(BUILD)
debuggers-cost: deps-debuggers snapstacks
	@test/debuggers/time.sh $(BUILD)

clr: deps clr-libraries snapstacks
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

nuget:
	@mk/nuget.sh $(BUILD) $(VERSION)

# make run and make check on systems just installed. TESTS=test: all tests; SYSTEMS, USERS: some of them.
fresh:
	@mk/fresh.sh $(BUILD) '$(or $(TESTS),check)' $(SYSTEMS)

# The shared library beside that of the last tag, or of the commit BASE: what programs linked with it meet.
abi:
	@mk/deps.sh abi
	@mk/abi.sh $(BUILD) $(BASE) || [ $$? -eq 77 ]

lint: deps
	@mk/lint.sh $(BUILD)

fuzz: deps
	@mk/fuzz.sh $(BUILD)/fuzz $(FUZZ_S) '$(ONLY)'

clean:
	rm -rf $(BUILD)

help:
	@echo 'make run            a real program with JIT code, and the stacks of all its threads'
	@echo '  TARGET=toy|dotnet   which program (default: dotnet where that command exists)'
	@echo 'make check          the quick half of the tests: unit tests, also with ASan, and checks; two minutes'
	@echo 'make test           what each commit passes, ten minutes; the last line is "N passed, N failed"'
	@echo 'make test-ci        and what CI runs besides: another compiler, ARM64, Windows, decoders beside others'
	@echo 'make test-all       both, and what takes long: .NET for Windows and ARM64 beside the CLR'
	@echo '  ONLY=cache          groups and programs whose name has a match; ROW=NAME: tests of that name'
	@echo 'make lib            the archive, $(BUILD)/libsnapwalk.a'
	@echo 'make shared         the shared library, $(DSO)'
	@echo 'make install        tools, libraries, headers, pages, bindings, pkg-config, CMake files; PREFIX LIBDIR INCLUDEDIR DESTDIR; make uninstall'
	@echo 'make install-lib    the library alone; MINIMAL=1: without libelf and liblzma; make install-zydis: the decoder, for -static'
	@echo 'make docs           the reference of all headers: pages of man and HTML, $(BUILD)/docs; make install-docs'
	@echo 'make dist           the sources of the last commit, $(BUILD)/snapwalk-$(VERSION).tar.xz'
	@echo 'make nuget          NuGet packages of the C# binding, the profiler and the overlay, $(BUILD)/nuget'
	@echo 'make tools          snapstacks: stacks of a process or a core; the .NET profiler; a converter of profiles; $(BUILD)/tools'
	@echo 'make arm64          archive and examples for ARM64, $(BUILD)/arm64/signed'
	@echo 'make arm64-test     its unit tests and examples under qemu, on two processors'
	@echo 'make windows-lib    archive for Windows on x64, by mingw-w64, $(BUILD)/windows'
	@echo 'make windows-install  into DESTDIR, PREFIX, LIBDIR, INCLUDEDIR, with pkg-config and CMake files'
	@echo 'make windows        its tests and walk_self.exe, run by Wine; "windows: N of N walks as expected"'
	@echo 'make clrmd          a stopped .NET process, seen by this library, ClrMD and eu-stack'
	@echo 'make debuggers      one stop of programs of nine languages, seen by gdb, eu-stack, their runtimes and snapstacks'
	@echo 'make debuggers-cost what snapstacks costs on large processes, beside ClrMD'
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
	@echo 'make abi            the shared library beside that of the last tag, or of BASE=COMMIT: what programs linked with it meet'
	@echo 'make fresh          make run and make check on fresh Debian 12, 13 and Ubuntu, as root and not; TESTS=test SYSTEMS=trixie USERS=root'
	@echo 'make lint           clang-tidy and gcc -fanalyzer over lib, src, harness and examples'
	@echo 'make deps           installs what all of these need (Debian packages, as root)'
	@echo 'make clean          removes $(BUILD)'
	@echo 'Variables: CC, CFLAGS, BUILD; ASSERTS=1: invariants are asserted'

.DEFAULT_GOAL := lib
.PHONY: abi again fresh nuget clr-overlay check lib archive harness tube tube-programs unit race examples oracle fuzzers deps deps-lib deps-run deps-tools tools run test arm64 arm64-test windows-lib windows clrmd debuggers debuggers-cost deps-debuggers clr clr-cost clr-libraries accuracy accuracy-arm64 audit bench bench-programs lint mutants torture fuzz install install-pages uninstall dist docs install-docs install-lib install-zydis deps-docs shared clean help snapstacks windows-install install-for-windows profiler test-all test-ci
