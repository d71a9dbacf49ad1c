/*
 * MiniDebugInfo: ELF images made here with another one in .gnu_debugdata, packed by liblzma's encoder; then the same
 * cut off, damaged in every byte, and made to claim more than it holds.
 */
#include "rows.h"

#include "elf/elf.h"

#include <elf.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

enum { ADDRESS = 0x400000, CODE_SIZE = 0x1000, ROOM = 1 << 16, SECTIONS_MAX = 12 };

/* ---- an assembler of ELF images ---- */

struct image {
    _Alignas(Elf64_Ehdr) uint8_t bytes[ROOM];
    size_t used;
    unsigned count;
    Elf64_Shdr sections[SECTIONS_MAX];
    char names[256];
    size_t names_used;
};

static size_t add_bytes(struct image *m, const void *bytes, size_t size)
{
    const size_t at = m->used;
    assert_true(at + size + 8 <= ROOM);
    memcpy(m->bytes + at, bytes, size);
    m->used = (at + size + 7) & ~(size_t)7;
    return at;
}

static unsigned add_section(struct image *m, const char *name, uint32_t type, const void *bytes, size_t size)
{
    const size_t length = strlen(name) + 1;
    Elf64_Shdr *s = &m->sections[m->count];
    assert_true(m->count < SECTIONS_MAX && m->names_used + length <= sizeof m->names);
    *s = (Elf64_Shdr){ .sh_name = (uint32_t)m->names_used, .sh_type = type, .sh_size = size };
    memcpy(m->names + m->names_used, name, length);
    m->names_used += length;
    s->sh_offset = add_bytes(m, bytes, size);
    return m->count++;
}

static void begin_image(struct image *m)
{
    memset(m, 0, sizeof *m);
    m->used = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
    (void)add_section(m, "", SHT_NULL, "", 0);
}

/* One symbol, called `name`, at ADDRESS + value, 0x10 long. */
static void add_symbol(struct image *m, uint32_t type, const char *name, uint64_t value)
{
    Elf64_Sym symbols[2] = { { 0 }, { 1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, ADDRESS + value, 0x10 } };
    char strings[64] = { 0 };
    strcpy(strings + 1, name);
    const bool is_dynamic = type == SHT_DYNSYM;
    const unsigned table = add_section(m, is_dynamic ? ".dynsym" : ".symtab", type, symbols, sizeof symbols);
    m->sections[table].sh_entsize = sizeof(Elf64_Sym);
    m->sections[table].sh_link =
        add_section(m, is_dynamic ? ".dynstr" : ".strtab", SHT_STRTAB, strings, sizeof strings);
}

static void end_image(struct image *m, uint16_t machine)
{
    const unsigned names = add_section(m, ".names", SHT_STRTAB, "", 0);
    m->sections[names].sh_size = m->names_used;
    m->sections[names].sh_offset = add_bytes(m, m->names, m->names_used);
    const size_t at = add_bytes(m, m->sections, m->count * sizeof m->sections[0]);
    const Elf64_Phdr segment = { PT_LOAD, PF_R | PF_X, 0, ADDRESS, ADDRESS, 64, CODE_SIZE, 4096 };
    Elf64_Ehdr header = { .e_type = ET_DYN,
                          .e_machine = machine,
                          .e_version = EV_CURRENT,
                          .e_shoff = at,
                          .e_ehsize = sizeof header,
                          .e_phoff = sizeof header,
                          .e_phentsize = sizeof segment,
                          .e_phnum = 1,
                          .e_shentsize = sizeof(Elf64_Shdr),
                          .e_shstrndx = (uint16_t)names };
    header.e_shnum = (uint16_t)m->count;
    memcpy(header.e_ident, ELFMAG "\2\1\1", 7);
    memcpy(m->bytes, &header, sizeof header);
    memcpy(m->bytes + sizeof header, &segment, sizeof segment);
}

/* ---- packing ---- */

