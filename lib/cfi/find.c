/*
 * From a pc to the FDE that covers it: binary search in .eh_frame_hdr or in an index made beforehand; without an index
 * record by record, also where a header turns out to lie. Every search looks at each record at most once. FDEs may
 * overlap. Knows the tables' order, not the records' contents.
 * Source: LSB, "The .eh_frame_hdr section"; dwarf-cfi.md section 1.
 */
#include "cfi/record.h"

#include "base/interval.h"

/* So many FDEs that begin in front of a pc are looked at in a header's table: more than one where FDEs overlap. */
enum { OVERLAPS_MAX = 4 };

/*
 * The search table of an .eh_frame_hdr.
 *
 * size   Bytes of one entry: a start and an FDE's address.
 */
struct table {
    struct sw_bytes rows;
    uint64_t count;
    unsigned size;
    uint8_t encoding;
    struct sw_pointer_bases bases;
};

struct header {
    uint8_t version;
    uint8_t frame_encoding;
    uint8_t count_encoding;
    uint8_t table_encoding;
};

static struct header read_header(struct sw_cursor *c)
{
    struct header h;
    h.version = (uint8_t)sw_cursor_u(c, 1);
    h.frame_encoding = (uint8_t)sw_cursor_u(c, 1);
    h.count_encoding = (uint8_t)sw_cursor_u(c, 1);
    h.table_encoding = (uint8_t)sw_cursor_u(c, 1);
    return h;
}

/* All linkers write datarel sdata4 into the table. */
enum { DATAREL_SDATA4 = 0x3b, START_AND_FDE = 8 };

/* The header that all linkers write: version 1, the frame section pcrel sdata4, the count udata4. False: another one.
 */
static inline bool read_usual_table(const struct sw_cfi *cfi, struct table *table)
{
    enum { USUAL = 0x3b031b01, BEFORE_COUNT = 8, BEFORE_ROWS = 12 };
    const struct sw_bytes header = cfi->header;
    if (!header.bytes || header.size < BEFORE_ROWS || sw_load32(header.bytes) != USUAL)
        return false;
    table->bases = (struct sw_pointer_bases){ cfi->bias, header.address, 0 };
    table->encoding = DATAREL_SDATA4;
    table->size = START_AND_FDE;
    table->count = sw_load32(header.bytes + BEFORE_COUNT);
    table->rows =
        (struct sw_bytes){ header.bytes + BEFORE_ROWS, header.size - BEFORE_ROWS, header.address + BEFORE_ROWS };
    return table->count <= table->rows.size / START_AND_FDE;
}

/* SW_E_UNSUPPORTED: a header that cannot be searched, though it may be a good one. */
static enum sw_status read_table(const struct sw_cfi *cfi, struct table *table)
{
    if (read_usual_table(cfi, table))
        return SW_OK;
    uint64_t ignored = 0;
    struct sw_cursor c = sw_cursor_over(cfi->header);
    const struct header h = read_header(&c);
    table->bases = (struct sw_pointer_bases){ cfi->bias, cfi->header.address, 0 };
    table->encoding = h.table_encoding;
    table->size = 2 * sw_pointer_size(h.table_encoding);
    if (!sw_cursor_ok(&c))
        return SW_E_TRUNCATED;
    if (h.version != 1 || h.count_encoding == SW_POINTER_OMIT || table->size == 0)
        return SW_E_UNSUPPORTED;
    enum sw_status status = SW_OK;
    if (h.frame_encoding != SW_POINTER_OMIT)
        status = sw_pointer_raw(&c, h.frame_encoding, &ignored);
    if (status == SW_OK)
        status = sw_pointer_raw(&c, h.count_encoding, &table->count);
    if (status != SW_OK)
        return status;
    table->rows = sw_bytes_part(cfi->header, cfi->header.size - sw_cursor_left(&c), sw_cursor_left(&c));
    return table->count <= table->rows.size / table->size ? SW_OK : SW_E_TRUNCATED;
}

static inline uint64_t read_usual_entry(const struct table *table, uint64_t entry, unsigned number)
{
    const uint8_t *from = table->rows.bytes + entry * START_AND_FDE + number * (START_AND_FDE / 2);
    return table->bases.data + (uint64_t)sw_sign_extend(sw_load32(from), 32);
}

