/*
 * A look at a process fills a few megabytes once: with its stacks, its pages that are read, tables, names. Most of the
 * page faults were for them, and one takes longer than reading what is put into the page. So malloc's heap begins in
 * front of huge pages and has what malloc would map block by block; the tracer's thread takes from it, too.
 *
 * Source: mallopt(3); madvise(2), MADV_HUGEPAGE.
 */
#include "heap.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __GLIBC__
enum { HUGE_PAGE = 2 << 20, HEAP_BYTES = 3 * HUGE_PAGE, SMALL_PAGE = 4096 };

void heap_begin(void)
{
    const uintptr_t top = (uintptr_t)sbrk(0);
    const uintptr_t huge = (top + 2 * SMALL_PAGE + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    if (top == UINTPTR_MAX || mallopt(M_MMAP_THRESHOLD, HUGE_PAGE) == 0 || mallopt(M_TOP_PAD, HEAP_BYTES) == 0 ||
        mallopt(M_ARENA_MAX, 1) == 0 || sbrk((intptr_t)(huge - SMALL_PAGE - top)) == (void *)UINTPTR_MAX)
        return;
    void *volatile first = malloc(1); /* the heap begins, on a small page: what is written to stays as it is */
    (void)madvise((void *)huge, HEAP_BYTES, MADV_HUGEPAGE);
    free(first);
}
#else
void heap_begin(void)
{
}
#endif