static struct sw_bytes pack(const void *bytes, size_t size, lzma_check check)
{
    const size_t room = lzma_stream_buffer_bound(size);
    uint8_t *packed = malloc(room);
    size_t used = 0;
    assert_non_null(packed);
    assert_int_equal(lzma_easy_buffer_encode(1, check, NULL, bytes, size, packed, &used, room), LZMA_OK);
    return (struct sw_bytes){ packed, used, 0 };
}

static void drop(struct sw_bytes bytes)
{
    free((void *)(uintptr_t)bytes.bytes);
}

/* A file with the section and nothing else; opens it, and gives the status of what is inside. */
static enum sw_status status_with(const void *section, size_t size)
{
    struct image *m = malloc(sizeof *m);
    struct sw_elf *elf;
    assert_non_null(m);
    begin_image(m);
    (void)add_section(m, ".gnu_debugdata", SHT_PROGBITS, section, size);
    end_image(m, EM_X86_64);
    assert_int_equal(sw_elf_open_bytes((struct sw_bytes){ m->bytes, m->used, 0 }, &elf), SW_OK);
    const enum sw_status status = sw_elf_mini(elf);
    const char *name;
    struct sw_bytes frame;
    assert_int_equal(sw_elf_mini(elf), status); /* tried once */
    assert_int_equal(sw_elf_symbol(elf, ADDRESS, &name, NULL, NULL), SW_E_NOT_FOUND);
    assert_int_equal(sw_elf_section(elf, ".debug_frame", &frame), status == SW_OK ? SW_E_NOT_FOUND : status);
    sw_elf_close(elf);
    free(m);
    return status;
}

static struct sw_bytes small_mini(void)
{
    struct image *m = malloc(sizeof *m);
    assert_non_null(m);
    begin_image(m);
    add_symbol(m, SHT_SYMTAB, "hidden", 0x100);
    end_image(m, EM_X86_64);
    const struct sw_bytes packed = pack(m->bytes, m->used, LZMA_CHECK_CRC64);
    free(m);
    return packed;
}

/* ---- what is inside is used ---- */

/* What the file and the one inside it have, and whose is found. */
static const struct use_row {
    const char *name;
    bool has_symtab;
    bool has_dynsym;
    bool has_frame;
    bool mini_symtab;
    bool mini_frame;
    const char *at_100; /* the symbol there, null: none */
    const char *at_200;
    const char *frame; /* .debug_frame */
} use_rows[] = {
    { "mini_gives_names_and_debug_frame", 0, 0, 0, 1, 1, "mini", NULL, "of the mini" },
    { "mini_completes_dynsym", 0, 1, 0, 1, 0, "mini", "dynamic", NULL },
    { "mini_does_not_complete_symtab", 1, 1, 0, 1, 0, NULL, NULL, NULL },
    { "mini_debug_frame_where_there_is_symtab", 1, 0, 0, 0, 1, NULL, NULL, "of the mini" },
    { "mini_debug_frame_yields_to_the_file_s", 0, 0, 1, 1, 1, "mini", NULL, "of the file" },
    { "mini_with_nothing_of_use", 0, 1, 0, 0, 0, NULL, "dynamic", NULL },
};

static void add_frame(struct image *m, const char *text)
{
    (void)add_section(m, ".debug_frame", SHT_PROGBITS, text, strlen(text));
}

static void build(const struct use_row *row, struct image *m)
{
    struct image *mini = malloc(sizeof *mini);
    assert_non_null(mini);
    begin_image(mini);
    if (row->mini_symtab)
        add_symbol(mini, SHT_SYMTAB, "mini", 0x100);
    if (row->mini_frame)
        add_frame(mini, "of the mini");
    end_image(mini, EM_X86_64);
    const struct sw_bytes packed = pack(mini->bytes, mini->used, LZMA_CHECK_CRC64);
    begin_image(m);
    if (row->has_symtab)
        add_symbol(m, SHT_SYMTAB, "static", 0x300);
    if (row->has_dynsym)
        add_symbol(m, SHT_DYNSYM, "dynamic", 0x200);
    if (row->has_frame)
        add_frame(m, "of the file");
    (void)add_section(m, ".gnu_debugdata", SHT_PROGBITS, packed.bytes, packed.size);
    end_image(m, EM_X86_64);
    drop(packed);
    free(mini);
}

