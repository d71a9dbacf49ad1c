/*
 * What hostile files cost: sparse ones, compressed sections that claim much, tables without records, intervals that
 * all overlap, headers that each lead to everything, files that are mapped thousands of times. Where something has to
 * be linear, many times the input is timed against once in the same run: CPU time, best of a few.
 */
#include "rows.h"
#include "host.h"

#include "base/interval.h"
#include "clr/clr.h"
#include "clr/format.h"
#include "code/images.h"
#include "code/originals.h"
#include "elf/elf.h"
#include "target/linux/images.h"

#include <snapwalk/core.h>
#include <snapwalk/limits.h>

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { ADDRESS = 0x400000, HEADS = 512, TIMES = 8, ROUNDS = 5, ATTEMPTS = 5 };

/* ---- an ELF file: headers, then sections one behind the other ---- */

struct file {
    uint8_t *bytes;
    size_t size, room;
    Elf64_Ehdr header;
    Elf64_Phdr *segments;
    Elf64_Shdr sections[8];
    char names[128];
    size_t names_size;
};

static size_t put(struct file *f, const void *bytes, size_t size)
{
    const size_t at = f->size;
    f->size += (size + 7) & ~(size_t)7;
    if (f->size > f->room)
        f->bytes = realloc(f->bytes, f->room = 2 * f->size);
    assert_non_null(f->bytes);
    memset(f->bytes + at, 0, f->size - at);
    if (bytes)
        memcpy(f->bytes + at, bytes, size);
    return at;
}

static Elf64_Shdr *add(struct file *f, const char *name, uint32_t type, const void *bytes, size_t size)
{
    Elf64_Shdr *s = &f->sections[f->header.e_shnum++];
    *s = (Elf64_Shdr){ .sh_name = (uint32_t)f->names_size, .sh_type = type, .sh_size = size };
    s->sh_offset = put(f, bytes, size);
    s->sh_addr = ADDRESS + s->sh_offset;
    memcpy(f->names + f->names_size, name, strlen(name) + 1);
    f->names_size += strlen(name) + 1;
    return s;
}

static void begin(struct file *f)
{
    memset(f, 0, sizeof *f);
    f->header = (Elf64_Ehdr){ .e_ident = ELFMAG "\2\1\1",
                              .e_type = ET_DYN,
                              .e_machine = EM_X86_64,
                              .e_version = EV_CURRENT,
                              .e_ehsize = sizeof(Elf64_Ehdr),
                              .e_phentsize = sizeof(Elf64_Phdr),
                              .e_shentsize = sizeof(Elf64_Shdr),
                              .e_entry = ADDRESS };
    put(f, NULL, HEADS);
    add(f, "", SHT_NULL, NULL, 0);
}

/* One segment of code over everything, and `more` like `like`. */
static void end(struct file *f, Elf64_Phdr like, uint16_t more)
{
    Elf64_Phdr code = { PT_LOAD, PF_R | PF_X, 0, ADDRESS, ADDRESS, 0, 0, 4096 };
    add(f, ".names", SHT_STRTAB, NULL, 128);
    memcpy(f->bytes + f->sections[f->header.e_shnum - 1].sh_offset, f->names, sizeof f->names);
    f->header.e_shstrndx = f->header.e_shnum - 1;
    f->header.e_shoff = put(f, f->sections, f->header.e_shnum * sizeof *f->sections);
    f->header.e_phnum = (uint16_t)(1 + more);
    f->header.e_phoff = put(f, NULL, f->header.e_phnum * sizeof code);
    code.p_filesz = code.p_memsz = f->size;
    memcpy(f->bytes + f->header.e_phoff, &code, sizeof code);
    like.p_filesz = like.p_memsz = f->size - like.p_offset;
    for (uint16_t i = 1; i <= more; i++)
        memcpy(f->bytes + f->header.e_phoff + i * sizeof like, &like, sizeof like);
    memcpy(f->bytes, &f->header, sizeof f->header);
}

