/* What an assembly says of its PDB: its debug directory. Source: dotnet/runtime docs/design/specs/PE-COFF.md. */
#ifndef PDB_ASSEMBLY_H
#define PDB_ASSEMBLY_H

#include "pdb.h"

enum { PDB_FILE_NAME = 256 };

/*
 * file      The name of the file, without the folders of the machine that it was built on; empty: none.
 * id        That the PDB must have.
 * embedded  Where the one within is, in the image's own offsets, packed; size 0: none. unpacked: its size.
 */
struct pdb_reference {
    char file[PDB_FILE_NAME];
    uint8_t id[PDB_ID_BYTES];
    struct pdb_part embedded;
    uint64_t unpacked;
};

/* mapped: offsets are those of the loaded image (RVAs), not those of the file. False: no portable PDB is named. */
bool pdb_reference_read(const struct pdb_bytes *image, bool mapped, struct pdb_reference *reference);

/*
 * Unpacks the embedded PDB.
 *
 * most  Bytes; larger ones are not.
 *
 * Returns The bytes, `reference->unpacked` of them, which the caller frees. NULL: none, too large, broken, no memory.
 */
void *pdb_unpack(const struct pdb_bytes *image, const struct pdb_reference *reference, uint64_t most);

#endif
