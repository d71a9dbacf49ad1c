/* Files that a runtime writes for perf: opened if they may be trusted, and read by pieces. */
#ifndef SW_TARGET_LINUX_JIT_FILE_H
#define SW_TARGET_LINUX_JIT_FILE_H

#include <snapwalk/perfmap.h>

#include <sys/stat.h>
#include <sys/types.h>

/*
 * What is no regular file is not opened, as that may do something: it is found by its name, looked at, and opened.
 *
 * perfmap  Says whose files are trusted, besides root's and the effective user's.
 * root     The folder that the path is resolved in; null: the file system's.
 *
 * Returns  SW_OK: a descriptor, and what it is of; SW_E_OS; SW_E_PERMISSION: a symbolic link, or another user's.
 */
enum sw_status sw_jit_file_open(const struct sw_perfmap *perfmap, const char *root, const char *path, int *fd,
                                struct stat *st);

/* pread, again where a signal interrupts it. */
ssize_t sw_jit_file_piece(int fd, char *to, size_t size, uint64_t position);

#endif
