/*
 * From an address in managed code to the instruction of IL that it was made from: where JIT code and precompiled images
 * keep what the JIT said of it. Source: clr-names.md section 10.
 */
#include "clr/clr.h"
#include "clr/names/names.h"

enum { STUB_LAST = 15, HAS_PATCHPOINTS = 1, HAS_INLINING = 2, PACKED_SINCE = 10 };
enum { LOCALS_MAX = 1 << 16, INLINING_MAX = 1 << 26 };

/* Behind the flags: what a method has for the change to optimised code while it runs, and for its inlined ones. */
static bool skip_extras(const struct sw_names *names, uint64_t *info)
{
    /* Of the first: where the number of locals is, and its size without them. */
    const bool is_new = names->release >= PACKED_SINCE;
    const uint64_t locals_at = is_new ? 16 : 8, fixed = is_new ? 40 : 32;
    uint64_t flags, count;
    if (!sw_names_u(names, *info, 1, &flags) || flags & ~(uint64_t)(HAS_PATCHPOINTS | HAS_INLINING))
        return false;
    ++*info;
    if (flags & HAS_PATCHPOINTS) {
        if (!sw_names_u(names, *info + locals_at, 4, &count) || count > LOCALS_MAX)
            return false;
        *info += fixed + 4 * count;
    }
    if (flags & HAS_INLINING) {
        if (!sw_names_u(names, *info, 4, &count) || count > INLINING_MAX)
            return false;
        *info += 4 + count;
    }
    return true;
}

/* The header's first word. */
static bool find_jit(struct sw_names *names, uint64_t pc, uint64_t begin, uint32_t *il)
{
    uint64_t header, info;
    return pc >= begin && pc - begin <= UINT32_MAX && sw_names_u(names, begin - 8, 8, &header) && header > STUB_LAST &&
           header % 8 == 0 && sw_names_u(names, header, 8, &info) && info && skip_extras(names, &info) &&
           sw_names_bounds_find(names, info, names->release >= PACKED_SINCE, (uint32_t)(pc - begin), il);
}

enum sw_status sw_names_place(struct sw_names *names, uint64_t pc, const struct sw_range *range, uint32_t *il)
{
    uint64_t base, end;
    const bool found = range->kind == SW_KIND_JIT
                           ? find_jit(names, pc, range->begin, il)
                           : sw_clr_find_precompiled(&names->layout, &names->memory, pc, &base, &end) &&
                                 sw_names_image_place(names, base, pc, il);
    return found ? SW_OK : SW_E_NOT_FOUND;
}
