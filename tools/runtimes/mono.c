/*
 * Knows how mono finds a method by its code: each domain has a table of chunks, sorted by where their code ends, of
 * MonoJitInfo, which lead to MonoMethod and MonoClass. Code that was compiled ahead of time is in files, with symbols.
 * What classes and types are called: mono_types.c.
 *
 * Source: mono 6.8, metadata/domain-internals.h (MonoJitInfoTable, MonoJitInfoTableChunk), metadata/jit-info.c,
 * metadata/class-internals.h, metadata/wrapper-types.h; which member of the domain it is shows what it points to, a
 * table that points back.
 */
#include "mono.h"

#include "mono_types.h"
#include "peek.h"

#include <snapwalk/names.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOMAIN_BYTES = 1024, TABLE_CHUNK_COUNT = 8, TABLE_CHUNKS = 16, CHUNKS_MOST = 1 << 16 };
enum { CHUNK_COUNT = 4, CHUNK_END = 8, CHUNK_INFOS = 24, INFOS_MOST = 64, CODE_BYTES_MOST = 1 << 24 };
enum { INFO_METHOD = 0, INFO_FLAGS = 7 /* behind the size */, NOT_A_METHOD = 0x12 /* trampoline, not compiled yet */ };
enum { METHOD_BITS = 32, WRAPPER_SHIFT = 2, WRAPPER_MASK = 31, PART_BYTES = 512, PATH_BYTES = 4096 };
enum { LIST_CODE_BYTES = 192, DOMAINS_MOST = 256 };

/* Offsets of members, as the functions that return them have them. */
struct offsets {
    uint8_t info_code, info_size, image_path;
    struct mono_places type;
};

/* list, list_count: where the pointer to all domains is, and how many there is room for; 0: only the root is known. */
struct mono {
    struct sw_memory memory;
    uint64_t domain, table, list, list_count; /* table: where a domain has it */
    struct offsets at;
};

/* `mov disp8(%rdi),%rax` or `%eax`; `ret`. A class's name and namespace follow its image. */
static const struct getter {
    const char *function;
    size_t where;
} getters[] = {
    { "mono_jit_info_get_code_start", offsetof(struct offsets, info_code) },
    { "mono_jit_info_get_code_size", offsetof(struct offsets, info_size) },
    { "mono_method_get_class", offsetof(struct offsets, type.method_class) },
    { "mono_method_get_name", offsetof(struct offsets, type.method_name) },
    { "mono_class_get_nesting_type", offsetof(struct offsets, type.class_outer) },
    { "mono_class_get_image", offsetof(struct offsets, type.class_image) },
    { "mono_image_get_name", offsetof(struct offsets, image_path) },
};
enum { GETTERS = sizeof getters / sizeof getters[0] };

/*
 * By MonoWrapperType: those whose number is certain, as their texts follow each other in the program, or as seen.
 * Others are wrappers, too.
 */
static const char *const wrappers[WRAPPER_MASK + 1] = {
    [1] = " delegate-invoke",     [2] = " delegate-begin-invoke",
    [3] = " delegate-end-invoke", [4] = " runtime-invoke",
    [5] = " native-to-managed",   [6] = " managed-to-native",
    [7] = " managed-to-managed",  [9] = " remoting-invoke-with-check",
    [10] = " xdomain-invoke",     [11] = " xdomain-dispatch",
    [14] = " synchronized",       [15] = " dynamic-method",
};

static bool word(const struct mono *m, uint64_t address, uint64_t offset, uint64_t *value)
{
    return address && peek(&m->memory, address + offset, value, sizeof *value);
}

static bool number(const struct mono *m, uint64_t address, uint64_t offset, uint32_t *value)
{
    return address && peek(&m->memory, address + offset, value, sizeof *value);
}

/* ---- opening ---- */

/* The first bytes of a function, behind what only marks where a jump may lead (endbr64). */
static bool code_of(struct sw_images *images, const struct sw_memory *memory, const char *function, uint8_t code[8],
                    uint64_t *address)
{
    static const uint8_t mark[] = { 0xf3, 0x0f, 0x1e, 0xfa };
    if (sw_images_symbol(images, function, address) != SW_OK || !peek(memory, *address, code, 8))
        return false;
    if (memcmp(code, mark, sizeof mark) != 0)
        return true;
    *address += sizeof mark;
    return peek(memory, *address, code, 8);
}