/* .eh_frame: a CIE, and as many FDEs, of code at `begin` of each. */
static const uint8_t cie[] = { 20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 3, 0x0c, 7, 8, 0x90, 1, 0, 0 };
static size_t make_frame(uint32_t **made, size_t count, void (*code)(size_t n, size_t count, uint32_t *fde))
{
    enum { WORDS = 5 };
    uint32_t *words = calloc(sizeof cie / 4 + WORDS * count + 1, 4);
    assert_non_null(words);
    memcpy(words, cie, sizeof cie);
    uint32_t *at = words + sizeof cie / 4;
    for (size_t n = 0; n < count; n++, at += WORDS) {
        at[0] = 4 * (WORDS - 1);
        at[1] = (uint32_t)((const char *)(at + 1) - (const char *)words);
        code(n, count, at + 2);
    }
    *made = words;
    return (size_t)((const char *)(at + 1) - (const char *)words);
}

/* Each in all before it; or one behind the other, more than there is of the file. */
enum { APART = 20, MUCH = 32 };
static void nested(size_t n, size_t count, uint32_t *fde)
{
    fde[0] = (uint32_t)(ADDRESS + n);
    fde[1] = (uint32_t)(APART * (count - n));
}

static void in_a_row(size_t n, size_t count, uint32_t *fde)
{
    (void)count;
    fde[0] = (uint32_t)(ADDRESS + MUCH * n);
    fde[1] = MUCH;
}

static void add_records(struct file *f, size_t count, void (*code)(size_t n, size_t count, uint32_t *fde))
{
    uint32_t *words;
    const size_t size = make_frame(&words, count, code);
    add(f, ".eh_frame", SHT_PROGBITS, words, size);
    free(words);
}

/* ---- in linear time ---- */

static void of_dynamic(struct file *f, size_t size)
{
    uint64_t row[2] = { DT_DEBUG, 0 };
    begin(f);
    for (size_t i = 0; i < 8 * size; i++)
        put(f, row, sizeof row);
    end(f, (Elf64_Phdr){ .p_type = PT_DYNAMIC, .p_offset = HEADS }, (uint16_t)size);
}

static void of_segments(struct file *f, size_t size)
{
    begin(f);
    add_records(f, 8 * size, in_a_row);
    add(f, ".gnu_debugdata", SHT_PROGBITS, "none", 4);
    end(f, (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = ADDRESS }, (uint16_t)size);
}

static void of_symbols(struct file *f, size_t size)
{
    const size_t count = 32 * size;
    Elf64_Sym *symbols = calloc(count, sizeof *symbols);
    assert_non_null(symbols);
    begin(f);
    for (size_t n = 0; n < count; n++)
        symbols[n] = (Elf64_Sym){ 1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, ADDRESS + n, APART * (count - n) };
    Elf64_Shdr *table = add(f, ".symtab", SHT_SYMTAB, symbols, count * sizeof *symbols);
    table->sh_link = f->header.e_shnum;
    add(f, ".strtab", SHT_STRTAB, "\0nested\0", 8);
    end(f, (Elf64_Phdr){ 0 }, 0);
    free(symbols);
}

static void of_records(struct file *f, size_t size)
{
    begin(f);
    add_records(f, 32 * size, nested);
    end(f, (Elf64_Phdr){ 0 }, 0);
}

static void of_no_records(struct file *f, size_t size)
{
    begin(f);
    Elf64_Shdr *s = add(f, ".eh_frame", SHT_PROGBITS, NULL, sizeof cie * 32 * size + 8);
    for (size_t n = 0; n < 32 * size; n++)
        memcpy(f->bytes + s->sh_offset + n * sizeof cie, cie, sizeof cie);
    end(f, (Elf64_Phdr){ 0 }, 0);
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct times {
    uint64_t add, look_up;
};

/*
 * Half of what quadratic would take is left to the processor's caches. A busy machine makes times longer, by chance and
 * never five times in a row: what was once seen to be linear is.
 */
static void assert_linear(uint64_t (*cost)(size_t count), size_t little, unsigned times)
{
    double ratio = 0;
    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        const uint64_t once = cost(little);
        ratio = (double)cost(little * times) / (double)once;
        if (ratio <= times * times / 2.0)
            return;
    }
    fail_msg("%u times as much takes %.1f times as long", times, ratio);
}

