/* Files that native code of this process is mapped from, by the dynamic linker's list. */
#ifndef PROFILER_MODULES_H
#define PROFILER_MODULES_H

#include <stdbool.h>
#include <stdint.h>

enum { MODULE_PATH = 512, MODULE_BUILD_ID = 65 };

/* The executable segment of a file, at an address, and what the file is moved by. build_id: in hex, or empty. */
struct module {
    uint64_t begin, end, file_offset, bias;
    char path[MODULE_PATH], build_id[MODULE_BUILD_ID];
};

/* Takes the loader's lock. False: no file there. Threads: any. Signals: not safe. */
bool module_find(uint64_t address, struct module *module);

#endif