static bool find_offset(struct sw_images *images, const struct sw_memory *memory, const struct getter *getter,
                        struct offsets *offsets)
{
    uint8_t code[8];
    uint64_t address;
    if (!code_of(images, memory, getter->function, code, &address))
        return false;
    const uint8_t *load = code + (code[0] == 0x48);
    if (load[0] != 0x8b || load[1] != 0x47 || load[3] != 0xc3)
        return false;
    memcpy((uint8_t *)offsets + getter->where, &load[2], 1);
    return true;
}

/* `mov disp32(%rip),%rax; ret` */
static bool find_domain(struct mono *m, struct sw_images *images)
{
    uint8_t code[8];
    uint64_t address;
    int32_t distance;
    if (!code_of(images, &m->memory, "mono_get_root_domain", code, &address) || memcmp(code, "\x48\x8b\x05", 3) != 0 ||
        code[7] != 0xc3)
        return false;
    memcpy(&distance, code + 3, sizeof distance);
    return word(m, address + 7 + (uint64_t)(int64_t)distance, 0, &m->domain) && m->domain;
}

/* The domain's first word that points to a table of this domain. */
static bool find_table(struct mono *m)
{
    uint64_t words[DOMAIN_BYTES / 8], back;
    uint32_t count;
    if (!peek(&m->memory, m->domain, words, sizeof words))
        return false;
    for (size_t i = 0; i < DOMAIN_BYTES / 8; i++)
        if (words[i] && words[i] % 8 == 0 && word(m, words[i], 0, &back) && back == m->domain &&
            number(m, words[i], TABLE_CHUNK_COUNT, &count) && count > 0 && count <= CHUNKS_MOST) {
            m->table = 8 * i;
            return true;
        }
    return false;
}

static uint64_t target_of(uint64_t address, const uint8_t *instruction)
{
    int32_t distance;
    memcpy(&distance, instruction + 3, sizeof distance);
    return address + 7 + (uint64_t)(int64_t)distance;
}

/*
 * All domains: mono_domain_get_by_id has `movzwl count(%rip),%eax`, and then `mov list(%rip),%rax` right before
 * `mov (%rax,%reg,8),%reg`.
 */
static void find_list(struct mono *m, struct sw_images *images)
{
    uint8_t code[LIST_CODE_BYTES];
    uint64_t address, count = 0;
    if (sw_images_symbol(images, "mono_domain_get_by_id", &address) != SW_OK ||
        !peek(&m->memory, address, code, sizeof code))
        return;
    for (size_t i = 0; i + 11 <= sizeof code && !m->list; i++) {
        if (memcmp(code + i, "\x0f\xb7\x05", 3) == 0)
            count = target_of(address + i, code + i);
        if (count && memcmp(code + i, "\x48\x8b\x05", 3) == 0 && (code[i + 7] & 0xfa) == 0x48 && code[i + 8] == 0x8b &&
            (code[i + 9] & 0xc7) == 0x04 && (code[i + 10] & 0xc7) == 0xc0)
            m->list = target_of(address + i, code + i);
    }
    m->list_count = count;
}

/* `lea disp(%rdi),%rax; ret`. The offset stays 0 where it is another. */
static void find_class_type(struct mono *m, struct sw_images *images)
{
    uint8_t code[8];
    uint64_t address;
    if (!code_of(images, &m->memory, "mono_class_get_type", code, &address) || code[0] != 0x48 || code[1] != 0x8d)
        return;
    if (code[2] == 0x47 && code[4] == 0xc3)
        m->at.type.class_type = code[3];
    else if (code[2] == 0x87 && code[7] == 0xc3 && code[5] == 0 && code[6] == 0)
        m->at.type.class_type = code[3] | (uint32_t)code[4] << 8;
}

enum sw_status mono_open(struct sw_images *images, const struct sw_memory *memory, struct mono **mono)
{
    struct mono *m = calloc(1, sizeof *m);
    if (!m)
        return SW_E_NO_MEMORY;
    *m = (struct mono){ .memory = *memory };
    bool is_known = find_domain(m, images) && find_table(m);
    for (size_t i = 0; is_known && i < GETTERS; i++)
        is_known = find_offset(images, memory, &getters[i], &m->at);
    if (!is_known) {
        free(m);
        return SW_E_NOT_FOUND;
    }
    find_list(m, images);
    find_class_type(m, images);
    *mono = m;
    return SW_OK;
}

void mono_close(struct mono *mono)
{
    free(mono);
}

/* ---- code ---- */

