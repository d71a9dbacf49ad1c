/*
 * Portable PDBs: which line of which file an instruction of a method was made from. Of all that they hold, the
 * sequence points and the names of the source files.
 *
 *     pdb_open(&pdb, &bytes)                          // of NAME.pdb, or of what assembly.h found
 *     pdb_find_line(&pdb, token, il_offset, &line)
 *     pdb_document(&pdb, line.document, text, sizeof text)
 *
 * There is no library for it outside of .NET that anyone packages; this one reads what it needs through struct
 * pdb_bytes, and keeps nothing else.
 */
#ifndef PDB_PDB_H
#define PDB_PDB_H

#include "bytes.h"

enum { PDB_ID_BYTES = 20 };

struct pdb_part {
    uint64_t at, size;
};

/* `id` is of the debug directory that names this PDB: a GUID, and the entry's time stamp. */
struct pdb {
    struct pdb_bytes bytes;
    uint8_t id[PDB_ID_BYTES];
    struct pdb_part blobs;
    uint64_t documents_at, methods_at;
    uint32_t document_count, method_count;
    size_t document_bytes, method_bytes, blob_index_bytes, document_index_bytes;
};

/* False: no portable PDB. `bytes` is copied; what it reads from stays the caller's. */
bool pdb_open(struct pdb *pdb, const struct pdb_bytes *bytes);

/* line, column: where the statement begins. first_line: of the method's first statement. document: of the line. */
struct pdb_line {
    uint32_t line, column, first_line, document;
};

/*
 * The statement that holds the instruction: the last sequence point at or in front of it that has a line, as
 * System.Diagnostics.StackTrace chooses it.
 *
 * token   Of the MethodDef.
 *
 * Returns False: none, or broken.
 */
bool pdb_find_line(const struct pdb *pdb, uint32_t token, uint32_t il_offset, struct pdb_line *line);

/* The name of a document: a path, cut to the room. False: none, or broken. */
bool pdb_document(const struct pdb *pdb, uint32_t document, char *text, size_t size);

#endif