static enum sw_status read_other_entry(const struct table *table, uint64_t entry, unsigned number, uint64_t *value)
{
    const unsigned half = table->size / 2;
    struct sw_cursor c = sw_cursor_over(sw_bytes_part(table->rows, entry * table->size + number * half, half));
    return sw_pointer_read(&c, table->encoding, &table->bases, value);
}

/* Number 0 of an entry is its start, 1 the address of its FDE. Inline: a check of a table reads all of them. */
static inline enum sw_status read_entry(const struct table *table, uint64_t entry, unsigned number, uint64_t *value)
{
    if (table->encoding != DATAREL_SDATA4)
        return read_other_entry(table, entry, number, value);
    *value = read_usual_entry(table, entry, number);
    return SW_OK;
}

static bool covers(const struct sw_cfi_fde *fde, uint64_t pc)
{
    return fde->begin <= pc && pc < fde->end;
}

/* The FDE of an entry, which begins where the table says, or the table lies. */
static enum sw_status fde_of_entry(const struct sw_cfi *cfi, const struct table *table, uint64_t entry,
                                   struct sw_cfi_fde *fde)
{
    uint64_t start = 0;
    uint64_t address = 0;
    enum sw_status status = read_entry(table, entry, 0, &start);
    if (status == SW_OK)
        status = read_entry(table, entry, 1, &address);
    if (status != SW_OK)
        return status;
    if (address < cfi->frame.address)
        return SW_E_MALFORMED;
    status = sw_cfi_fde_at(cfi, address - cfi->frame.address, fde);
    return status == SW_OK && fde->begin != start ? SW_E_MALFORMED : status;
}

/* The entries that a pc's piece of code leaves to be searched: what is in front of low starts below pc, high above. */
static inline void narrow(const struct sw_cfi *cfi, const struct table *table, uint64_t pc, uint64_t *low,
                          uint64_t *high)
{
    const uint64_t first = table->count ? read_usual_entry(table, 0, 0) : 0;
    const uint64_t piece = (pc - first) >> cfi->piece_shift;
    if (pc < first || piece >= cfi->piece_count)
        return;
    const uint32_t begin = cfi->pieces[piece], end = cfi->pieces[piece + 1];
    if (begin <= end && end <= *high) { /* else it is not this table that they were made of */
        *low = begin;
        *high = end;
    }
}

static inline uint64_t count_usual_below(const struct sw_cfi *cfi, const struct table *table, uint64_t pc)
{
    uint64_t low = 0;
    uint64_t high = table->count;
    if (cfi->pieces)
        narrow(cfi, table, pc, &low, &high);
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        const bool is_below = read_usual_entry(table, middle, 0) <= pc;
        low = is_below ? middle + 1 : low;
        high = is_below ? high : middle;
    }
    return low;
}

