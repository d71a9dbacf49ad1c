/*
 * Where an address is in debug information: its unit, and the functions around it. Closes two holes of libdw 0.188: it
 * finds no unit without .debug_aranges, which clang and Go do not write, and no function in the entry of a namespace,
 * where rustc has all.
 */
#ifndef SNAPSTACKS_SCOPES_DW_H
#define SNAPSTACKS_SCOPES_DW_H

#include <elfutils/libdwfl.h>

#include <stdbool.h>
#include <stddef.h>

enum { SCOPES_MOST = 64 };

/* The address ranges of a module's units, ascending. All-zero: not read yet. */
struct units {
    struct unit_range {
        Dwarf_Addr begin, end;
        Dwarf_Off unit;
    } * at;
    size_t count;
    bool is_read;
};

/* *bias: an address in the target minus the bias is one in the debug information. False: no unit has it. */
bool units_find(struct units *units, Dwfl_Module *module, Dwarf_Addr address, Dwarf_Die *unit, Dwarf_Addr *bias);
void units_free(struct units *units);

/*
 * The function at an address of the debug information and what was inlined in it there, the outermost first. Returns
 * how many; of more than SCOPES_MOST the outermost ones.
 */
size_t scopes_find(Dwarf_Die *unit, Dwarf_Addr at, Dwarf_Die scopes[SCOPES_MOST]);

#endif
