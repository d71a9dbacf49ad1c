/* Source files and lines of .NET's methods, by the portable PDB beside an assembly or within it. */
#ifndef SNAPSTACKS_ASSEMBLIES_H
#define SNAPSTACKS_ASSEMBLIES_H

#include <snapwalk/clr_names.h>

enum { ASSEMBLY_LINE_FILE = 1024 };

struct assembly_line {
    char file[ASSEMBLY_LINE_FILE];
    int line;
};

struct assemblies;

/*
 * root     In front of each path: "/proc/PID/root", a core's sysroot; "" for none. Links on the way lead within it.
 * memory   The target's.
 * program  Path of the target's program: an assembly that is of no file may be within it. "" for none.
 *
 * The arguments are borrowed until destroy. Ends this program where memory runs out.
 */
struct assemblies *assemblies_create(const char *root, const struct sw_memory *memory, const char *program);
void assemblies_destroy(struct assemblies *assemblies);

/* pc, range: as for sw_clr_names_place. False: nothing is known. */
bool assemblies_find(struct assemblies *assemblies, struct sw_clr_names *names, uint64_t pc,
                     const struct sw_range *range, struct assembly_line *line);

#endif