static void check_symbol(struct sw_elf *elf, uint64_t at, const char *expected)
{
    const char *name;
    uint64_t start;
    assert_int_equal(sw_elf_symbol(elf, ADDRESS + at, &name, &start, NULL), expected ? SW_OK : SW_E_NOT_FOUND);
    if (expected) {
        assert_string_equal(name, expected);
        assert_int_equal(start, ADDRESS + at);
    }
}

static void inside_is_used(void **state)
{
    const struct use_row *row = *state;
    struct image *m = malloc(sizeof *m);
    struct sw_elf *elf;
    struct sw_bytes frame;
    assert_non_null(m);
    build(row, m);
    assert_int_equal(sw_elf_open_bytes((struct sw_bytes){ m->bytes, m->used, 0 }, &elf), SW_OK);
    check_symbol(elf, 0x100, row->at_100);
    check_symbol(elf, 0x200, row->at_200);
    check_symbol(elf, 0x300, row->has_symtab ? "static" : NULL);
    assert_int_equal(sw_elf_section(elf, ".debug_frame", &frame), row->frame ? SW_OK : SW_E_NOT_FOUND);
    if (row->frame) {
        assert_int_equal(frame.size, strlen(row->frame));
        assert_memory_equal(frame.bytes, row->frame, frame.size);
    }
    sw_elf_close(elf);
    free(m);
}

/* ---- what is no MiniDebugInfo ---- */

static void file_without_the_section_has_none(void **state)
{
    (void)state;
    struct sw_elf *elf;
    static struct image m;
    begin_image(&m);
    end_image(&m, EM_X86_64);
    assert_int_equal(sw_elf_open_bytes((struct sw_bytes){ m.bytes, m.used, 0 }, &elf), SW_OK);
    assert_int_equal(sw_elf_mini(elf), SW_E_NOT_FOUND);
    assert_int_equal(sw_elf_mini(NULL), SW_E_ARGUMENT);
    sw_elf_close(elf);
}

static void inside_must_be_an_elf_file_of_the_same_machine(void **state)
{
    (void)state;
    static struct image m;
    static const char text[200] = "no ELF file";
    const struct sw_bytes no_elf = pack(text, sizeof text, LZMA_CHECK_CRC32);
    const struct sw_bytes tiny = pack(text, 3, LZMA_CHECK_NONE);
    begin_image(&m);
    end_image(&m, EM_AARCH64);
    const struct sw_bytes other = pack(m.bytes, m.used, LZMA_CHECK_SHA256);
    assert_int_equal(status_with(no_elf.bytes, no_elf.size), SW_E_MALFORMED);
    assert_int_equal(status_with(tiny.bytes, tiny.size), SW_E_TRUNCATED);
    assert_int_equal(status_with(other.bytes, other.size), SW_E_MALFORMED);
    assert_int_equal(status_with("", 0), SW_E_NOT_FOUND);
    assert_int_equal(status_with("plain text that is not packed at all", 36), SW_E_MALFORMED);
    drop(no_elf);
    drop(tiny);
    drop(other);
}

/* A file in a file in a file: the third is not looked for. */
static void inside_of_the_inside_is_left_alone(void **state)
{
    (void)state;
    static struct image m;
    const struct sw_bytes innermost = small_mini();
    begin_image(&m);
    (void)add_section(&m, ".gnu_debugdata", SHT_PROGBITS, innermost.bytes, innermost.size);
    end_image(&m, EM_X86_64);
    const struct sw_bytes middle = pack(m.bytes, m.used, LZMA_CHECK_CRC64);
    struct sw_elf *elf;
    begin_image(&m);
    (void)add_section(&m, ".gnu_debugdata", SHT_PROGBITS, middle.bytes, middle.size);
    end_image(&m, EM_X86_64);
    assert_int_equal(sw_elf_open_bytes((struct sw_bytes){ m.bytes, m.used, 0 }, &elf), SW_OK);
    assert_int_equal(sw_elf_mini(elf), SW_OK);
    check_symbol(elf, 0x100, NULL);
    sw_elf_close(elf);
    drop(innermost);
    drop(middle);
}

