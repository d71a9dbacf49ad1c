/*
 * The runtime's own map of its code (lib/clr/code.c) held against what the events told: at the end of a run, every
 * piece of JIT code that is known by events is looked up by some of its addresses. Looks inside the library.
 */
#include "probe.h"
#include "../../../examples/clr-profiler/callbacks.h"

#include "clr/internal.h"

struct check {
    uint64_t addresses, found, shown;
};

static bool same_code(const struct sw_range *a, const struct sw_range *b)
{
    return a->begin == b->begin && a->end == b->end && a->id == b->id &&
           (a->flags & SW_RANGE_HIDDEN) == (b->flags & SW_RANGE_HIDDEN);
}

static bool look_up(void *arg, const struct sw_range *range)
{
    struct check *check = arg;
    const uint64_t at[] = { range->begin, range->begin + (range->end - range->begin) / 2, range->end - 1 };
    for (unsigned i = 0; range->kind == SW_KIND_JIT && i < sizeof at / sizeof at[0]; i++) {
        struct sw_range found = { 0 };
        const bool same = sw_clr_find(fed, at[i], &found) && same_code(&found, range);
        check->addresses++;
        check->found += same;
        if (!same && check->shown++ < 8)
            fprintf(
                report,
                "difference: code at %#llx: %#llx-%#llx id %#llx flags %x by events, %#llx-%#llx id %#llx flags %x\n",
                (unsigned long long)at[i], (unsigned long long)range->begin, (unsigned long long)range->end,
                (unsigned long long)range->id, range->flags, (unsigned long long)found.begin,
                (unsigned long long)found.end, (unsigned long long)found.id, found.flags);
    }
    return true;
}

void check_finder(void)
{
    struct check check = { 0 };
    if (sw_codemap_each(fed->codemap, look_up, &check) == SW_OK)
        fprintf(report, "finder: %llu of %llu addresses of JIT code found\n", (unsigned long long)check.found,
                (unsigned long long)check.addresses);
}
