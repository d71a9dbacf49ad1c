/*
 * CIE and FDE: where a record ends, what its augmentation says, which addresses it covers. Knows nothing of what the
 * instructions mean. Refuses what it cannot pass over safely: pointers of another size, letters it does not know.
 * Producers disagree on how long an id is behind a 64-bit length in .eh_frame (LSB, LLVM: 4 bytes; libdw: 8): the CIE
 * tells, since behind an id of 4 bytes there is a version, which is not 0.
 * Source: DWARF 5 section 6.4.1; LSB, "Exception Frames"; dwarf-cfi.md section 1.
 */
#include "cfi/record.h"

enum { LETTERS_MAX = 16 };

/* A length: 4 bytes, or all ones and 8 bytes. */
static uint64_t read_length(struct sw_cursor *c, bool *is_wide)
{
    const uint64_t length = sw_cursor_u(c, 4);
    *is_wide = length == UINT32_MAX;
    return *is_wide ? sw_cursor_u(c, 8) : length;
}

static enum sw_status classify(const struct sw_cfi *cfi, uint64_t id_offset, struct sw_cfi_record *r)
{
    const bool is_long = r->is_wide && cfi->is_debug_frame;
    const uint64_t id = sw_cursor_u(&r->body, is_long ? 8 : 4);
    if (!sw_cursor_ok(&r->body))
        return SW_E_TRUNCATED;
    if (cfi->is_debug_frame) {
        r->kind = id == (is_long ? UINT64_MAX : UINT32_MAX) ? SW_CFI_CIE : SW_CFI_FDE;
        r->cie = id;
        return SW_OK;
    }
    r->kind = id == 0 ? SW_CFI_CIE : SW_CFI_FDE;
    r->cie = id_offset - id;
    return id <= id_offset ? SW_OK : SW_E_MALFORMED;
}

/*
 * A record of .eh_frame with a length of 32 bits: its body is [at, end), and id is how far its CIE's offset is in front
 * of its own id; 0: it is a CIE.
 */
struct usual {
    const uint8_t *at, *end;
    uint32_t id;
};
enum { LENGTH = 4, ID = 4 };

/* False: another record, or something is wrong. */
static inline bool read_usual_record(const struct sw_cfi *cfi, uint64_t offset, struct usual *record)
{
    const uint64_t size = cfi->frame.size, left = size - offset;
    if (offset >= size || !cfi->frame.bytes || cfi->is_debug_frame || left < LENGTH + ID)
        return false;
    const uint8_t *at = cfi->frame.bytes + offset;
    sw_store_want(cfi->store, at, LENGTH + ID);
    const uint32_t length = sw_load32(at), id = sw_load32(at + LENGTH);
    if (length < ID || length > left - LENGTH || length == UINT32_MAX || id > offset + LENGTH)
        return false;
    sw_store_want(cfi->store, at, LENGTH + (uint64_t)length);
    *record = (struct usual){ at + LENGTH + ID, at + LENGTH + length, id };
    return true;
}

static inline uint64_t address_of(const struct sw_cfi *cfi, const uint8_t *at)
{
    return cfi->frame.address + (uint64_t)(at - cfi->frame.bytes);
}

static inline struct sw_cursor cursor_of(const struct sw_cfi *cfi, const uint8_t *at, const uint8_t *end)
{
    return (struct sw_cursor){ at, end, address_of(cfi, at), false };
}