/* To add it, and to look up, in tables and names, the last address that any of so many of its records may cover. */
static struct times ask(const struct file *f, const char *path, uint64_t last)
{
    enum { LOOK_UPS = 500 };
    static struct sw_cfi_work work;
    struct sw_images *images;
    struct times t;
    char name[16];
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    const uint64_t begin = now();
    assert_int_equal(sw_images_add_file(images, path, ADDRESS), SW_OK);
    (void)!sw_images_name(images, ADDRESS, name, sizeof name, NULL);
    t.add = now() - begin;
    const struct sw_image_entry *entry = sw_images_entry(images, ADDRESS + f->size - 1);
    for (unsigned i = 0; i < LOOK_UPS; i++) {
        struct sw_rule rule;
        if (entry->has_cfi)
            (void)!sw_cfi_rule(&entry->cfi, ADDRESS + last, &work, &rule, NULL);
        (void)!sw_images_name(images, ADDRESS + last, name, sizeof name, NULL);
    }
    t.look_up = now() - begin - t.add;
    sw_images_destroy(images);
    return t;
}

static struct times best_of(void (*make)(struct file *f, size_t size), size_t size)
{
    char path[] = "/tmp/snapwalk-cost-XXXXXX";
    struct times best = { UINT64_MAX, UINT64_MAX };
    struct file f;
    make(&f, size);
    const int fd = mkstemp(path);
    assert_int_equal(write(fd, f.bytes, f.size), f.size);
    close(fd);
    for (unsigned i = 0; i < ROUNDS; i++) {
        const struct times t = ask(&f, path, APART * 32 * size - 1);
        best.add = t.add < best.add ? t.add : best.add;
        best.look_up = t.look_up < best.look_up ? t.look_up : best.look_up;
    }
    unlink(path);
    free(f.bytes);
    return best;
}

static const struct linear {
    const char *name;
    void (*make)(struct file *f, size_t size);
} linears[] = {
    { "headers_that_each_lead_to_everything", of_dynamic },
    { "segments_of_code_that_are_covered", of_segments },
    { "symbols_in_each_other", of_symbols },
    { "records_in_each_other", of_records },
    { "table_without_records", of_no_records },
};

/* To add it may take as assert_linear has it; look-ups take as long, or linear 8 times. */
static void cost_is_linear(void **state)
{
    const struct linear *row = *state;
    double add = 0, look_up = 0;
    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        const struct times little = best_of(row->make, 256), much = best_of(row->make, 256 * TIMES);
        add = (double)much.add / (double)little.add;
        look_up = (double)much.look_up / (double)little.look_up;
        print_message("%d times as much: adding %.1f, look-ups %.1f times as long\n", TIMES, add, look_up);
        if (add <= (double)(TIMES * TIMES) / 2 && look_up <= (double)TIMES / 2)
            return;
    }
    fail_msg("%d times as much: adding %.1f, look-ups %.1f times as long", TIMES, add, look_up);
}

static uint64_t bytes_asked, bytes_held;

static void *get(void *arg, size_t size)
{
    (void)arg;
    bytes_asked += size;
    bytes_held += size;
    return malloc(size);
}

static void give_back(void *arg, void *block, size_t size)
{
    (void)arg;
    bytes_held -= size;
    free(block);
}

/* ---- metadata of .NET ---- */

static void put_number(uint8_t **to, uint64_t value, unsigned size)
{
    for (; size > 0; size--, value >>= 8)
        *(*to)++ = (uint8_t)value;
}

/* So many types with one name, which is the longer the more there are. */
static uint64_t find_type_among(size_t types)
{
    enum { TABLES_AT = 64, TYPE_DEF = 2, ASSEMBLY = 32, TYPE_ROW = 18, ASSEMBLY_ROW = 26, NAME_AT = 3 };
    const size_t strings_at = 256 + TYPE_ROW * types, strings = 64 * types, size = strings_at + strings;
    uint8_t *root = calloc(size, 1), *at = root;
    uint64_t best = UINT64_MAX;
    uint32_t first, end;
    assert_non_null(root);
    put_number(&at, 0x424a5342, 4);
    put_number(&at, 0, 8);
    put_number(&at, 4, 4);
    put_number(&at, 0, 4 + 2);
    put_number(&at, 2, 2);
    put_number(&at, TABLES_AT, 4);
    put_number(&at, strings_at - TABLES_AT, 4);
    memcpy(at, "#~\0", 4);
    at += 4;
    put_number(&at, strings_at, 4);
    put_number(&at, strings, 4);
    memcpy(at, "#Strings", 8);
    at = root + TABLES_AT;
    put_number(&at, 0, 6);
    put_number(&at, 1, 2); /* indices into strings have 4 bytes */
    put_number(&at, UINT64_C(1) << TYPE_DEF | UINT64_C(1) << ASSEMBLY, 8);
    put_number(&at, 0, 8);
    put_number(&at, types, 4);
    put_number(&at, 1, 4);
    for (size_t n = 0; n < types; n++) {
        put_number(&at, 0, 4);
        put_number(&at, NAME_AT, 4);
        put_number(&at, 0, TYPE_ROW - 8);
    }
    put_number(&at, 0, 18);
    put_number(&at, 1, 4); /* the assembly's name, "a" */
    memcpy(root + strings_at, "\0a", 3);
    memset(root + strings_at + NAME_AT, 'a', strings - NAME_AT - 1);
    for (unsigned i = 0; i < ROUNDS; i++) {
        const uint64_t begin = now();
        assert_int_equal(sw_clr_metadata_type((struct sw_bytes){ root, size, 0 }, "a", "b", "aa", &first, &end),
                         SW_E_NOT_FOUND);
        const uint64_t took = now() - begin;
        best = took < best ? took : best;
    }
    free(root);
    return best;
}

