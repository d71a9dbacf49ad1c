# What people install beside the library: snapstacks, the .NET profiler and its command, the writers of profiles.
PROFILER := $(BUILD)/libsnapwalk-profiler.so
COMMAND := $(BUILD)/tools/snapwalk-profiler
# Under the name of the project: "profile-convert" may be anybody's.
CONVERT := $(BUILD)/tools/snapwalk-profile-convert

# Writers of profiles: an archive of its own, on nothing of this library; messages are made by protobuf-c.
PROFILES := $(BUILD)/libsnapwalk-profile.a
PROTO_C := $(patsubst tools/profile/proto/%.proto,$(BUILD)/tools/profile/%.pb-c.c,$(wildcard tools/profile/proto/*.proto))

# The tool that people keep: several files on the library's public headers and on the writers of profiles.
SNAPSTACKS := $(BUILD)/tools/snapstacks/snapstacks

# Libraries that a runtime loads: the archive within, nothing of it visible, never unloaded.
SHARED := $(FLAGS_$(SW_HOST)) -D_GNU_SOURCE -std=c11 $(WARN) -fPIC -fvisibility=hidden -pthread -shared
LOADED_linux := -ldl -Wl,-z,nodelete,--exclude-libs,ALL,--no-undefined
LOADED_windows := -Wl,--exclude-libs,ALL
LOADED := $(LOADED_$(SW_HOST))

# The profiler: the archive, the writers of profiles.
PDB_O := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tools/pdb/*.c))
PROFILER_O := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tools/profiler/*.c) tools/send/send.c) $(PDB_O)
$(PROFILER_O): $(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC      $<"
	@$(CC) $(GIVEN_CPPFLAGS) -Iinclude -Itools -D_GNU_SOURCE $(SW_CFLAGS) -pthread $(CFLAGS) -MMD -MP -c $< -o $@
$(PROFILER): $(PROFILER_O) $(PROFILES) $(LIB)
	@echo "  LD      $@"
	@$(CC) -pthread -shared $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lelf -lprotobuf-c -lz -lm $(LOADED)

tools: deps-tools $(CONVERT) $(SNAPSTACKS) $(PROFILER) $(COMMAND)
snapstacks: $(SNAPSTACKS)
$(PROTO_C): $(BUILD)/tools/profile/%.pb-c.c: tools/profile/proto/%.proto
	@mkdir -p $(@D)
	@echo "  PROTOC  $<"
	@protoc-c --proto_path=$(<D) --c_out=$(@D) $<
$(PROTO_C:.c=.o): %.o: %.c
	@$(CC) $(GIVEN_CPPFLAGS) -std=c11 -fPIC -fvisibility=hidden $(SAME_PATHS) $(CFLAGS) -c $< -o $@
$(BUILD)/tools/profile/%.o: tools/profile/%.c $(PROTO_C)
	@mkdir -p $(@D)
	@echo "  CC      $<"
	@$(CC) $(GIVEN_CPPFLAGS) -Itools/profile -I$(BUILD)/tools/profile -D_GNU_SOURCE $(SW_CFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@
$(BUILD)/tools/profile/page.o: tools/profile/page.S tools/profile/page.html
	@mkdir -p $(@D)
	@$(CC) -Wa,-Itools/profile -c $< -o $@

$(PROFILES): $(patsubst %.c,$(BUILD)/%.o,$(wildcard tools/profile/*.c)) $(BUILD)/tools/profile/page.o $(PROTO_C:.c=.o)
	@rm -f $@
	@$(AR) rcs $@ $^
	@echo "  AR      $@"
$(CONVERT): tools/profile-convert.c $(PROFILES)
	@mkdir -p $(@D)
	@echo "  CC      $<"
	@$(CC) $(GIVEN_CPPFLAGS) -Itools -D_GNU_SOURCE -std=c11 $(WARN) $(SAME_PATHS) $(CFLAGS) $(LDFLAGS) -DVERSION='"$(VERSION)"' -MMD -MP -MF $@.d $< $(PROFILES) -lprotobuf-c -lz -o $@

$(COMMAND): $(wildcard tools/profiler-command/*.[ch]) $(addprefix tools/diagnostics/,ipc.c ipc.h process.c process.h) tools/profiler/options.c tools/profiler/options.h $(addprefix tools/profile/,ending.c format.h profile.h text.c text.h)
	@mkdir -p $(@D)
	@echo "  CC      $@"
	@$(CC) $(GIVEN_CPPFLAGS) -Itools -D_GNU_SOURCE -std=c11 $(WARN) $(SAME_PATHS) $(CFLAGS) $(LDFLAGS) $(filter %.c,$^) -o $@

# LIBDW=0: without libdw, and so without files, lines and inlined functions.
LIBDW ?= 1
SNAPSTACKS_SOURCES := $(filter-out tools/snapstacks/%_$(if $(filter 0,$(LIBDW)),dw,none).c,$(wildcard tools/snapstacks/*.c tools/runtimes/*.c tools/diagnostics/*.c))
SNAPSTACKS_O := $(patsubst %.c,$(BUILD)/%.o,$(SNAPSTACKS_SOURCES))
$(SNAPSTACKS_O): $(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC      $<"
	@$(CC) $(GIVEN_CPPFLAGS) -Iinclude -Itools -D_GNU_SOURCE -std=c11 $(WARN) $(SAME_PATHS) $(CFLAGS) -MMD -MP -c $< -o $@
$(SNAPSTACKS): $(SNAPSTACKS_O) $(PDB_O) $(PROFILES) $(LIB)
	@echo "  LINK    $@"
	@$(CC) -pthread $(CFLAGS) $(LDFLAGS) -o $@ $^ $(if $(filter 0,$(LIBDW)),,-ldw) $(LDLIBS) -liberty -lprotobuf-c -lz
