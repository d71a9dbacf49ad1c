/*
 * A blob of differences, read once from its beginning. Source: dotnet/runtime docs/design/specs/PortablePdb-
 * Metadata.md, Sequence Points Blob.
 */
#include "points.h"

enum { LINE_END = 0x20000000, COLUMN_END = 0x10000 };

/* Where the records are. A line of 0: no record had one yet. */
struct state {
    uint64_t il_offset;
    int64_t line, column;
    uint32_t document;
    bool any, seen; /* any: a record was read; seen: one with a line */
};

static bool read_place(struct pdb_cursor *blob, struct state *state)
{
    state->line = state->seen ? state->line + pdb_cursor_signed(blob) : (int64_t)pdb_cursor_unsigned(blob);
    state->column = state->seen ? state->column + pdb_cursor_signed(blob) : (int64_t)pdb_cursor_unsigned(blob);
    state->seen = true;
    return state->line >= 0 && state->line < LINE_END && state->column >= 0 && state->column < COLUMN_END;
}

enum record { RECORD_BAD, RECORD_DOCUMENT, RECORD_HIDDEN, RECORD_LINE };

static enum record read_record(struct pdb_cursor *blob, struct state *state)
{
    const uint32_t further = pdb_cursor_unsigned(blob);
    if (!further && state->any) {
        state->document = pdb_cursor_unsigned(blob);
        return blob->bad ? RECORD_BAD : RECORD_DOCUMENT;
    }
    state->any = true;
    state->il_offset += further;
    const uint32_t lines = pdb_cursor_unsigned(blob);
    const int32_t columns = lines ? pdb_cursor_signed(blob) : (int32_t)pdb_cursor_unsigned(blob);
    if (!lines && !columns)
        return blob->bad ? RECORD_BAD : RECORD_HIDDEN;
    return read_place(blob, state) && !blob->bad ? RECORD_LINE : RECORD_BAD;
}

bool pdb_points_find(struct pdb_cursor *blob, uint32_t document, uint32_t il_offset, struct pdb_line *line)
{
    struct state state = { .document = document };
    *line = (struct pdb_line){ 0 };
    (void)pdb_cursor_unsigned(blob); /* the local variables' signature */
    if (!document)
        state.document = pdb_cursor_unsigned(blob);
    while (pdb_cursor_has_more(blob)) {
        const enum record record = read_record(blob, &state);
        if (record == RECORD_BAD)
            return false;
        if (state.il_offset > il_offset)
            break;
        if (record != RECORD_LINE)
            continue;
        if (!line->first_line)
            line->first_line = (uint32_t)state.line;
        line->line = (uint32_t)state.line;
        line->column = (uint32_t)state.column;
        line->document = state.document;
    }
    return !blob->bad && line->document;
}
