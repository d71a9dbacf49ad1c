# Programs of the tests and examples.

# The runtime in a test tube, from C.
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
PROFILER_PARTS := $(BUILD)/test/profiler/parts
OVERLAY_linux := libsnapwalk-overlay.so
OVERLAY_windows := snapwalk-overlay.dll
OVERLAY := $(BUILD)/examples/$(OVERLAY_$(SW_HOST))
PROBE_linux := libclrtest.so
PROBE_windows := clrtest.dll
PROBE := $(BUILD)/test/clr/$(PROBE_$(SW_HOST))
# The example for Windows, and the one that repairs Wine first.
SAMPLERS := $(BUILD)/examples/clr_sampler.dll $(BUILD)/test/clr/clr_sampler.dll
PROGRAMS := $(UNIT) $(TUBE) $(EXAMPLES) $(ORACLE) $(FUZZ) $(TORTURE)

unit: $(UNIT) $(TUBE)
race: $(RACE)
examples: $(EXAMPLES) $(OVERLAY)
clr-probe: $(PROBE)
clr-samplers: $(SAMPLERS)
clr-overlay: $(OVERLAY)
clr-libraries: $(PROFILER) $(OVERLAY) $(PROBE)
tube-programs: $(RUNNER) $(CLIENTS) $(GUIDE)
oracle: $(ORACLE)
fuzzers: $(FUZZ)

# Examples see what users see: the public headers only. (private: the archive is built with its own flags.)
$(EXAMPLES): private override CPPFLAGS := -Iinclude
$(UNIT): private LIB := $(SUPPORT) $(LIB)
$(UNIT): private LDLIBS += -lcmocka -ldl
$(UNIT): $(SUPPORT)
# How test programs are optimised: less than what they test, they take longer to compile than to run.
TEST_O ?= -O1
$(UNIT) $(TUBE): private override CFLAGS += $(TEST_O)
# They walk their own code without its tables: as a compiler makes it that is asked to be quick.
$(BUILD)/test/unit/cache $(BUILD)/test/unit/walk_budget: private override CFLAGS += -O1
$(TUBE): private LIB := $(SUPPORT) $(HARNESS) $(LIB)
$(TUBE): private LDLIBS += -lcmocka -ldl
$(TUBE): private override CPPFLAGS += -Iharness
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
# What they read and write is no part of the library.
FUZZ_PROFILES := $(BUILD)/test/fuzz/fuzz_folded $(BUILD)/test/fuzz/fuzz_pprof
$(FUZZ_PROFILES): private LIB := $(PROFILES)
$(FUZZ_PROFILES): private LDLIBS += -lprotobuf-c -lz
$(FUZZ_PROFILES): private override CPPFLAGS += -Itools
$(FUZZ_PROFILES): $(PROFILES)
# A reader that is no part of the library either.
FUZZ_PDB := $(BUILD)/test/fuzz/fuzz_pdb
$(FUZZ_PDB): private LIB := $(PDB_O)
$(FUZZ_PDB): private LDLIBS += -lz
$(FUZZ_PDB): private override CPPFLAGS += -Itools
$(FUZZ_PDB): $(PDB_O)
FUZZ_PCLNTAB := $(BUILD)/test/fuzz/fuzz_pclntab
PCLNTAB_O := $(addprefix $(BUILD)/tools/runtimes/,pclntab.o callsite.o peek.o)
$(FUZZ_PCLNTAB): private LIB := $(PCLNTAB_O)
$(FUZZ_PCLNTAB): private override CPPFLAGS += -Itools
$(FUZZ_PCLNTAB): $(PCLNTAB_O)
FUZZ_CALLS := $(BUILD)/test/fuzz/fuzz_calls
CALLS_O := $(addprefix $(BUILD)/tools/runtimes/,ruby.o php.o functions.o call.o peek.o)
$(FUZZ_CALLS): private LIB := $(CALLS_O) $(LIB)
$(FUZZ_CALLS): private override CPPFLAGS += -Itools
$(FUZZ_CALLS): $(CALLS_O)
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

$(OVERLAY): $(wildcard examples/clr-overlay/*) $(LIB)
	@mkdir -p $(@D)
	@echo "  CC      $@"
	@$(CC) -Iinclude $(SHARED) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c %.S,$^) $(LIB) $(LDLIBS) $(LOADED)
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
	@$(CC) $(GIVEN_CPPFLAGS) -Iinclude -D_GNU_SOURCE -std=c11 $(WARN) $(SAME_PATHS) -pthread $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c,$^) $(HARNESS) $(LIB) \
		$(LDLIBS) -ldl \
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

# The profiler's parts that need no runtime.
$(BUILD)/test/profiler/pdb: test/profiler/pdb.c $(PDB_O)
	@mkdir -p $(@D)
	@echo "  CC      $<"
	@$(CC) -Itools -D_GNU_SOURCE -std=c11 $(WARN) $(CFLAGS) -MMD -MP -MF $@.d $(filter-out %.h,$^) -lcmocka -lz -o $@
$(PROFILER_PARTS): test/profiler/parts.c tools/diagnostics/ipc.c tools/diagnostics/process.c $(patsubst %,$(BUILD)/tools/profiler/%.o,options ring output columns events imports wide sample threads) $(BUILD)/tools/send/send.o $(PROFILES) $(LIB)
	@mkdir -p $(@D)
	@echo "  CC      $<"
	@$(CC) -Iinclude -Itools -D_GNU_SOURCE -std=c11 $(WARN) -pthread $(CFLAGS) -MMD -MP -MF $@.d $(filter-out %.h,$^) $(LDLIBS) -lcmocka -lprotobuf-c -lz -lm -ldl -o $@
