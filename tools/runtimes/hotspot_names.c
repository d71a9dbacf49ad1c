/*
 * Names the methods of compiled, inlined and interpreted frames. Knows the structures by hotspot_tables.h; the encoding
 * of scopes, of which no table tells, is written down here.
 *
 * Source: OpenJDK 17, src/hotspot/share/code/{pcDesc,scopeDesc,debugInfo,compressedStream}.hpp; cpu/x86/frame_x86.hpp.
 */
#include "hotspot_parts.h"

#include <stdio.h>
#include <string.h>

enum { DESCS_MOST = 1 << 16, METADATA_MOST = 1 << 20, SYMBOL_MOST = 1000 };

/* Words of an interpreted frame, from rbp. */
enum { METHOD = -3, BYTECODE = -8 };

/* A method's address and its bytecode's number + 1 in one number. */
enum { ADDRESS_BITS = 48 };
#define ADDRESS_MASK ((UINT64_C(1) << ADDRESS_BITS) - 1)

/* ---- methods ---- */

static bool get_symbol(const struct hotspot *h, uint64_t symbol, char *text, size_t size)
{
    uint16_t length;
    if (!peek(&h->memory, symbol + field_of(h, HOTSPOT_SYMBOL_LENGTH), &length, sizeof length) || length == 0)
        return false;
    const size_t kept = length < size - 1 ? length : size - 1;
    text[kept] = 0;
    return peek(&h->memory, symbol + field_of(h, HOTSPOT_SYMBOL_BODY), text, kept);
}

/* A method's constants: where its names are, and the class. */
static bool get_constants(const struct hotspot *h, uint64_t method, uint64_t *part, uint64_t *pool, uint64_t *holder)
{
    return get_word(h, method + field_of(h, HOTSPOT_METHOD_CONST), part) &&
           get_word(h, *part + field_of(h, HOTSPOT_CONST_POOL), pool) &&
           get_word(h, *pool + field_of(h, HOTSPOT_POOL_HOLDER), holder);
}

bool hotspot_constant(const struct hotspot *h, uint64_t pool, uint64_t index_at, char *text, size_t size)
{
    uint16_t index;
    uint64_t symbol;
    return peek(&h->memory, index_at, &index, sizeof index) && index &&
           get_word(h, pool + field_of(h, HOTSPOT_POOL_BYTES) + 8u * index, &symbol) &&
           get_symbol(h, symbol, text, size);
}

/* Names have slashes between their parts; in a hidden class's a plus stands before its address. */
static size_t put_class(char *to, size_t room, const char *from, size_t length)
{
    size_t used = 0;
    for (; used < length && used + 1 < room; used++)
        to[used] = from[used] == '/' ? '.' : from[used] == '+' ? '/' : from[used];
    to[used] = 0;
    return used;
}

static const char *primitive_name(char letter)
{
    static const struct {
        char letter;
        const char *name;
    } rows[] = { { 'Z', "boolean" }, { 'B', "byte" },  { 'C', "char" },   { 'S', "short" }, { 'I', "int" },
                 { 'J', "long" },    { 'F', "float" }, { 'D', "double" }, { 'V', "void" } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].letter == letter)
            return rows[i].name;
    return "?";
}

/* One type of a descriptor; returns what follows it. Source: JVM specification 17, 4.3.2. */
static const char *put_type(char *to, size_t room, const char *from)
{
    unsigned arrays = 0;
    size_t used;
    while (*from == '[') {
        arrays++;
        from++;
    }
    if (*from == 'L') {
        const size_t length = strcspn(++from, ";");
        used = put_class(to, room, from, length);
        from += length;
    } else {
        used = put_class(to, room, primitive_name(*from), strlen(primitive_name(*from)));
    }
    while (arrays-- && used + 3 < room)
        used += (size_t)snprintf(to + used, room - used, "[]");
    return *from ? from + 1 : from;
}

/* "(ILjava/lang/String;)V" as "(int, java.lang.String)". */
static void put_parameters(char *to, size_t room, const char *signature)
{
    size_t used = 0;
    const char *from = signature + (*signature == '(');
    if (room < 16)
        return;
    to[used++] = '(';
    while (*from && *from != ')' && used + 16 < room) {
        if (used > 1)
            used += (size_t)snprintf(to + used, room - used, ", ");
        from = put_type(to + used, room - used - 2, from);
        used += strlen(to + used);
    }
    snprintf(to + used, room - used, ")");
}

static bool name_method(const struct hotspot *h, uint64_t method, char name[HOTSPOT_NAME_BYTES])
{
    uint64_t part, pool, holder, type;
    char text[SYMBOL_MOST + 1];
    size_t used;
    if (!get_constants(h, method, &part, &pool, &holder) ||
        !get_word(h, holder + field_of(h, HOTSPOT_KLASS_NAME), &type) || !get_symbol(h, type, text, sizeof text))
        return false;
    used = put_class(name, HOTSPOT_NAME_BYTES, text, strlen(text));
    if (!hotspot_constant(h, pool, part + field_of(h, HOTSPOT_CONST_NAME), text, sizeof text))
        return false;
    used += (size_t)snprintf(name + used, HOTSPOT_NAME_BYTES - used, ".%s", text);
    if (used < HOTSPOT_NAME_BYTES &&
        hotspot_constant(h, pool, part + field_of(h, HOTSPOT_CONST_SIGNATURE), text, sizeof text))
        put_parameters(name + used, HOTSPOT_NAME_BYTES - used, text);
    return true;
}

/* ---- scopes: which methods were inlined where ---- */

