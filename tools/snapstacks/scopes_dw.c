/*
 * Finds units by a sorted table of their ranges, and functions by a descent through entries whose ranges hold the
 * address.
 *
 * Source: DWARF 5, 2.17 (ranges), 3.1.1 (units), 3.2.2 (namespaces), 3.3.8 (inlined subroutines).
 */
#include "scopes_dw.h"

#include <dwarf.h>

#include <stdlib.h>

/* A module with more ranges, or deeper entries, is none that a compiler has made. */
enum { RANGES_MOST = 1 << 22, DEEPEST = 256 };

/* ---- units ---- */

static bool add_range(struct units *u, size_t *room, Dwarf_Addr begin, Dwarf_Addr end, Dwarf_Off unit)
{
    if (begin >= end || u->count >= RANGES_MOST)
        return u->count < RANGES_MOST;
    if (u->count == *room) {
        struct unit_range *more = realloc(u->at, (2 * *room + 64) * sizeof *more);
        if (!more)
            return false;
        u->at = more;
        *room = 2 * *room + 64;
    }
    u->at[u->count++] = (struct unit_range){ begin, end, unit };
    return true;
}

static int by_begin(const void *a, const void *b)
{
    const Dwarf_Addr x = ((const struct unit_range *)a)->begin, y = ((const struct unit_range *)b)->begin;
    return (x > y) - (x < y);
}

static void read_units(struct units *u, Dwarf *dwarf)
{
    Dwarf_Off offset = 0, next;
    size_t header, room = 0;
    u->is_read = true;
    for (; dwarf_nextcu(dwarf, offset, &next, &header, NULL, NULL, NULL) == 0; offset = next) {
        Dwarf_Die unit;
        Dwarf_Addr base, begin, end;
        ptrdiff_t at = 0;
        if (!dwarf_offdie(dwarf, offset + header, &unit))
            continue;
        while ((at = dwarf_ranges(&unit, at, &base, &begin, &end)) > 0)
            if (!add_range(u, &room, begin, end, offset + header))
                break;
    }
    if (u->count)
        qsort(u->at, u->count, sizeof *u->at, by_begin);
}

static const struct unit_range *range_of(const struct units *u, Dwarf_Addr address)
{
    size_t low = 0, high = u->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (u->at[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && address < u->at[low - 1].end ? &u->at[low - 1] : NULL;
}

bool units_find(struct units *units, Dwfl_Module *module, Dwarf_Addr address, Dwarf_Die *unit, Dwarf_Addr *bias)
{
    /* By .debug_aranges, where what lies between the ranges of two units counts as the first one's. */
    Dwarf_Die *known = dwfl_module_addrdie(module, address, bias);
    if (known && dwarf_haspc(known, address - *bias) > 0) {
        *unit = *known;
        return true;
    }
    Dwarf *dwarf = dwfl_module_getdwarf(module, bias);
    if (!dwarf)
        return false;
    if (!units->is_read)
        read_units(units, dwarf);
    const struct unit_range *range = range_of(units, address - *bias);
    return range && dwarf_offdie(dwarf, range->unit, unit);
}

void units_free(struct units *units)
{
    free(units->at);
    *units = (struct units){ 0 };
}

/* ---- functions ---- */

/* Entries that hold functions, but have no code of their own. */
static bool is_container(int tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_structure_type ||
           tag == DW_TAG_class_type || tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type;
}

static bool is_function(int tag)
{
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

static bool has_code(int tag)
{
    return is_function(tag) || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/* True: the address was found below the entry. */
static bool descend(Dwarf_Die *parent, Dwarf_Addr at, Dwarf_Die scopes[SCOPES_MOST], size_t *count, unsigned depth)
{
    Dwarf_Die child;
    if (depth > DEEPEST || dwarf_child(parent, &child) != 0)
        return false;
    do {
        const int tag = dwarf_tag(&child);
        const bool is_around = has_code(tag) && dwarf_haspc(&child, at) > 0;
        if (is_around && is_function(tag) && *count < SCOPES_MOST)
            scopes[(*count)++] = child;
        if ((is_around || is_container(tag)) && (descend(&child, at, scopes, count, depth + 1) || is_around))
            return true;
    } while (dwarf_siblingof(&child, &child) == 0);
    return false;
}

size_t scopes_find(Dwarf_Die *unit, Dwarf_Addr at, Dwarf_Die scopes[SCOPES_MOST])
{
    size_t count = 0;
    descend(unit, at, scopes, &count, 0);
    return count;
}