static void types_that_share_a_long_name_are_read_once(void **state)
{
    (void)state;
    assert_linear(find_type_among, 1000, TIMES);
}

/* A number of 4 bytes at an offset. */
static void put_at(uint8_t *image, size_t at, uint64_t value)
{
    uint8_t *to = image + at;
    put_number(&to, value, 4);
}

/* A composite ReadyToRun image of so many components, which share one list of as many sections. */
static uint64_t open_components(size_t count)
{
    enum { HEAD = 0x80, OPTIONAL = HEAD + 24, SECTION = OPTIONAL + 240, CODE = 0x400, RVA = 0x1000, CLI = RVA };
    enum { RTR = CLI + 80, FUNCTIONS = RTR + 64, COMPONENTS = FUNCTIONS + 16, ENTRY = 16, LISTED = 12 };
    const uint32_t all = (uint32_t)count, core = COMPONENTS + ENTRY * all, core_size = 8 + LISTED * all;
    const size_t stored = core - RVA + core_size, size = CODE + stored;
    const struct sw_alloc alloc = { get, give_back, NULL };
    struct sw_clr_image opened;
    struct sw_pe pe;
    uint64_t best = UINT64_MAX;
    uint8_t *image = calloc(size, 1);
    assert_non_null(image);
    uint8_t *code = image + CODE - RVA;
    const uint32_t fields[][2] = { { 0, 0x5a4d },
                                   { 60, HEAD },
                                   { HEAD, 0x4550 },
                                   { HEAD + 4, 0x00018664 },
                                   { HEAD + 20, 240 },
                                   { OPTIONAL, 0x20b },
                                   { OPTIONAL + 56, RVA + (uint32_t)stored },
                                   { OPTIONAL + 60, CODE },
                                   { OPTIONAL + 108, 16 },
                                   { OPTIONAL + 112 + 8 * 14, CLI },
                                   { OPTIONAL + 116 + 8 * 14, 72 },
                                   { SECTION + 8, (uint32_t)stored },
                                   { SECTION + 12, RVA },
                                   { SECTION + 16, (uint32_t)stored },
                                   { SECTION + 20, CODE } };
    const uint32_t header[] = { 0x00525452, 16, 0, 2, 102, FUNCTIONS, 12, 115, COMPONENTS, ENTRY * all };
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        put_at(image, fields[i][0], fields[i][1]);
    put_at(code, CLI + 64, RTR);
    for (size_t i = 0; i < COUNT_OF(header); i++)
        put_at(code, RTR + 4 * i, header[i]);
    for (uint32_t i = 0; i < all; i++) {
        put_at(code, COMPONENTS + ENTRY * i + 8, core);
        put_at(code, COMPONENTS + ENTRY * i + 12, core_size);
    }
    put_at(code, core + 4, count);
    assert_int_equal(sw_pe_open((struct sw_bytes){ image, size, 0 }, false, &pe), SW_OK);
    for (unsigned i = 0; i < ROUNDS; i++) {
        const uint64_t begin = now();
        assert_int_equal(sw_clr_image_open(&pe, &alloc, &opened), SW_E_MALFORMED);
        const uint64_t took = now() - begin;
        best = took < best ? took : best;
    }
    free(image);
    return best;
}