/* The first chunk of a domain whose code ends behind the address; 0: none. */
static uint64_t find_chunk(const struct mono *m, uint64_t domain, uint64_t address)
{
    uint64_t table, found = 0, chunk, end;
    uint32_t low = 0, high;
    if (!word(m, domain, m->table, &table) || !number(m, table, TABLE_CHUNK_COUNT, &high) || high > CHUNKS_MOST)
        return 0;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (!word(m, table, TABLE_CHUNKS + 8 * (uint64_t)middle, &chunk) || !word(m, chunk, CHUNK_END, &end))
            return 0;
        if (end > address) {
            found = chunk;
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return found;
}

static bool read_info(const struct mono *m, uint64_t info, struct sw_range *code)
{
    uint64_t begin;
    uint32_t size;
    if (!word(m, info, m->at.info_code, &begin) || !number(m, info, m->at.info_size, &size) || size > CODE_BYTES_MOST)
        return false;
    *code = (struct sw_range){ .begin = begin, .end = begin + size, .id = info, .kind = SW_KIND_JIT };
    return code->begin < code->end;
}

static bool find_in(const struct mono *m, uint64_t domain, uint64_t address, struct sw_range *code)
{
    const uint64_t chunk = find_chunk(m, domain, address);
    uint64_t info;
    uint32_t low = 0, high;
    if (!number(m, chunk, CHUNK_COUNT, &high) || high > INFOS_MOST)
        return false;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (!word(m, chunk, CHUNK_INFOS + 8 * (uint64_t)middle, &info) || !read_info(m, info, code))
            return false;
        if (address >= code->begin && address < code->end)
            return true;
        if (code->end > address)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

/* A domain's table says which domain it is of. */
static bool is_domain(const struct mono *m, uint64_t domain)
{
    uint64_t table, back;
    return domain && word(m, domain, m->table, &table) && word(m, table, 0, &back) && back == domain;
}

/* Most code is the root domain's, which is that of the program. */
bool mono_find(void *mono, uint64_t address, struct sw_range *code)
{
    const struct mono *m = mono;
    uint64_t list, domain;
    uint16_t count;
    if (find_in(m, m->domain, address, code))
        return true;
    if (!m->list || !word(m, m->list, 0, &list) || !peek(&m->memory, m->list_count, &count, sizeof count))
        return false;
    for (uint16_t i = 0; i < count && i < DOMAINS_MOST; i++)
        if (word(m, list, 8 * (uint64_t)i, &domain) && domain != m->domain && is_domain(m, domain) &&
            find_in(m, domain, address, code))
            return true;
    return false;
}

/* ---- names ---- */

/* The file's name without its folder and its ending. */
static void write_module(const struct mono *m, uint64_t class, char *module)
{
    char path[PATH_BYTES];
    uint64_t image, text;
    module[0] = 0;
    if (!word(m, class, m->at.type.class_image, &image) || !word(m, image, m->at.image_path, &text) ||
        !peek_text(&m->memory, text, path, sizeof path))
        return;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    snprintf(module, MONO_NAME_BYTES, "%.*s", (int)(dot && dot > name ? dot - name : (ptrdiff_t)strlen(name)), name);
}

bool mono_name(const struct mono *m, uint64_t id, char *name, char *module)
{
    char method_name[PART_BYTES];
    uint64_t method, class, text;
    uint32_t bits;
    uint8_t flags;
    if (!peek(&m->memory, id + m->at.info_size + INFO_FLAGS, &flags, 1) || (flags & NOT_A_METHOD) ||
        !word(m, id, INFO_METHOD, &method) || !word(m, method, m->at.type.method_class, &class) ||
        !word(m, method, m->at.type.method_name, &text) || !number(m, method, METHOD_BITS, &bits) ||
        !peek_text(&m->memory, text, method_name, sizeof method_name) || !method_name[0])
        return false;
    const unsigned wrapper = bits >> WRAPPER_SHIFT & WRAPPER_MASK;
    struct mono_text t = { &m->memory, &m->at.type, name, MONO_NAME_BYTES, 0, 0 };
    mono_put(&t, wrapper ? "(wrapper" : "");
    mono_put(&t, wrappers[wrapper] ? wrappers[wrapper] : "");
    mono_put(&t, wrapper ? ") " : "");
    mono_put_class(&t, class);
    mono_put(&t, ":");
    mono_put(&t, method_name);
    mono_put_method_arguments(&t, method);
    mono_put_parameters(&t, method);
    write_module(m, class, module);
    return true;
}
