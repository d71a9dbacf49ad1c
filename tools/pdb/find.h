/*
 * The PDB of an assembly that is loaded: the file beside it, as the runtime looks for it first, else the one within.
 * One that has not the id that the assembly names is not believed.
 */
#ifndef PDB_FIND_H
#define PDB_FIND_H

#include "assembly.h"

/*
 * image   The assembly, as it lies in the memory of the program that has loaded it.
 * own     The memory of this process by its addresses: files are mapped, and another may cut them at any time.
 * open    Opens a file beside the assembly, NULL: the assembly itself. -1: it is not there.
 * most    Bytes that an embedded PDB may have, packed and unpacked.
 */
struct pdb_search {
    struct pdb_bytes image, own;
    int (*open)(void *arg, const char *file);
    void *arg;
    uint64_t most;
};

/*
 * bytes    Mapped or on the heap; NULL: there is none. The whole must stay where it is while it is open: `pdb` reads
 *          through it.
 * blocks   Copies of what was read of a mapped file last, each at the place that its number gives; starts: where in the
 *          file each begins, and 1 more, so that 0 is none.
 */
enum { PDB_BLOCKS = 8, PDB_BLOCK_BYTES = 4096 };
struct pdb_file {
    struct pdb_bytes own;
    void *bytes;
    size_t size;
    bool is_mapped;
    uint8_t *blocks;
    uint64_t starts[PDB_BLOCKS];
    struct pdb pdb;
};

/*
 * NONE    No PDB is named, or it is not there.
 * OTHER   The file beside the assembly is of another build, or broken; and there is none within.
 * BROKEN  The one within is too large, or broken; and there is none beside.
 * BESIDE, WITHIN  It is open.
 */
enum pdb_found { PDB_NONE, PDB_OTHER, PDB_BROKEN, PDB_BESIDE, PDB_WITHIN };

/* name: receives the name of the PDB's file; empty: the assembly names none. */
enum pdb_found pdb_find(const struct pdb_search *search, struct pdb_file *file, char name[PDB_FILE_NAME]);

/* What is said behind the PDB's name. */
const char *pdb_found_text(enum pdb_found found);

void pdb_close(struct pdb_file *file);

#endif
