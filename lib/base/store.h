/*
 * A file of which parts are read when they are looked at: who looks says so before. Knows no file and no format.
 */
#ifndef SW_BASE_STORE_H
#define SW_BASE_STORE_H

#include <stddef.h>
#include <stdint.h>

/*
 * bytes    Where the file begins; what nobody wanted yet is zeros there.
 * want     Makes a part present. It may reach behind the file, and may be wanted again. Signals  Safe: it only reads.
 */
struct sw_store {
    const uint8_t *bytes;
    void (*want)(void *arg, uint64_t offset, uint64_t size);
    void *arg;
};

/* store: null, all is there. at: within the file; null, nothing is wanted. */
static inline void sw_store_want(const struct sw_store *store, const uint8_t *at, uint64_t size)
{
    if (store && at && size > 0)
        store->want(store->arg, (uint64_t)(at - store->bytes), size);
}

#endif