/* The description at a pc, an offset in the code; a pc that is executed has that of the next call or safepoint. */
static bool find_scope(const struct hotspot *h, const struct method_parts *parts, uint64_t pc, bool exact,
                       uint32_t *scope)
{
    uint32_t offset, best = UINT32_MAX;
    const uint64_t bytes = field_of(h, HOTSPOT_PC_DESC_BYTES);
    if (parts->descs >= parts->descs_end || bytes < 8 || (parts->descs_end - parts->descs) / bytes > DESCS_MOST)
        return false;
    for (uint64_t at = parts->descs; at + bytes <= parts->descs_end; at += bytes) {
        if (!get_int(h, at + field_of(h, HOTSPOT_PC_DESC_PC), &offset))
            return false;
        if (offset >= INT32_MAX || offset >= best || (exact ? offset < pc : offset != pc))
            continue;
        best = offset;
        if (!get_int(h, at + field_of(h, HOTSPOT_PC_DESC_SCOPE), scope))
            return false;
    }
    return best != UINT32_MAX;
}

/* Source: scopeDesc.cpp, decode_body: the sender's scope, the method's number, the bytecode's + 1. */
static bool name_scope(const struct hotspot *h, uint64_t metadata, uint64_t at, uint32_t *sender,
                       struct hotspot_call *call)
{
    uint64_t method;
    uint32_t number, bytecode;
    if (!hotspot_number(h, &at, sender) || !hotspot_number(h, &at, &number) || number == 0 || number > METADATA_MOST ||
        !get_word(h, metadata + 8 * (uint64_t)(number - 1), &method) || !name_method(h, method, call->name))
        return false;
    hotspot_line(h, method, hotspot_number(h, &at, &bytecode) ? bytecode - 1 : UINT32_MAX, call);
    return true;
}

static size_t name_scopes(const struct hotspot *h, const struct method_parts *parts, uint32_t scope,
                          struct hotspot_call calls[HOTSPOT_INLINED_MOST])
{
    size_t count = 0;
    while (scope && count < HOTSPOT_INLINED_MOST)
        if (!name_scope(h, parts->metadata, parts->scopes + scope, &scope, &calls[count++]))
            return 0;
    return scope ? 0 : count;
}

/* ---- frames ---- */

bool hotspot_interpreted(const struct hotspot *h, const struct sw_memory *stack, const struct sw_regs *regs,
                         uint64_t *method)
{
    uint64_t part, pool, holder;
    return sw_regs_has(regs, SW_X64_RBP) &&
           peek(stack, regs->r[SW_X64_RBP] + 8 * (uint64_t)METHOD, method, sizeof *method) &&
           get_constants(h, *method, &part, &pool, &holder);
}

/* The bytecode that an interpreted frame is at: in r13 while it is executed, else in the frame. */
static uint64_t bytecode_of(const struct hotspot *h, const struct sw_memory *stack, const struct sw_frame *frame,
                            uint64_t method)
{
    const struct sw_regs *regs = &frame->regs;
    uint64_t code, at = sw_regs_has(regs, SW_X64_R13) ? regs->r[SW_X64_R13] : 0;
    uint16_t size;
    if (!hotspot_code(h, method, &code, &size))
        return 0;
    if ((!frame->exact || at - code >= size) &&
        !peek(stack, regs->r[SW_X64_RBP] + 8 * (uint64_t)(int64_t)BYTECODE, &at, sizeof at))
        return 0;
    return at - code < size ? at - code + 1 : 0;
}

uint64_t hotspot_identity(struct hotspot *h, const struct sw_memory *stack, const struct sw_frame *frame)
{
    struct blob blob;
    uint64_t method;
    if (!is_in_cache(frame) || frame->code.kind != SW_KIND_STUB || !hotspot_find_blob(h, frame->lookup, &blob) ||
        blob.kind != BLOB_INTERPRETER || !hotspot_interpreted(h, stack, &frame->regs, &method) || method > ADDRESS_MASK)
        return 0;
    return method | bytecode_of(h, stack, frame, method) << ADDRESS_BITS;
}

static bool name_interpreted(const struct hotspot *h, uint64_t identity, struct hotspot_call *call)
{
    const uint64_t method = identity & ADDRESS_MASK;
    if (!name_method(h, method, call->name))
        return false;
    hotspot_line(h, method, (uint32_t)(identity >> ADDRESS_BITS) - 1, call);
    return true;
}

/* Compiled code at no call or safepoint: its method is known, and no line. */
static bool name_compiled(const struct hotspot *h, const struct blob *blob, struct hotspot_call *call)
{
    uint64_t method;
    call->file[0] = 0;
    call->line = 0;
    return get_word(h, blob->address + field_of(h, HOTSPOT_COMPILED_METHOD), &method) &&
           name_method(h, method, call->name);
}

size_t hotspot_name(struct hotspot *h, const struct sw_frame *frame, uint64_t identity,
                    struct hotspot_call calls[HOTSPOT_INLINED_MOST])
{
    struct method_parts parts;
    struct blob blob;
    uint32_t scope;
    calls[0].name[0] = 0;
    if (identity)
        return name_interpreted(h, identity, &calls[0]);
    if (!is_in_cache(frame) || !hotspot_find_blob(h, frame->lookup, &blob))
        return 0;
    if (blob.kind != BLOB_METHOD) {
        snprintf(calls[0].name, HOTSPOT_NAME_BYTES, "%s", blob.name);
        return 0;
    }
    const size_t count = hotspot_method_parts(h, &blob, &parts) &&
                                 find_scope(h, &parts, sw_regs_pc(&frame->regs) - blob.begin, frame->exact, &scope)
                             ? name_scopes(h, &parts, scope, calls)
                             : 0;
    return count ? count : name_compiled(h, &blob, &calls[0]);
}