static void components_that_share_a_list_are_refused(void **state)
{
    (void)state;
    assert_linear(open_components, 1000, TIMES);
}

/* ---- no more than what is stored is worth ---- */

static enum sw_status open_sparse(uint64_t size)
{
    char path[] = "/tmp/snapwalk-cost-XXXXXX";
    struct sw_elf *elf;
    struct file f;
    begin(&f);
    end(&f, (Elf64_Phdr){ 0 }, 0);
    const int fd = mkstemp(path);
    assert_int_equal(write(fd, f.bytes, f.size), f.size);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    close(fd);
    const enum sw_status status = sw_elf_open(path, &elf);
    sw_elf_close(elf);
    unlink(path);
    free(f.bytes);
    return status;
}

static void file_of_holes_is_refused(void **state)
{
    (void)state;
    assert_int_equal(open_sparse(SW_FILE_HOLES_FREE), SW_OK);
    assert_int_equal(open_sparse(SW_FILE_HOLES_FREE + 4096), SW_E_LIMIT);
    assert_int_equal(open_sparse(UINT64_C(1) << 40), SW_E_LIMIT);
}

/* A core whose headers, or whose notes, are said to be in a hole of 16 GiB. What is looked at is in memory then. */
static long kib_of_sparse_core(bool is_notes)
{
    enum { HOLE_AT = 1 << 12 };
    const uint64_t size = UINT64_C(1) << 34;
    const Elf64_Phdr notes = { .p_type = PT_NOTE, .p_offset = HOLE_AT, .p_filesz = size - HOLE_AT };
    const Elf64_Shdr first = { .sh_info = is_notes ? 1 : UINT32_MAX };
    const Elf64_Ehdr header = { .e_ident = ELFMAG "\2\1\1",
                                .e_type = ET_CORE,
                                .e_machine = EM_X86_64,
                                .e_phoff = is_notes ? 256 : HOLE_AT,
                                .e_shoff = 128,
                                .e_phentsize = sizeof notes,
                                .e_phnum = PN_XNUM };
    char path[] = "/tmp/snapwalk-cost-XXXXXX";
    struct rusage before, after;
    struct sw_core *core;
    const int fd = mkstemp(path);
    assert_int_equal(pwrite(fd, &header, sizeof header, 0), sizeof header);
    assert_int_equal(pwrite(fd, &first, sizeof first, 128), sizeof first);
    assert_int_equal(pwrite(fd, &notes, sizeof notes, 256), sizeof notes);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    close(fd);
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    assert_int_equal(sw_core_open(NULL, path, &core), SW_OK);
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    sw_core_close(core);
    unlink(path);
    return after.ru_maxrss - before.ru_maxrss; /* KiB */
}

static void core_of_holes_costs_little(void **state)
{
    (void)state;
    HOST_NEEDS(host_can_trace(), "memory of its own to be counted: an emulator's is its guest's, too");
    assert_true(kib_of_sparse_core(true) < 8 << 10);
    assert_true(kib_of_sparse_core(false) < 64 << 10);
}

/* A section that claims to hold so much, as far as deflate could. */
static enum sw_status inflate(uint64_t claimed, size_t stored)
{
    struct sw_elf *elf;
    struct sw_bytes bytes;
    struct file f;
    begin(&f);
    uint8_t *packed = calloc(stored, 1);
    const Elf64_Chdr head = { ELFCOMPRESS_ZLIB, 0, claimed, 1 };
    memcpy(packed, &head, sizeof head);
    add(&f, ".debug_frame", SHT_PROGBITS, packed, stored)->sh_flags = SHF_COMPRESSED;
    end(&f, (Elf64_Phdr){ 0 }, 0);
    assert_int_equal(sw_elf_open_bytes((struct sw_bytes){ f.bytes, f.size, 0 }, &elf), SW_OK);
    const enum sw_status status = sw_elf_section(elf, ".debug_frame", &bytes);
    sw_elf_close(elf);
    free(packed);
    free(f.bytes);
    return status;
}

static void section_is_inflated_as_far_as_it_is_worth(void **state)
{
    (void)state;
    enum { STORED = 1 << 16 };
    const uint64_t most = SW_FILE_FREE + SW_FILE_COST * (uint64_t)STORED;
    assert_int_equal(inflate(most, STORED), SW_E_MALFORMED); /* it is no deflate stream */
    assert_int_equal(inflate(most + SW_FILE_COST * 4096, STORED), SW_E_LIMIT);
    assert_int_equal(inflate(1000 * (uint64_t)STORED, STORED), SW_E_LIMIT);
}