static enum sw_status read_other_record(const struct sw_cfi *cfi, uint64_t offset, struct sw_cfi_record *record)
{
    *record = (struct sw_cfi_record){ .kind = SW_CFI_OTHER };
    if (offset >= cfi->frame.size)
        return SW_E_NOT_FOUND;
    struct sw_cursor c = sw_cursor_over(sw_bytes_part(cfi->frame, offset, cfi->frame.size - offset));
    sw_store_want(cfi->store, c.at, LENGTH + sizeof(uint64_t));
    const uint64_t length = read_length(&c, &record->is_wide);
    const uint64_t id_offset = cfi->frame.size - sw_cursor_left(&c);
    record->body = sw_cursor_split(&c, length);
    sw_store_want(cfi->store, record->body.at, sw_cursor_left(&record->body));
    record->next = cfi->frame.size - sw_cursor_left(&c);
    if (!sw_cursor_ok(&c))
        return SW_E_TRUNCATED;
    if (length == 0 && !record->is_wide) /* .debug_frame has no terminator: there it is padding */
        return cfi->is_debug_frame ? SW_OK : SW_E_NOT_FOUND;
    return classify(cfi, id_offset, record);
}

enum sw_status sw_cfi_record_at(const struct sw_cfi *cfi, uint64_t offset, struct sw_cfi_record *record)
{
    struct usual usual;
    if (!read_usual_record(cfi, offset, &usual))
        return read_other_record(cfi, offset, record);
    *record = (struct sw_cfi_record){ .kind = usual.id == 0 ? SW_CFI_CIE : SW_CFI_FDE,
                                      .next = (uint64_t)(usual.end - cfi->frame.bytes),
                                      .cie = offset + LENGTH - usual.id,
                                      .body = cursor_of(cfi, usual.at, usual.end) };
    return SW_OK;
}

/* A pointer that only has to be passed over: its base does not matter. */
static enum sw_status pass_pointer(struct sw_cursor *c, uint8_t encoding)
{
    uint64_t ignored = 0;
    return encoding == SW_POINTER_OMIT ? SW_OK : sw_pointer_raw(c, encoding, &ignored);
}

/* One letter of the augmentation. Source: LSB, "Augmentation String Format"; gcc for S, B; AAELF64 for G. */
static enum sw_status read_letter(struct sw_cursor *c, char letter, struct sw_cfi_cie *cie)
{
    switch (letter) {
    case 'R':
        cie->encoding = (uint8_t)sw_cursor_u(c, 1);
        return SW_OK;
    case 'P':
        return pass_pointer(c, (uint8_t)sw_cursor_u(c, 1));
    case 'L':
        (void)sw_cursor_u(c, 1); /* the pointer itself is in the FDE's augmentation data */
        return SW_OK;
    case 'S':
        cie->is_signal = true;
        return SW_OK;
    case 'B':
    case 'G':
        return SW_OK;
    default:
        return SW_E_UNSUPPORTED;
    }
}

/* The augmentation data, and past it. A letter that is not known is passed over where 'z' tells how. */
static enum sw_status read_augmentation(struct sw_cursor *c, const char *letters, struct sw_cfi_cie *cie)
{
    struct sw_cursor data = *c;
    cie->has_sizes = *letters == 'z';
    if (cie->has_sizes) {
        const uint64_t size = sw_cursor_uleb(c);
        data = sw_cursor_split(c, size);
        letters++;
    }
    enum sw_status status = SW_OK;
    for (; *letters && status == SW_OK; letters++)
        status = read_letter(&data, *letters, cie);
    if (status == SW_E_UNSUPPORTED && cie->has_sizes && *letters == 0)
        status = SW_OK; /* it was the last one: nothing that is known comes after its data */
    if (!cie->has_sizes)
        *c = data;
    return sw_cursor_ok(&data) ? status : SW_E_TRUNCATED;
}

/* The letters, kept short: every FDE of a search reads its CIE again. */
static const char *read_letters(struct sw_cursor *c)
{
    struct sw_cursor head = *c;
    if (sw_cursor_left(&head) > LETTERS_MAX)
        head.end = head.at + LETTERS_MAX;
    const char *letters = sw_cursor_string(&head);
    if (letters)
        (void)sw_cursor_take(c, (uint64_t)(head.at - c->at));
    return letters;
}

/* What is left of `text` behind `prefix`, or null. */
static const char *behind(const char *text, const char *prefix)
{
    for (; *prefix; prefix++, text++)
        if (*text != *prefix)
            return NULL;
    return text;
}

