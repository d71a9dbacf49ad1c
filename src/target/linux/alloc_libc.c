/*
 * malloc and free as a struct sw_alloc. The only file of the engine that knows libc's heap; walks never come here.
 *
 * Large tables are accessed at random, and then address translation takes longer than the access itself. So they are
 * put on huge pages where the system offers them on request (madvise(2), MADV_HUGEPAGE); elsewhere nothing changes.
 */
#include "common/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20 };

static void *get_huge(size_t size)
{
    void *block = NULL;
    if (posix_memalign(&block, HUGE_PAGE, size) != 0)
        return NULL;
    const int before = errno;
    /* The part that does not fill a huge page stays on small pages. */
    (void)madvise(block, size / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    errno = before;
    return block;
}

static void *get(void *arg, size_t size)
{
    (void)arg;
    return size < HUGE_PAGE ? malloc(size) : get_huge(size);
}

static void put(void *arg, void *block, size_t size)
{
    (void)arg;
    (void)size;
    free(block);
}

const struct sw_alloc sw_alloc_libc = { get, put, NULL };