/*
 * No memory is left for libelf, which takes as much again: that is not the file's fault. Address space cannot be
 * limited under AddressSanitizer, which reserves it.
 */
static void no_memory_in_libelf_is_not_malformed(void **state)
{
    (void)state;
    enum { STORED = 1 << 20, CLAIMED = 6 << 20, LEFT = 11 << 20 };
    unsigned long pages = 0;
    struct rlimit limit, less;
    FILE *statm = fopen("/proc/self/statm", "r");
    assert_non_null(statm);
    assert_int_equal(fscanf(statm, "%lu", &pages), 1);
    fclose(statm);
    HOST_NEEDS(pages <= UINT64_C(1) << 28, "an address space without a sanitizer's shadow");
    HOST_NEEDS(host_can_trace(), "limits of memory: emulators have none");
    assert_int_equal(inflate(CLAIMED, STORED), SW_E_MALFORMED);
    assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
    less = limit;
    less.rlim_cur = (rlim_t)pages * 4096 + LEFT;
    assert_int_equal(setrlimit(RLIMIT_AS, &less), 0);
    const enum sw_status status = inflate(CLAIMED, STORED);
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    assert_int_equal(status, SW_E_NO_MEMORY);
}

/* ---- many mappings of one file ---- */

/* A refresh finds so many, the next the same, the third none; what is asked for is memory, and time in the second. */
static uint64_t refresh_thrice(size_t count)
{
    static const char origin;
    const struct sw_alloc alloc = { get, give_back, NULL };
    struct sw_images *images;
    uint64_t end = 0, best = UINT64_MAX;
    bytes_asked = 0;
    assert_int_equal(sw_images_create(&alloc, &images), SW_OK);
    assert_int_equal(sw_images_lock(images), SW_OK);
    for (size_t n = 0; n < count; n++) {
        struct sw_image_entry *entry = sw_images_make(images, "file");
        entry->info.begin = ADDRESS + n * 0x1000;
        entry->info.end = entry->info.begin + 0x800;
        entry->origin = &origin;
        assert_int_equal(sw_images_insert(images, entry), SW_OK);
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        const uint64_t begin = now();
        sw_images_mark(images, &origin);
        for (size_t n = 0; n < count; n++) {
            const struct sw_image_file file = { .path = "file", .address = ADDRESS + n * 0x1000, .origin = &origin };
            assert_true(sw_images_keep(images, &file, &end));
        }
        const uint64_t took = now() - begin;
        best = took < best ? took : best;
    }
    sw_images_mark(images, &origin);
    assert_int_equal(sw_images_sweep(images, &origin), SW_OK);
    assert_null(sw_images_at(images, 0));
    sw_images_unlock(images);
    sw_images_destroy(images);
    return best;
}

static void many_mappings_of_one_file_cost_the_same_each(void **state)
{
    (void)state;
    enum { FEW = 512, MANY = 1 << 14, ROW = 24 };
    assert_linear(refresh_thrice, FEW, MANY / FEW); /* the few are in the processor's cache, the many are not */
    assert_true(bytes_asked < MANY * (sizeof(struct sw_image_entry) + 8 + 8 * ROW));
}

/* ELF files lie in a mapping each, beside what the allocator gave. */
static unsigned maps_of_this_process(void)
{
    unsigned lines = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    assert_non_null(file);
    for (int c; (c = getc(file)) != EOF;)
        lines += c == '\n';
    fclose(file);
    return lines;
}

struct shared {
    uint64_t bytes, ns;
    unsigned maps;
};

enum { STRIDE = 1 << 20, RECORDS = 256 };

static bool has_rule(const struct sw_images *images, uint64_t pc)
{
    static struct sw_cfi_work work;
    const struct sw_image_entry *entry = sw_images_entry(images, pc);
    struct sw_cfi_cover cover = { 0 };
    struct sw_rule rule;
    return entry && entry->has_cfi && sw_cfi_rule(&entry->cfi, pc, &work, &rule, &cover) == SW_OK &&
           cover.begin <= pc && pc < cover.end && entry->cfi.index_count == 32 * RECORDS;
}

