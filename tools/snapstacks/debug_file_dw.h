/*
 * Where the debug information of an ELF file is: in itself, or in a file beside it. Looks at headers only: to unpack a
 * compressed file takes longer than everything else that is done with it.
 */
#ifndef SNAPSTACKS_DEBUG_FILE_DW_H
#define SNAPSTACKS_DEBUG_FILE_DW_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * has_lines      There is debug information. is_own: in the file itself. is_of_system: in the folder of all debug
 *                files, or in debuginfod's cache: of programs and libraries that others made.
 * is_compressed  Its sections have to be unpacked first.
 * file           The separate file, open; -1: there is none.
 * managed_begin, managed_end  Where the code that NativeAOT made is, by the file's addresses; 0, 0: it made none.
 */
struct debug_file {
    bool has_lines, is_own, is_of_system, is_compressed;
    int file;
    uint64_t managed_begin, managed_end;
};

/* root: the target's, "": ours. file_root, path: where the file is. */
struct debug_place {
    const char *root, *file_root, *path;
};

/*
 * fd: the open file. A separate one is looked for by its build id in the target's root, then in ours; by its name in
 * that of the file. What is not found is told by *found. The caller closes its file.
 */
void debug_file_find(int fd, const struct debug_place *place, struct debug_file *found);

/* "~/.cache/debuginfod_client/ID/debuginfo", or where the variables of debuginfod and XDG say. False: too long. */
bool debug_file_cached(const unsigned char *id, int id_size, char path[PATH_MAX]);

#endif
