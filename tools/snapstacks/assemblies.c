/*
 * Keeps the PDBs of assemblies open, each looked for once. The runtime says what file it is of, in its own view of the
 * file system. What the assembly says in memory decides whether a file is believed.
 */
#include "assemblies.h"

#include "pdb/find.h"
#include "refuse.h"
#include "within.h"

#include <snapwalk/self.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IMAGES_MOST = 4096, SLOTS = 2 * IMAGES_MOST };

/* In all of them. */
static const uint64_t unpacked_most = UINT64_C(256) << 20, image_bytes_most = UINT64_C(1) << 32;

/* path: of the assembly, while its PDB is looked for. document, file: that of the last line; 0: none. */
struct assembly {
    struct assemblies *all;
    uint64_t base;
    const char *path;
    struct pdb_file pdb;
    uint32_t document;
    char file[ASSEMBLY_LINE_FILE];
};

struct assemblies {
    const char *root, *program;
    struct sw_memory memory;
    uint64_t unpacked_left;
    struct assembly *slots[SLOTS]; /* by the image's address */
    size_t count;
};

struct assemblies *assemblies_create(const char *root, const struct sw_memory *memory, const char *program)
{
    struct assemblies *a = must_get(1, sizeof *a, "lines");
    a->root = root;
    a->program = program;
    a->memory = *memory;
    a->unpacked_left = unpacked_most;
    return a;
}

void assemblies_destroy(struct assemblies *a)
{
    for (size_t i = 0; a && i < SLOTS; i++) {
        if (a->slots[i] && a->slots[i]->pdb.bytes)
            pdb_close(&a->slots[i]->pdb);
        free(a->slots[i]);
    }
    free(a);
}

static bool read_target(void *arg, uint64_t at, void *to, size_t size)
{
    const struct assembly *assembly = arg;
    const struct sw_memory *memory = &assembly->all->memory;
    return at <= UINT64_MAX - assembly->base && memory->read(memory->arg, assembly->base + at, to, size) == size;
}

static bool read_own(void *arg, uint64_t at, void *to, size_t size)
{
    const struct sw_memory memory = sw_self_memory();
    (void)arg;
    return memory.read(memory.arg, at, to, size) == size;
}

static int open_beside(void *arg, const char *file)
{
    const struct assembly *assembly = arg;
    char path[2 * PATH_MAX];
    const char *slash = strrchr(assembly->path, '/');
    if (!slash)
        return -1;
    snprintf(path, sizeof path, "%.*s%s", (int)(slash + 1 - assembly->path), assembly->path, file ? file : slash + 1);
    return open_within(assembly->all->root, path);
}

static void look_for_pdb(struct assembly *assembly)
{
    struct assemblies *all = assembly->all;
    const struct pdb_search search = { .image = { read_target, assembly, image_bytes_most },
                                       .own = { read_own, NULL, UINT64_MAX },
                                       .open = open_beside,
                                       .arg = assembly,
                                       .most = all->unpacked_left };
    char name[PDB_FILE_NAME];
    const enum pdb_found found = pdb_find(&search, &assembly->pdb, name);
    if (found == PDB_WITHIN)
        all->unpacked_left -= assembly->pdb.size;
    if (found == PDB_OTHER || found == PDB_BROKEN)
        complain("%s of %s %s", name, assembly->path, pdb_found_text(found));
}

static struct assembly **slot_of(struct assemblies *a, uint64_t base)
{
    size_t at = (size_t)(base >> 12) * 31 % SLOTS;
    while (a->slots[at] && a->slots[at]->base != base)
        at = (at + 1) % SLOTS;
    return &a->slots[at];
}

/* NULL: it has no lines. */
static struct assembly *assembly_of(struct assemblies *a, struct sw_clr_names *names, uint64_t method)
{
    char path[PATH_MAX];
    uint64_t base;
    if (sw_clr_names_file(names, method, &base, NULL, 0) != SW_OK)
        return NULL;
    struct assembly **slot = slot_of(a, base);
    if (!*slot && a->count < IMAGES_MOST && sw_clr_names_file(names, method, &base, path, sizeof path) == SW_OK) {
        a->count++;
        *slot = must_get(1, sizeof **slot, "lines");
        **slot = (struct assembly){ .all = a, .base = base, .path = *path ? path : a->program };
        look_for_pdb(*slot);
        (*slot)->path = NULL;
    }
    return *slot && (*slot)->pdb.bytes ? *slot : NULL;
}

/* Most methods that stand beside each other on a stack are of one file. */
static bool find_document(struct assembly *assembly, uint32_t document, char file[ASSEMBLY_LINE_FILE])
{
    if (!document || assembly->document != document) {
        assembly->document = document;
        if (!pdb_document(&assembly->pdb.pdb, document, assembly->file, sizeof assembly->file))
            assembly->document = 0;
    }
    memcpy(file, assembly->file, strlen(assembly->file) + 1);
    return assembly->document != 0;
}

bool assemblies_find(struct assemblies *a, struct sw_clr_names *names, uint64_t pc, const struct sw_range *range,
                     struct assembly_line *line)
{
    struct sw_clr_place place;
    struct pdb_line found;
    struct assembly *assembly = a ? assembly_of(a, names, range->id) : NULL;
    if (!assembly || sw_clr_names_place(names, pc, range, &place) != SW_OK ||
        !pdb_find_line(&assembly->pdb.pdb, place.token, place.il_offset, &found) ||
        !find_document(assembly, found.document, line->file))
        return false;
    line->line = found.line < INT_MAX ? (int)found.line : 0;
    return true;
}