/* So many mappings of one file, of which the first is removed again; each of the others has its tables. */
static struct shared map_often(const char *path, size_t count)
{
    const struct sw_alloc alloc = { get, give_back, NULL };
    const unsigned maps = maps_of_this_process();
    struct sw_images *images;
    struct shared is;
    char name[16];
    bytes_held = 0;
    const uint64_t begin = now();
    assert_int_equal(sw_images_create(&alloc, &images), SW_OK);
    for (size_t n = 0; n <= count; n++)
        assert_int_equal(sw_images_add_file(images, path, ADDRESS + n * STRIDE), SW_OK);
    is.ns = now() - begin;
    assert_int_equal(sw_images_remove(images, ADDRESS), SW_OK);
    is.maps = maps_of_this_process() - maps;
    is.bytes = bytes_held;
    for (size_t n = 1; n <= count; n++)
        assert_true(has_rule(images, ADDRESS + n * STRIDE + n % ((32 * RECORDS) / 2) * MUCH));
    assert_int_equal(sw_images_name(images, ADDRESS + STRIDE, name, sizeof name, NULL), SW_E_NOT_FOUND);
    sw_images_destroy(images);
    assert_int_equal(bytes_held, 0);
    return is;
}

static char often[sizeof "/tmp/snapwalk-cost-XXXXXX"];

static uint64_t time_to_map(size_t count)
{
    return map_often(often, count).ns;
}

static void mappings_share_what_is_made_of_their_file(void **state)
{
    (void)state;
    enum { MANY = 16000, EACH = sizeof(struct sw_image_entry) + 32 + 2 * 24 };
    struct file f;
    begin(&f);
    add_records(&f, 32 * RECORDS, in_a_row);
    end(&f, (Elf64_Phdr){ 0 }, 0);
    memcpy(often, "/tmp/snapwalk-cost-XXXXXX", sizeof often);
    const int fd = mkstemp(often);
    assert_int_equal(write(fd, f.bytes, f.size), f.size);
    close(fd);
    const struct shared one = map_often(often, 1), some = map_often(often, 100), many = map_often(often, MANY);
    assert_linear(time_to_map, MANY / TIMES, TIMES);
    unlink(often);
    free(f.bytes);
    print_message("1, 100, %d mappings of %zu bytes: %llu, %llu, %llu KiB\n", MANY, f.size,
                  (unsigned long long)one.bytes >> 10, (unsigned long long)some.bytes >> 10,
                  (unsigned long long)many.bytes >> 10);
    assert_true(one.bytes > 32 * RECORDS * sizeof(struct sw_cfi_entry));
    assert_true(some.bytes <= one.bytes + 100 * EACH && many.bytes <= one.bytes + MANY * EACH);
    assert_true(many.maps <= one.maps + 64); /* what malloc maps for itself */
}

/* What came to nothing is kept until the writer is done. */
static void bad_file_is_looked_at_once_in_a_refresh(void **state)
{
    (void)state;
    enum { MANY = 1000 };
    const struct sw_alloc alloc = { get, give_back, NULL };
    char path[] = "/tmp/snapwalk-cost-XXXXXX";
    struct sw_images *images;
    struct file f;
    begin(&f);
    end(&f, (Elf64_Phdr){ 0 }, 0);
    const int fd = mkstemp(path);
    assert_int_equal(write(fd, f.bytes, 100), 100); /* it has no segments any more */
    close(fd);
    assert_int_equal(sw_images_create(&alloc, &images), SW_OK);
    assert_int_equal(sw_images_lock(images), SW_OK);
    bytes_asked = 0;
    for (size_t n = 0; n < MANY; n++) {
        const struct sw_image_file file = { .open_path = path, .path = path, .address = ADDRESS + n * STRIDE };
        assert_int_not_equal(sw_images_put_file(images, &file, NULL), SW_OK);
    }
    assert_true(bytes_asked <= sizeof(struct sw_image_original) + MANY * (sizeof(struct sw_image_entry) + 64));
    sw_images_unlock(images);
    sw_images_destroy(images);
    unlink(path);
    free(f.bytes);
}

/* ---- intervals ---- */

struct row {
    uint64_t begin, end, reach, value;
};

static bool is_before(const void *a, const void *b)
{
    return ((const struct row *)a)->begin < ((const struct row *)b)->begin;
}