/* Prefixes that are not letters: of gcc 2, with a pointer, and of Arm's compiler, which says nothing. */
static const char *pass_prefix(struct sw_cursor *c, const char *letters)
{
    const char *rest = behind(letters, "eh");
    if (rest)
        (void)sw_cursor_take(c, 8);
    else
        rest = behind(letters, "armcc+");
    return rest ? rest : letters;
}

/* Version 4 says the sizes of pointers and segment selectors: ours are 8 and 0. */
static bool sizes_fit(struct sw_cursor *c, uint64_t version)
{
    const uint64_t sizes = version == 4 ? sw_cursor_u(c, 2) : 8;
    return sizes == 8 || !sw_cursor_ok(c);
}

/* The rest of an id of 8 bytes, where .eh_frame has one: no distance in a section has more than 32 bits. */
static void pass_wide_id(const struct sw_cfi *cfi, struct sw_cursor *c, struct sw_cfi_cie *cie)
{
    struct sw_cursor version = *c;
    cie->has_wide_id = cie->is_wide && !cfi->is_debug_frame && sw_cursor_u(&version, 1) == 0;
    if (cie->has_wide_id)
        (void)sw_cursor_u(c, 4);
}

/* The CIE of nearly all C code: version 1, augmentation "zR" with one byte of data, numbers below 128. */
static inline bool read_usual_cie(const struct sw_cfi *cfi, uint64_t offset, struct sw_cfi_cie *cie)
{
    enum { VERSION_ZR = 0x00527a01, CODE = 4, DATA, RA, SIZE, ENCODING, BEFORE_PROGRAM };
    struct usual record;
    if (!read_usual_record(cfi, offset, &record) || record.id != 0 || record.end - record.at < BEFORE_PROGRAM)
        return false;
    const uint8_t *at = record.at;
    if (sw_load32(at) != VERSION_ZR || (at[CODE] | at[DATA]) >= 0x80 || at[SIZE] != 1)
        return false;
    *cie = (struct sw_cfi_cie){ .code_align = at[CODE],
                                .data_align = sw_sign_extend(at[DATA], 7),
                                .ra = at[RA],
                                .encoding = at[ENCODING],
                                .has_sizes = true,
                                .program = cursor_of(cfi, at + BEFORE_PROGRAM, record.end) };
    return true;
}

static enum sw_status read_other_cie(const struct sw_cfi *cfi, const struct sw_cfi_record *record,
                                     struct sw_cfi_cie *cie)
{
    struct sw_cursor c = record->body;
    *cie = (struct sw_cfi_cie){ .encoding = SW_POINTER_ABSOLUTE, .is_wide = record->is_wide };
    pass_wide_id(cfi, &c, cie);
    const uint64_t version = sw_cursor_u(&c, 1);
    const char *letters = read_letters(&c);
    if (!letters)
        return sw_cursor_left(&c) < LETTERS_MAX ? SW_E_TRUNCATED : SW_E_UNSUPPORTED;
    if (version != 1 && version != 3 && version != 4)
        return SW_E_UNSUPPORTED;
    letters = pass_prefix(&c, letters);
    if (!sizes_fit(&c, version))
        return SW_E_UNSUPPORTED;
    cie->code_align = sw_cursor_uleb(&c);
    cie->data_align = sw_cursor_sleb(&c);
    cie->ra = version == 1 ? sw_cursor_u(&c, 1) : sw_cursor_uleb(&c);
    const enum sw_status status = read_augmentation(&c, letters, cie);
    cie->program = c;
    if (!sw_cursor_ok(&c))
        return SW_E_TRUNCATED;
    if (cie->code_align > UINT32_MAX || !sw_fits_i32(cie->data_align))
        return SW_E_MALFORMED;
    return status;
}

