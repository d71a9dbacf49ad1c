/*
 * The runtime's own map of its code (lib/clr/code.c) and its table of prepared entries (lib/clr/entry.c) held against
 * what the events told: at the end of a run, every piece of JIT code that is known by events is looked up by some of
 * its addresses, every precompiled method by its entry. Precompiled methods that nobody has called are asked for, too,
 * of which the runtime itself must not be asked. Looks inside the library.
 */
#include "probe.h"
#include "../../../tools/profiler/callbacks.h"

#include "clr/internal.h"

struct check {
    uint64_t addresses, found, shown;
    uint64_t entries, entries_found, unprepared, wrong;
    uint64_t padding, padding_same;
};

static bool same_code(const struct sw_range *a, const struct sw_range *b)
{
    return a->begin == b->begin && a->end == b->end && a->id == b->id &&
           (a->flags & SW_RANGE_HIDDEN) == (b->flags & SW_RANGE_HIDDEN);
}

/* What is behind a method, up to the next one's header: the runtime takes it for the method's. */
static void compare_padding(struct check *check, const struct sw_range *range)
{
    struct sw_range other;
    for (uint64_t at = range->end; at < (range->end + 31) / 32 * 32; at++) {
        FunctionID ours = 0, real = 0;
        if (sw_codemap_find(fed->codemap, at, &other) == SW_OK)
            return;
        const HRESULT hr = info->lpVtbl->GetFunctionFromIP(info, (LPCBYTE)(uintptr_t)at, &real);
        check->padding++;
        check->padding_same += sw_clr_function_from_ip(fed, SW_FLAVOUR_CORECLR_UNIX, at, &ours) == hr && ours == real;
    }
}

static bool look_up(void *arg, const struct sw_range *range)
{
    struct check *check = arg;
    if (range->kind == SW_KIND_JIT)
        compare_padding(check, range);
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

/* The method behind a prepared one: if it is said to be prepared, the runtime must know it as the same. */
static void look_up_next(struct check *check, uint64_t address)
{
    struct sw_range method, known;
    FunctionID ours = 0, real = 0;
    if (sw_images_find_method(fed->images, address, &method) != SW_OK)
        return;
    if (sw_clr_function_from_ip(fed, SW_FLAVOUR_CORECLR_UNIX, address, &ours) != S_OK) {
        check->unprepared++;
        check->wrong += sw_codemap_find(fed->codemap, method.id, &known) == SW_OK;
        return;
    }
    check->wrong += info->lpVtbl->GetFunctionFromIP(info, (LPCBYTE)(uintptr_t)address, &real) != S_OK || real != ours;
}

static bool look_up_entry(void *arg, const struct sw_range *range)
{
    struct check *check = arg;
    const struct sw_memory memory = sw_self_memory();
    struct sw_range method;
    uint64_t function = 0;
    if (range->kind != SW_KIND_NGEN || sw_images_find_method(fed->images, range->begin, &method) != SW_OK ||
        method.id != range->begin)
        return true;
    check->entries++;
    check->entries_found += sw_clr_find_entry(&fed->layout, &memory, range->begin, &function) && function == range->id;
    look_up_next(check, range->end);
    look_up_next(check, (range->end + 15) / 16 * 16);
    return true;
}

void check_finder(void)
{
    struct check check = { 0 };
    if (sw_codemap_each(fed->codemap, look_up_entry, &check) == SW_OK)
        fprintf(report, "entries: %llu of %llu prepared methods found, %llu not prepared, %llu wrong\n",
                (unsigned long long)check.entries_found, (unsigned long long)check.entries,
                (unsigned long long)check.unprepared, (unsigned long long)check.wrong);
    if (sw_codemap_each(fed->codemap, look_up, &check) == SW_OK)
        fprintf(report, "finder: %llu of %llu addresses of JIT code found, %llu of %llu in padding as the runtime's\n",
                (unsigned long long)check.found, (unsigned long long)check.addresses,
                (unsigned long long)check.padding_same, (unsigned long long)check.padding);
}