/* How many entries start at or below pc. */
static enum sw_status count_below(const struct sw_cfi *cfi, const struct table *table, uint64_t pc, uint64_t *count)
{
    uint64_t low = 0;
    uint64_t high = table->count;
    uint64_t value = 0;
    if (table->encoding == DATAREL_SDATA4) {
        *count = count_usual_below(cfi, table, pc);
        return SW_OK;
    }
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        const enum sw_status status = read_entry(table, middle, 0, &value);
        if (status != SW_OK)
            return status;
        if (value <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    *count = low;
    return SW_OK;
}

/* Tables hold starts only: a pc in a gap meets the FDE before it. */
static enum sw_status find_by_header(const struct sw_cfi *cfi, const struct table *table, uint64_t pc,
                                     struct sw_cfi_fde *fde)
{
    uint64_t below = 0;
    enum sw_status status = count_below(cfi, table, pc, &below);
    for (uint64_t n = 0; status == SW_OK && n < below && n < OVERLAPS_MAX; n++) {
        status = fde_of_entry(cfi, table, below - 1 - n, fde);
        if (status == SW_OK && covers(fde, pc))
            return SW_OK;
    }
    return status == SW_OK ? SW_E_NO_RULE : status;
}

static struct sw_intervals intervals_of(const struct sw_cfi_entry *entries, size_t count)
{
    return (struct sw_intervals){ (void *)(uintptr_t)entries, count, sizeof *entries };
}

static enum sw_status find_by_index(const struct sw_cfi *cfi, uint64_t pc, struct sw_cfi_fde *fde)
{
    const struct sw_intervals index = intervals_of(cfi->index, cfi->index_count);
    const size_t at = sw_intervals_find(&index, pc - cfi->index_distance);
    return at < index.count ? sw_cfi_fde_at(cfi, cfi->index[at].fde, fde) : SW_E_NO_RULE;
}

/*
 * The next FDE at or behind *offset, and past it. FDEs that cannot be read are left out: another one may still be the
 * right one. SW_E_NOT_FOUND at the end.
 */
static enum sw_status next_fde(const struct sw_cfi *cfi, uint64_t *offset, uint64_t *at, struct sw_cfi_fde *fde)
{
    struct sw_cfi_record record;
    enum sw_status status;
    while ((status = sw_cfi_record_at(cfi, *offset, &record)) == SW_OK) {
        *at = *offset;
        *offset = record.next;
        if (record.kind == SW_CFI_FDE && sw_cfi_fde_read(cfi, &record, fde) == SW_OK)
            return SW_OK;
    }
    return status;
}

static enum sw_status find_by_reading(const struct sw_cfi *cfi, uint64_t pc, struct sw_cfi_fde *fde)
{
    uint64_t offset = 0;
    uint64_t at = 0;
    enum sw_status status;
    while ((status = next_fde(cfi, &offset, &at, fde)) == SW_OK)
        if (covers(fde, pc))
            return SW_OK;
    return status == SW_E_NOT_FOUND ? SW_E_NO_RULE : status;
}

/*
 * The FDE of the last entry that starts at or below pc, in the table of all linkers. False: it is another table, that
 * FDE does not cover pc, or something is wrong: the search above tells which.
 */
static bool find_usual(const struct sw_cfi *cfi, uint64_t pc, struct sw_cfi_fde *fde)
{
    struct table table;
    if (!read_usual_table(cfi, &table))
        return false;
    const uint64_t below = count_usual_below(cfi, &table, pc);
    if (below == 0)
        return false;
    const uint64_t address = read_usual_entry(&table, below - 1, 1);
    return address >= cfi->frame.address && sw_cfi_fde_at(cfi, address - cfi->frame.address, fde) == SW_OK &&
           fde->begin == read_usual_entry(&table, below - 1, 0) && covers(fde, pc);
}

static enum sw_status find_without_header(const struct sw_cfi *cfi, uint64_t pc, struct sw_cfi_fde *fde)
{
    return cfi->index || cfi->no_reading ? find_by_index(cfi, pc, fde) : find_by_reading(cfi, pc, fde);
}

enum sw_status sw_cfi_find(const struct sw_cfi *cfi, uint64_t pc, struct sw_cfi_fde *fde)
{
    struct table table;
    if (!cfi->is_debug_frame && find_usual(cfi, pc, fde))
        return SW_OK;
    if (cfi->header.size == 0 || cfi->is_debug_frame || read_table(cfi, &table) != SW_OK)
        return find_without_header(cfi, pc, fde);
    const enum sw_status status = find_by_header(cfi, &table, pc, fde);
    if (status != SW_E_TRUNCATED && status != SW_E_MALFORMED)
        return status;
    const enum sw_status again = find_without_header(cfi, pc, fde);
    return again == SW_E_NO_RULE ? status : again; /* what was wrong says more */
}

bool sw_cfi_header_is_sound(const struct sw_cfi *cfi)
{
    struct table table;
    uint64_t last = 0;
    if (cfi->header.size == 0 || cfi->is_debug_frame || read_table(cfi, &table) != SW_OK || table.count == 0)
        return false;
    for (uint64_t n = 0; n < table.count; n++) {
        uint64_t start = 0;
        uint64_t fde = 0;
        if (read_entry(&table, n, 0, &start) != SW_OK || read_entry(&table, n, 1, &fde) != SW_OK)
            return false;
        if (start < last || fde < cfi->frame.address || fde - cfi->frame.address >= cfi->frame.size)
            return false;
        last = start;
    }
    return true;
}

/* Pieces so large that there are about two to four entries to each. */
static unsigned shift_of(uint64_t span, uint64_t entries)
{
    unsigned shift = 0;
    while (shift < 63 && span >> shift > entries / 2)
        shift++;
    return shift;
}

size_t sw_cfi_pieces(const struct sw_cfi *cfi, uint32_t *pieces, size_t capacity, unsigned *shift)
{
    struct table table;
    if (cfi->header.size == 0 || cfi->is_debug_frame || !read_usual_table(cfi, &table) || table.count == 0)
        return 0;
    const uint64_t first = read_usual_entry(&table, 0, 0);
    const uint64_t span = read_usual_entry(&table, table.count - 1, 0) - first;
    *shift = shift_of(span, table.count);
    const size_t count = (size_t)(span >> *shift) + 1;
    size_t filled = 0;
    if (capacity <= count)
        return count;
    for (uint64_t n = 0; n < table.count; n++)
        for (const uint64_t piece = (read_usual_entry(&table, n, 0) - first) >> *shift;
             filled <= piece && filled <= count;)
            pieces[filled++] = (uint32_t)n;
    while (filled <= count)
        pieces[filled++] = (uint32_t)table.count;
    return count;
}

/* Ascending; of equal starts the widest last, where a search looks. */
static bool is_before(const void *left, const void *right)
{
    const struct sw_cfi_entry *a = left, *b = right;
    if (a->begin != b->begin)
        return a->begin < b->begin;
    return a->end != b->end ? a->end < b->end : a->fde < b->fde;
}

/* At once what would be read record by record. */
static void want_all(const struct sw_cfi *cfi)
{
    sw_store_want(cfi->store, cfi->frame.bytes, cfi->frame.size);
}

size_t sw_cfi_index(const struct sw_cfi *cfi, struct sw_cfi_entry *entries, size_t capacity)
{
    struct sw_cfi_fde fde;
    uint64_t offset = 0;
    uint64_t at = 0;
    size_t count = 0;
    want_all(cfi);
    while (next_fde(cfi, &offset, &at, &fde) == SW_OK) {
        if (fde.begin == fde.end)
            continue;
        if (count < capacity)
            entries[count] = (struct sw_cfi_entry){ fde.begin, fde.end, 0, at };
        count++;
    }
    const struct sw_intervals filled = intervals_of(entries, count < capacity ? count : capacity);
    sw_intervals_sort(&filled, is_before);
    sw_intervals_link(&filled);
    return count;
}

/* The n-th FDE's range by header or index, ascending; false past the last. One that cannot be read is empty. */
static bool nth_range(const struct sw_cfi *cfi, const struct table *table, uint64_t n, struct sw_cfi_cover *range)
{
    struct sw_cfi_fde fde = { .begin = 0 };
    *range = (struct sw_cfi_cover){ 0 };
    if (table->count == 0) {
        if (n >= cfi->index_count)
            return false;
        *range = (struct sw_cfi_cover){ .begin = cfi->index[n].begin + cfi->index_distance,
                                        .end = cfi->index[n].end + cfi->index_distance };
        return true;
    }
    if (n < table->count && fde_of_entry(cfi, table, n, &fde) == SW_OK)
        *range = (struct sw_cfi_cover){ fde.begin, fde.end, 0, false, 0 };
    return n < table->count;
}

uint64_t sw_cfi_widest_gap(const struct sw_cfi *cfi, uint64_t begin, uint64_t end)
{
    struct table table = { .count = 0 };
    struct sw_cfi_cover range;
    uint64_t reach = begin;
    uint64_t widest = 0;
    want_all(cfi);
    if (cfi->header.size > 0 && !cfi->is_debug_frame && read_table(cfi, &table) != SW_OK)
        table.count = 0;
    for (uint64_t n = 0; reach < end && nth_range(cfi, &table, n, &range); n++) {
        const uint64_t gap_end = range.begin < end ? range.begin : end;
        if (range.end > begin && gap_end > reach && gap_end - reach > widest)
            widest = gap_end - reach;
        reach = range.end > reach ? range.end : reach;
    }
    return end > reach && end - reach > widest ? end - reach : widest;
}

enum sw_status sw_cfi_frame_of_header(struct sw_bytes header, struct sw_bytes around, struct sw_bytes *frame)
{
    *frame = (struct sw_bytes){ 0 };
    struct sw_cursor c = sw_cursor_over(header);
    const struct header h = read_header(&c);
    const struct sw_pointer_bases bases = { 0, header.address, 0 };
    uint64_t address = 0;
    if (!sw_cursor_ok(&c))
        return SW_E_MALFORMED;
    if (h.version != 1)
        return SW_E_UNSUPPORTED;
    const enum sw_status status = sw_pointer_read(&c, h.frame_encoding, &bases, &address);
    if (status != SW_OK)
        return status == SW_E_TRUNCATED ? SW_E_MALFORMED : status;
    if (address < around.address || address - around.address >= around.size)
        return SW_E_NOT_FOUND;
    const uint64_t offset = address - around.address;
    *frame = sw_bytes_part(around, offset, around.size - offset);
    return SW_OK;
}
