/*
 * The file: metadata root, streams, the two tables, names of documents. points.c has the lines. Source: ECMA-335
 * II.24.2; dotnet/runtime docs/design/specs/PortablePdb-Metadata.md.
 */
#include "pdb.h"
#include "points.h"

#include <string.h>

enum { ROOT_MAGIC = 0x424a5342, STREAMS_MAX = 64, STREAM_NAME = 32, VERSION_MAX = 1024, METHOD_DEF = 0x06 };

/* Tables of type systems come before these, and are in no PDB of its own. */
enum { DOCUMENT = 0x30, METHOD_DEBUG_INFORMATION = 0x31 };

/* Rows of tables are few enough for three bytes of a token. */
enum { ROWS_MAX = 0xffffff };

struct streams {
    struct pdb_part pdb, tables, blobs;
};

/* ---- streams ---- */

static struct pdb_part *stream_of(struct streams *streams, const char *name)
{
    static const struct {
        const char *name;
        size_t offset;
    } rows[] = { { "#Pdb", offsetof(struct streams, pdb) },
                 { "#~", offsetof(struct streams, tables) },
                 { "#Blob", offsetof(struct streams, blobs) } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (!strcmp(rows[i].name, name))
            return (struct pdb_part *)((char *)streams + rows[i].offset);
    return NULL;
}

/* The name ends within 32 bytes; it is as long as a multiple of four. 0: it does not. */
static size_t read_name(const struct pdb_bytes *bytes, uint64_t at, char name[STREAM_NAME + 1])
{
    memset(name, 0, STREAM_NAME + 1);
    for (size_t i = 0; i < STREAM_NAME; i += 4) {
        if (!pdb_read(bytes, at + i, name + i, 4))
            return 0;
        if (memchr(name + i, 0, 4))
            return i + 4;
    }
    return 0;
}

static bool read_stream(const struct pdb_bytes *bytes, uint64_t *at, struct streams *streams)
{
    char name[STREAM_NAME + 1];
    bool bad = false;
    const struct pdb_part part = { pdb_number(bytes, *at, 4, &bad), pdb_number(bytes, *at + 4, 4, &bad) };
    const size_t length = read_name(bytes, *at + 8, name);
    struct pdb_part *known = stream_of(streams, name);
    *at += 8 + length;
    if (bad || !length || part.at > bytes->size || part.size > bytes->size - part.at)
        return false;
    if (known)
        *known = part;
    return true;
}

static bool read_streams(const struct pdb_bytes *bytes, struct streams *streams)
{
    bool bad = false;
    const uint64_t magic = pdb_number(bytes, 0, 4, &bad), version = pdb_number(bytes, 12, 4, &bad);
    if (bad || magic != ROOT_MAGIC || version > VERSION_MAX)
        return false;
    uint64_t at = 16 + ((version + 3) & ~UINT64_C(3));
    const uint64_t count = pdb_number(bytes, at + 2, 2, &bad);
    at += 4;
    if (bad || count > STREAMS_MAX)
        return false;
    for (uint64_t i = 0; i < count; i++)
        if (!read_stream(bytes, &at, streams))
            return false;
    return streams->pdb.size >= PDB_ID_BYTES && streams->tables.size && streams->blobs.size;
}

/* ---- tables ---- */

enum { WIDE_GUIDS = 2, WIDE_BLOBS = 4 };

static bool has_table(uint64_t valid, unsigned table)
{
    return valid >> table & 1;
}

/* The rows of the first two tables; where the tables begin. */
static uint64_t read_counts(struct pdb *pdb, uint64_t begin, uint64_t valid, bool *bad)
{
    uint64_t at = begin + 24;
    for (unsigned table = DOCUMENT; table < 64; table++) {
        if (!has_table(valid, table))
            continue;
        const uint64_t count = pdb_number(&pdb->bytes, at, 4, bad);
        at += 4;
        *bad = *bad || count > ROWS_MAX;
        if (table == DOCUMENT)
            pdb->document_count = (uint32_t)count;
        else if (table == METHOD_DEBUG_INFORMATION)
            pdb->method_count = (uint32_t)count;
    }
    return at;
}

static bool read_tables(struct pdb *pdb, struct pdb_part tables)
{
    bool bad = false;
    const uint64_t heaps = pdb_number(&pdb->bytes, tables.at + 6, 1, &bad),
                   valid = pdb_number(&pdb->bytes, tables.at + 8, 8, &bad);
    if (bad || valid & ((UINT64_C(1) << DOCUMENT) - 1))
        return false;
    pdb->documents_at = read_counts(pdb, tables.at, valid, &bad);
    const size_t guid = heaps & WIDE_GUIDS ? 4 : 2;
    pdb->blob_index_bytes = heaps & WIDE_BLOBS ? 4 : 2;
    pdb->document_index_bytes = pdb->document_count > 0xffff ? 4 : 2;
    pdb->document_bytes = 2 * pdb->blob_index_bytes + 2 * guid;
    pdb->method_bytes = pdb->document_index_bytes + pdb->blob_index_bytes;
    pdb->methods_at = pdb->documents_at + (uint64_t)pdb->document_count * pdb->document_bytes;
    const uint64_t end = pdb->methods_at + (uint64_t)pdb->method_count * pdb->method_bytes;
    return !bad && end <= tables.at + tables.size;
}

bool pdb_open(struct pdb *pdb, const struct pdb_bytes *bytes)
{
    struct streams streams = { 0 };
    *pdb = (struct pdb){ .bytes = *bytes };
    if (!read_streams(bytes, &streams) || !pdb_read(bytes, streams.pdb.at, pdb->id, PDB_ID_BYTES))
        return false;
    pdb->blobs = streams.blobs;
    return read_tables(pdb, streams.tables);
}

/* ---- rows ---- */

/* Longer ones are not read: work is bounded. Records of a sequence point have five bytes or more. */
enum { POINTS_MAX = 4 << 20, NAME_MAX = 4 << 10 };

/* A cursor over the blob with that index; `bad` where it is not, or is longer than `most`. */
static struct pdb_cursor blob_at(const struct pdb *pdb, uint64_t index, uint64_t most)
{
    const struct pdb_part *blobs = &pdb->blobs;
    if (index >= blobs->size)
        return (struct pdb_cursor){ .bad = true };
    struct pdb_cursor cursor = pdb_cursor_at(&pdb->bytes, blobs->at + index, blobs->size - index);
    const uint64_t length = pdb_cursor_unsigned(&cursor), before = cursor.at - (cursor.filled - cursor.used);
    if (cursor.bad || length > most || length > cursor.end - before)
        return (struct pdb_cursor){ .bad = true };
    return pdb_cursor_at(&pdb->bytes, before, length);
}

bool pdb_find_line(const struct pdb *pdb, uint32_t token, uint32_t il_offset, struct pdb_line *line)
{
    const uint32_t row = token & ROWS_MAX;
    bool bad = false;
    if (token >> 24 != METHOD_DEF || !row || row > pdb->method_count)
        return false;
    const uint64_t at = pdb->methods_at + (uint64_t)(row - 1) * pdb->method_bytes;
    const uint64_t document = pdb_number(&pdb->bytes, at, pdb->document_index_bytes, &bad),
                   points = pdb_number(&pdb->bytes, at + pdb->document_index_bytes, pdb->blob_index_bytes, &bad);
    if (bad || !points)
        return false;
    struct pdb_cursor cursor = blob_at(pdb, points, POINTS_MAX);
    return pdb_points_find(&cursor, (uint32_t)document, il_offset, line) && line->document <= pdb->document_count;
}

/* A text being made; what has no room is left out. */
struct text {
    char *to;
    size_t size, used;
};

static void add(struct text *text, char character)
{
    if (text->used + 1 < text->size)
        text->to[text->used++] = character;
}

static bool add_blob(const struct pdb *pdb, uint32_t index, struct text *text)
{
    struct pdb_cursor part = blob_at(pdb, index, NAME_MAX);
    while (pdb_cursor_has_more(&part) && text->used + 1 < text->size)
        add(text, (char)pdb_cursor_byte(&part));
    return !part.bad;
}

/* The separator, then the parts between which it stands: each a blob of its own. */
static bool add_parts(const struct pdb *pdb, struct pdb_cursor *name, struct text *text)
{
    const char separator = (char)pdb_cursor_byte(name);
    for (bool first = true; pdb_cursor_has_more(name) && text->used + 1 < text->size; first = false) {
        const uint32_t part = pdb_cursor_unsigned(name);
        if (!first && separator)
            add(text, separator);
        if (name->bad || (part && !add_blob(pdb, part, text)))
            return false;
    }
    return !name->bad;
}

bool pdb_document(const struct pdb *pdb, uint32_t document, char *text, size_t size)
{
    struct text made = { text, size, 0 };
    bool bad = false;
    text[0] = 0;
    if (!document || document > pdb->document_count)
        return false;
    const uint64_t at = pdb->documents_at + (uint64_t)(document - 1) * pdb->document_bytes;
    const uint64_t name = pdb_number(&pdb->bytes, at, pdb->blob_index_bytes, &bad);
    struct pdb_cursor cursor = blob_at(pdb, name, NAME_MAX);
    const bool good = !bad && add_parts(pdb, &cursor, &made);
    text[made.used] = 0;
    return good && made.used;
}