static void padding_behind_the_stream_is_passed_over(void **state)
{
    (void)state;
    uint8_t padded[4096] = { 0 };
    const struct sw_bytes packed = small_mini();
    assert_true(packed.size + 8 < sizeof padded);
    memcpy(padded, packed.bytes, packed.size);
    assert_int_equal(status_with(padded, packed.size + 8), SW_OK);
    assert_int_equal(status_with(padded, packed.size + 7), SW_E_MALFORMED);
    drop(packed);
}

/* ---- damage ---- */

static void cut_off_anywhere_is_named(void **state)
{
    (void)state;
    const struct sw_bytes packed = small_mini();
    assert_int_equal(status_with(packed.bytes, packed.size), SW_OK);
    for (size_t size = 1; size < packed.size; size++) {
        uint8_t *copy = malloc(size);
        memcpy(copy, packed.bytes, size);
        const enum sw_status status = status_with(copy, size);
        assert_true(status == SW_E_TRUNCATED || status == SW_E_MALFORMED);
        free(copy);
    }
    drop(packed);
}

/* Every byte of a stream is under a checksum. */
static void flipped_anywhere_is_named(void **state)
{
    (void)state;
    const struct sw_bytes packed = small_mini();
    uint8_t *copy = malloc(packed.size);
    assert_non_null(copy);
    for (size_t at = 0; at < packed.size; at++)
        for (unsigned bit = 0; bit < 8; bit += 3) {
            memcpy(copy, packed.bytes, packed.size);
            copy[at] = (uint8_t)(copy[at] ^ 1u << bit);
            const enum sw_status status = status_with(copy, packed.size);
            assert_true(status == SW_E_TRUNCATED || status == SW_E_MALFORMED || status == SW_E_UNSUPPORTED ||
                        status == SW_E_LIMIT);
        }
    free(copy);
    drop(packed);
}

/* ---- bombs ---- */

/* The stream with another size in its index, checksums and all. */
static struct sw_bytes with_claim(struct sw_bytes packed, uint64_t claimed)
{
    lzma_stream_flags footer;
    lzma_index *index = NULL;
    lzma_index_iter iter;
    uint64_t memory = UINT64_MAX;
    const size_t end = (size_t)packed.size - LZMA_STREAM_HEADER_SIZE;
    assert_int_equal(lzma_stream_footer_decode(&footer, packed.bytes + end), LZMA_OK);
    const size_t blocks = end - (size_t)footer.backward_size;
    size_t at = blocks;
    assert_int_equal(lzma_index_buffer_decode(&index, &memory, NULL, packed.bytes, &at, end), LZMA_OK);
    lzma_index_iter_init(&iter, index);
    assert_false(lzma_index_iter_next(&iter, LZMA_INDEX_ITER_BLOCK));
    lzma_index *lying = lzma_index_init(NULL);
    assert_int_equal(lzma_index_append(lying, NULL, iter.block.unpadded_size, claimed), LZMA_OK);
    uint8_t *made = malloc(packed.size + 64);
    size_t used = blocks;
    memcpy(made, packed.bytes, blocks);
    footer.backward_size = lzma_index_size(lying);
    assert_int_equal(lzma_index_buffer_encode(lying, made, &used, (size_t)packed.size + 64), LZMA_OK);
    assert_int_equal(lzma_stream_footer_encode(&footer, made + used), LZMA_OK);
    lzma_index_end(index, NULL);
    lzma_index_end(lying, NULL);
    return (struct sw_bytes){ made, used + LZMA_STREAM_HEADER_SIZE, 0 };
}