/* Against a search through all of them, in small numbers of every kind of overlap. */
static void intervals_are_found_as_by_looking_at_all(void **state)
{
    (void)state;
    enum { MOST = 40, SPAN = 64 };
    srand(1);
    for (unsigned round = 0; round < 2000; round++) {
        struct row rows[MOST];
        const struct sw_intervals all = { rows, (size_t)rand() % MOST, sizeof *rows };
        for (size_t n = 0; n < all.count; n++) {
            const uint64_t begin = (uint64_t)rand() % SPAN;
            rows[n] = (struct row){ begin, begin + (uint64_t)rand() % (SPAN >> rand() % 6), 0, n };
        }
        sw_intervals_sort(&all, is_before);
        sw_intervals_link(&all);
        for (size_t n = 1; n < all.count; n++)
            assert_true(rows[n - 1].begin <= rows[n].begin);
        for (uint64_t at = 0; at < 2 * SPAN; at++) {
            size_t expected = all.count;
            for (size_t n = 0; n < all.count; n++)
                expected = rows[n].begin <= at && at < rows[n].end ? n : expected;
            assert_int_equal(sw_intervals_find(&all, at), expected);
        }
    }
}

static bool is_before_or_of_less(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return x->begin != y->begin ? x->begin < y->begin : x->value < y->value;
}

/* Begins that differ in any of their bytes, many alike. Each row has a value of its own, so that there is one order. */
static void many_intervals_are_sorted(void **state)
{
    (void)state;
    enum { MOST = 3000 };
    static struct row rows[MOST];
    srand(2);
    for (unsigned shift = 0; shift < 60; shift += 3)
        for (uint64_t span = 1; span < 1 << 20; span *= 32) {
            const struct sw_intervals all = { rows, MOST, sizeof *rows };
            for (size_t n = 0; n < MOST; n++)
                rows[n] = (struct row){ ((uint64_t)rand() % span << shift) + 5, 0, 0, n * 1619 % MOST };
            sw_intervals_sort(&all, is_before_or_of_less);
            uint64_t sum = rows[0].value;
            for (size_t n = 1; n < MOST; n++, sum += rows[n - 1].value)
                assert_true(is_before_or_of_less(&rows[n - 1], &rows[n]));
            assert_int_equal(sum, (uint64_t)MOST * (MOST - 1) / 2);
        }
}

static void the_first_interval_above_is_found_as_by_looking_at_all(void **state)
{
    (void)state;
    enum { MOST = 40 };
    struct row rows[MOST];
    for (size_t count = 0; count <= MOST; count++) {
        for (size_t i = 0; i < count; i++)
            rows[i] = (struct row){ .begin = 4 * i + 1, .end = 4 * i + 3 + i % 2 * 2 };
        for (uint64_t at = 0; at < 4 * count + 4; at++) {
            size_t expected = 0;
            while (expected < count && rows[expected].end <= at)
                expected++;
            assert_int_equal(sw_intervals_above(rows, sizeof *rows, count, at), expected);
        }
    }
    assert_int_equal(sw_intervals_above(NULL, sizeof *rows, 0, 7), 0);
}

static const struct CMUnitTest single[] = {
    cmocka_unit_test(file_of_holes_is_refused),
    cmocka_unit_test(core_of_holes_costs_little),
    cmocka_unit_test(section_is_inflated_as_far_as_it_is_worth),
    cmocka_unit_test(no_memory_in_libelf_is_not_malformed),
    cmocka_unit_test(types_that_share_a_long_name_are_read_once),
    cmocka_unit_test(components_that_share_a_list_are_refused),
    cmocka_unit_test(many_mappings_of_one_file_cost_the_same_each),
    cmocka_unit_test(mappings_share_what_is_made_of_their_file),
    cmocka_unit_test(bad_file_is_looked_at_once_in_a_refresh),
    cmocka_unit_test(intervals_are_found_as_by_looking_at_all),
    cmocka_unit_test(many_intervals_are_sorted),
    cmocka_unit_test(the_first_interval_above_is_found_as_by_looking_at_all),
};

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(single) + COUNT_OF(linears)];
    size_t n = COUNT_OF(single);
    memcpy(tests, single, sizeof single);
    ADD_ROWS(tests, n, linears, cost_is_linear);
    return _cmocka_run_group_tests("file_cost", tests, n, NULL, NULL);
}