static enum sw_status read_cie_at(const struct sw_cfi *cfi, uint64_t offset, struct sw_cfi_cie *cie)
{
    struct sw_cfi_record record;
    if (read_usual_cie(cfi, offset, cie))
        return SW_OK;
    const enum sw_status status = sw_cfi_record_at(cfi, offset, &record);
    if (status != SW_OK)
        return status == SW_E_NOT_FOUND ? SW_E_MALFORMED : status;
    return record.kind == SW_CFI_CIE ? read_other_cie(cfi, &record, cie) : SW_E_MALFORMED;
}

/* The code that an FDE covers: where it begins, and its size. */
static enum sw_status read_range(const struct sw_cfi *cfi, struct sw_cursor *c, uint8_t encoding, uint64_t *begin,
                                 uint64_t *size)
{
    const struct sw_pointer_bases bases = { cfi->bias, 0, 0 };
    const enum sw_status status = sw_pointer_read(c, encoding, &bases, begin);
    return status == SW_OK ? sw_pointer_raw(c, encoding & SW_POINTER_FORMAT, size) : status;
}

enum sw_status sw_cfi_fde_read(const struct sw_cfi *cfi, const struct sw_cfi_record *record, struct sw_cfi_fde *fde)
{
    enum sw_status status = read_cie_at(cfi, record->cie, &fde->cie);
    if (status != SW_OK)
        return status;
    struct sw_cursor c = record->body;
    uint64_t size = 0;
    if (!cfi->is_debug_frame && record->is_wide != fde->cie.is_wide)
        return SW_E_UNSUPPORTED; /* how long its id is cannot be told */
    if (fde->cie.has_wide_id)
        (void)sw_cursor_u(&c, 4);
    status = read_range(cfi, &c, fde->cie.encoding, &fde->begin, &size);
    if (status != SW_OK)
        return status;
    if (fde->cie.has_sizes) {
        const uint64_t skipped = sw_cursor_uleb(&c);
        (void)sw_cursor_take(&c, skipped);
    }
    fde->program = c;
    if (!sw_cursor_ok(&c))
        return SW_E_TRUNCATED;
    if (fde->begin == 0)
        return SW_E_NOT_FOUND;
    return sw_add_u64(fde->begin, size, &fde->end) ? SW_OK : SW_E_MALFORMED;
}

/* The FDE of a usual CIE: its range pcrel sdata4, and less than 128 bytes of augmentation data. */
static inline bool read_usual_fde(const struct sw_cfi *cfi, uint64_t offset, struct sw_cfi_fde *fde)
{
    enum { PCREL_SDATA4 = 0x1b, SIZE = 4, DATA = 8, BEFORE_DATA };
    struct usual record;
    if (!read_usual_record(cfi, offset, &record) || record.id == 0 || record.end - record.at < BEFORE_DATA ||
        !read_usual_cie(cfi, offset + LENGTH - record.id, &fde->cie) || fde->cie.encoding != PCREL_SDATA4)
        return false;
    const uint8_t *at = record.at;
    const uint64_t distance = (uint64_t)sw_sign_extend(sw_load32(at), 32);
    if (distance == 0 || at[DATA] >= 0x80 || record.end - at < BEFORE_DATA + at[DATA])
        return false;
    fde->begin = address_of(cfi, at) + distance;
    fde->program = cursor_of(cfi, at + BEFORE_DATA + at[DATA], record.end);
    return fde->begin != 0 && sw_add_u64(fde->begin, (uint64_t)sw_sign_extend(sw_load32(at + SIZE), 32), &fde->end);
}

enum sw_status sw_cfi_fde_at(const struct sw_cfi *cfi, uint64_t offset, struct sw_cfi_fde *fde)
{
    struct sw_cfi_record record;
    if (read_usual_fde(cfi, offset, fde))
        return SW_OK;
    enum sw_status status = sw_cfi_record_at(cfi, offset, &record);
    if (status == SW_OK)
        status = record.kind == SW_CFI_FDE ? sw_cfi_fde_read(cfi, &record, fde) : SW_E_MALFORMED;
    return status == SW_E_NOT_FOUND ? SW_E_MALFORMED : status;
}