static const struct claim_row {
    const char *name;
    int64_t more; /* than there is; 0: `claimed` */
    uint64_t claimed;
    enum sw_status status;
} claim_rows[] = {
    { "claim_of_one_byte_less", -1, 0, SW_E_TRUNCATED },
    { "claim_of_one_byte_more", 1, 0, SW_E_MALFORMED },
    { "claim_of_nothing", 0, 0, SW_E_MALFORMED },
    { "claim_beyond_the_ratio", 0, 4 << 20, SW_E_LIMIT },
    { "claim_beyond_the_bound", 0, (128 << 20) + 1, SW_E_LIMIT },
    { "claim_of_a_terabyte", 0, UINT64_C(1) << 40, SW_E_LIMIT },
    { "claim_of_all_there_can_be", 0, LZMA_VLI_MAX, SW_E_LIMIT },
};

static void claim_is_refused(void **state)
{
    const struct claim_row *row = *state;
    static struct image m;
    begin_image(&m);
    end_image(&m, EM_X86_64);
    const struct sw_bytes honest = pack(m.bytes, m.used, LZMA_CHECK_CRC64);
    const struct sw_bytes lying = with_claim(honest, row->more ? m.used + (uint64_t)row->more : row->claimed);
    assert_int_equal(status_with(lying.bytes, lying.size), row->status);
    drop(honest);
    drop(lying);
}

/* 16 MiB of zeros in a few kilobytes: honest, and refused. */
static void honest_bomb_is_refused(void **state)
{
    (void)state;
    const size_t size = 16 << 20;
    uint8_t *zeros = calloc(size, 1);
    assert_non_null(zeros);
    const struct sw_bytes bomb = pack(zeros, size, LZMA_CHECK_CRC32);
    assert_true(bomb.size < 16 << 10);
    assert_int_equal(status_with(bomb.bytes, bomb.size), SW_E_LIMIT);
    free(zeros);
    drop(bomb);
}

/* A block that asks for a dictionary of 1.5 GiB: its header has the size as one byte, and a checksum of its own. */
static void dictionary_beyond_the_limit_is_refused(void **state)
{
    (void)state;
    enum { BLOCK = LZMA_STREAM_HEADER_SIZE, LZMA2_ID = 0x21, GIB_AND_A_HALF = 37 };
    const struct sw_bytes packed = small_mini();
    uint8_t *bytes = malloc(packed.size);
    memcpy(bytes, packed.bytes, packed.size);
    const size_t header = (bytes[BLOCK] + 1u) * 4u;
    uint8_t *filter = memchr(bytes + BLOCK + 2, LZMA2_ID, header - 2);
    assert_non_null(filter);
    assert_int_equal(filter[1], 1);
    filter[2] = GIB_AND_A_HALF;
    const uint32_t sum = lzma_crc32(bytes + BLOCK, header - 4, 0);
    memcpy(bytes + BLOCK + header - 4, &sum, 4);
    assert_int_equal(status_with(bytes, packed.size), SW_E_LIMIT);
    free(bytes);
    drop(packed);
}

static const struct CMUnitTest single[] = {
    cmocka_unit_test(file_without_the_section_has_none),
    cmocka_unit_test(inside_must_be_an_elf_file_of_the_same_machine),
    cmocka_unit_test(inside_of_the_inside_is_left_alone),
    cmocka_unit_test(padding_behind_the_stream_is_passed_over),
    cmocka_unit_test(cut_off_anywhere_is_named),
    cmocka_unit_test(flipped_anywhere_is_named),
    cmocka_unit_test(honest_bomb_is_refused),
    cmocka_unit_test(dictionary_beyond_the_limit_is_refused),
};

int main(void)
{
    enum { CLAIMS = COUNT_OF(use_rows), SINGLES = CLAIMS + COUNT_OF(claim_rows) };
    static struct CMUnitTest tests[SINGLES + COUNT_OF(single)];
    FILL_ROWS(tests, use_rows, inside_is_used);
    FILL_ROWS(tests + CLAIMS, claim_rows, claim_is_refused);
    memcpy(tests + SINGLES, single, sizeof single);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
