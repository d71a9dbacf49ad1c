/*
 * A large file in memory of its own, of which blocks are read when they are wanted: unlike a mapping it does not fault
 * when the file is cut short, and unlike a copy it costs no more than what is looked at.
 */
#ifndef SW_TARGET_LINUX_LAZY_FILE_H
#define SW_TARGET_LINUX_LAZY_FILE_H

#include "base/store.h"

#include <snapwalk/alloc.h>

#include <stdatomic.h>

/* bytes: zeros where nothing was wanted yet. store: for readers of them. loaded: a bit a block, 1 << shift bytes. */
struct sw_lazy_file {
    struct sw_alloc alloc;
    int fd;
    unsigned shift;
    uint8_t *bytes;
    uint64_t size;
    struct sw_store store;
    _Atomic uint64_t *loaded;
    size_t loaded_bytes;
};

/*
 * Takes over an open file, to be read in blocks of that many bytes, a power of two, until close. Where it fails it
 * closes it.
 *
 * Returns  SW_OK; SW_E_OS; SW_E_NO_MEMORY; SW_E_UNSUPPORTED (not a regular file); SW_E_TRUNCATED (empty).
 */
enum sw_status sw_lazy_file_open(const struct sw_alloc *alloc, int fd, size_t block, struct sw_lazy_file **file);
void sw_lazy_file_close(struct sw_lazy_file *file);

/* Closes the file: what was not wanted stays zeros. */
void sw_lazy_file_settle(struct sw_lazy_file *file);

/* Makes a part present, as far as the file goes. Any threads at a time. */
void sw_lazy_file_want(struct sw_lazy_file *file, uint64_t offset, uint64_t size);

#endif
