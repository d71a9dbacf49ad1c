/*
 * Finds the blob of code around an address in the code cache, steps through its frames, names the methods of compiled,
 * inlined and interpreted frames. Knows the machine's structures by hotspot_tables.h; the frame layouts of x64 and the
 * encoding of scopes, of which no table tells, are written down here.
 *
 * Source: OpenJDK 17, src/hotspot: cpu/x86/frame_x86.hpp (frame layouts), cpu/x86/stubGenerator_x86_64.cpp (the call
 * stub's), share/memory/heap.cpp (segment map), share/code/{codeBlob,pcDesc,scopeDesc,debugInfo,compressedStream}.hpp.
 */
#include "hotspot.h"

#include "hotspot_tables.h"
#include "peek.h"
#include "refuse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEAPS_MOST = 8,
    SEGMENT_HOPS_MOST = 4096,
    BLOB_NAME_BYTES = 40,
    FRAME_WORDS_MOST = 1 << 16,
    DESCS_MOST = 1 << 16,
    METADATA_MOST = 1 << 20,
    SYMBOL_MOST = 1000,
};

/* Words of an interpreted frame, from rbp. */
enum { SENDER_SP = -1, METHOD = -3 };

struct heap {
    uint64_t low, high, segments, segments_end;
    unsigned log2;
};

struct hotspot {
    struct sw_memory memory;
    uint64_t at[HOTSPOT_FIELDS];
    struct heap heaps[HEAPS_MOST];
    size_t heap_count;
    uint64_t call_stub_return;
    bool counts_from_one; /* numbers in scopes: since 20 no byte of them is 0 */
};

enum blob_kind { BLOB_OTHER, BLOB_METHOD, BLOB_INTERPRETER };

struct blob {
    uint64_t address, begin, end;
    uint32_t frame_words;
    enum blob_kind kind;
    char name[BLOB_NAME_BYTES];
};

static bool get_word(const struct hotspot *h, uint64_t address, uint64_t *word)
{
    return peek(&h->memory, address, word, sizeof *word);
}

static bool get_int(const struct hotspot *h, uint64_t address, uint32_t *value)
{
    return peek(&h->memory, address, value, sizeof *value);
}

/* ---- the code cache ---- */

static bool read_heap(const struct hotspot *h, uint64_t address, struct heap *heap)
{
    const uint64_t memory = address + h->at[HOTSPOT_HEAP_MEMORY], segments = address + h->at[HOTSPOT_HEAP_SEGMAP];
    uint32_t log2;
    if (!get_word(h, memory + h->at[HOTSPOT_SPACE_LOW], &heap->low) ||
        !get_word(h, memory + h->at[HOTSPOT_SPACE_HIGH], &heap->high) ||
        !get_word(h, segments + h->at[HOTSPOT_SPACE_LOW], &heap->segments) ||
        !get_word(h, segments + h->at[HOTSPOT_SPACE_HIGH], &heap->segments_end) ||
        !get_int(h, address + h->at[HOTSPOT_HEAP_LOG2], &log2) || log2 < 3 || log2 > 20)
        return false;
    heap->log2 = log2;
    return heap->low < heap->high;
}

/* The heaps grow while the machine runs: they are read whenever an address is in none. */
static void read_heaps(struct hotspot *h)
{
    uint64_t array, data, heap;
    uint32_t count = 0;
    h->heap_count = 0;
    if (!get_word(h, h->at[HOTSPOT_HEAPS], &array) || !get_int(h, array + h->at[HOTSPOT_ARRAY_LEN], &count) ||
        !get_word(h, array + h->at[HOTSPOT_ARRAY_DATA], &data))
        return;
    for (uint32_t i = 0; i < count && i < HEAPS_MOST; i++)
        if (get_word(h, data + 8 * i, &heap) && read_heap(h, heap, &h->heaps[h->heap_count]))
            h->heap_count++;
}

static const struct heap *heap_of(const struct hotspot *h, uint64_t address)
{
    for (size_t i = 0; i < h->heap_count; i++)
        if (address >= h->heaps[i].low && address < h->heaps[i].high)
            return &h->heaps[i];
    return NULL;
}

/* Each byte of the map says how many segments back its block begins, or a part of the way; 0: here; 255: free. */
static bool find_block(const struct hotspot *h, const struct heap *heap, uint64_t address, uint64_t *block)
{
    uint64_t segment = (address - heap->low) >> heap->log2;
    uint8_t back;
    for (unsigned hops = 0; hops < SEGMENT_HOPS_MOST; hops++) {
        if (heap->segments + segment >= heap->segments_end || !peek(&h->memory, heap->segments + segment, &back, 1) ||
            back == 255 || back > segment)
            return false;
        if (back == 0) {
            *block = heap->low + (segment << heap->log2);
            return true;
        }
        segment -= back;
    }
    return false;
}

static enum blob_kind kind_of(const char *name)
{
    if (strcmp(name, "nmethod") == 0 || strcmp(name, "native nmethod") == 0)
        return BLOB_METHOD;
    return strcmp(name, "Interpreter") == 0 ? BLOB_INTERPRETER : BLOB_OTHER;
}

static bool find_blob(struct hotspot *h, uint64_t address, struct blob *blob)
{
    uint64_t block, name;
    uint8_t used;
    if (!heap_of(h, address))
        read_heaps(h);
    const struct heap *heap = heap_of(h, address);
    if (!heap || !find_block(h, heap, address, &block) ||
        !peek(&h->memory, block + h->at[HOTSPOT_HEADER_USED], &used, 1) || !used)
        return false;
    blob->address = block + h->at[HOTSPOT_HEADER_BYTES];
    if (!get_word(h, blob->address + h->at[HOTSPOT_BLOB_CODE_BEGIN], &blob->begin) ||
        !get_word(h, blob->address + h->at[HOTSPOT_BLOB_CODE_END], &blob->end) ||
        !get_int(h, blob->address + h->at[HOTSPOT_BLOB_FRAME_SIZE], &blob->frame_words) ||
        !get_word(h, blob->address + h->at[HOTSPOT_BLOB_NAME], &name) ||
        !peek_text(&h->memory, name, blob->name, sizeof blob->name))
        return false;
    blob->kind = kind_of(blob->name);
    return address >= blob->begin && address < blob->end && blob->end <= heap->high;
}

struct hotspot *hotspot_open(struct sw_images *images, const struct sw_memory *memory)
{
    struct hotspot *h = calloc(1, sizeof *h);
    uint32_t release = 0;
    must(h ? SW_OK : SW_E_NO_MEMORY, "Java");
    h->memory = *memory;
    if (!hotspot_tables_read(images, memory, h->at) || !get_int(h, h->at[HOTSPOT_MAJOR_VERSION], &release) ||
        !get_word(h, h->at[HOTSPOT_CALL_STUB_RETURN], &h->call_stub_return)) {
        free(h);
        return NULL;
    }
    h->counts_from_one = release >= 20;
    return h;
}

void hotspot_close(struct hotspot *hotspot)
{
    free(hotspot);
}

bool hotspot_find(void *hotspot, uint64_t address, struct sw_range *code)
{
    struct blob blob;
    if (!find_blob(hotspot, address, &blob))
        return false;
    const bool is_method = blob.kind == BLOB_METHOD;
    *code = (struct sw_range){ .begin = blob.begin,
                               .end = blob.end,
                               .id = blob.address,
                               .kind = is_method ? SW_KIND_JIT : SW_KIND_STUB,
                               .unwind = SW_UNWIND_FOREIGN };
    return true;
}

/* ---- methods ---- */

static bool get_symbol(const struct hotspot *h, uint64_t symbol, char *text, size_t size)
{
    uint16_t length;
    if (!peek(&h->memory, symbol + h->at[HOTSPOT_SYMBOL_LENGTH], &length, sizeof length) || length == 0)
        return false;
    const size_t kept = length < size - 1 ? length : size - 1;
    text[kept] = 0;
    return peek(&h->memory, symbol + h->at[HOTSPOT_SYMBOL_BODY], text, kept);
}

/* A method's constants: where its names are, and the class. */
static bool get_constants(const struct hotspot *h, uint64_t method, uint64_t *part, uint64_t *pool, uint64_t *holder)
{
    return get_word(h, method + h->at[HOTSPOT_METHOD_CONST], part) &&
           get_word(h, *part + h->at[HOTSPOT_CONST_POOL], pool) &&
           get_word(h, *pool + h->at[HOTSPOT_POOL_HOLDER], holder);
}

static bool get_constant(const struct hotspot *h, uint64_t pool, uint64_t index_at, char *text, size_t size)
{
    uint16_t index;
    uint64_t symbol;
    return peek(&h->memory, index_at, &index, sizeof index) && index &&
           get_word(h, pool + h->at[HOTSPOT_POOL_BYTES] + 8u * index, &symbol) && get_symbol(h, symbol, text, size);
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
    if (!get_constants(h, method, &part, &pool, &holder) || !get_word(h, holder + h->at[HOTSPOT_KLASS_NAME], &type) ||
        !get_symbol(h, type, text, sizeof text))
        return false;
    used = put_class(name, HOTSPOT_NAME_BYTES, text, strlen(text));
    if (!get_constant(h, pool, part + h->at[HOTSPOT_CONST_NAME], text, sizeof text))
        return false;
    used += (size_t)snprintf(name + used, HOTSPOT_NAME_BYTES - used, ".%s", text);
    if (used < HOTSPOT_NAME_BYTES && get_constant(h, pool, part + h->at[HOTSPOT_CONST_SIGNATURE], text, sizeof text))
        put_parameters(name + used, HOTSPOT_NAME_BYTES - used, text);
    return true;
}

/* ---- scopes: which methods were inlined where ---- */

/* Numbers of 1 to 5 bytes; a byte of 192 or more says that another follows. */
static bool get_number(const struct hotspot *h, uint64_t *at, uint32_t *number)
{
    const uint32_t excluded = h->counts_from_one ? 1 : 0;
    uint8_t byte;
    *number = 0;
    for (unsigned i = 0; i < 5; i++) {
        if (!peek(&h->memory, (*at)++, &byte, 1) || byte < excluded)
            return false;
        *number += (uint32_t)(byte - excluded) << 6 * i;
        if (byte < 192 + excluded)
            return true;
    }
    return true;
}

/* The description at a pc; a pc that is executed has that of the next call or safepoint. */
static bool find_scope(const struct hotspot *h, const struct blob *blob, uint64_t pc, bool exact, uint32_t *scope)
{
    uint32_t begin, end, offset, best = UINT32_MAX;
    const uint64_t bytes = h->at[HOTSPOT_PC_DESC_BYTES];
    if (!get_int(h, blob->address + h->at[HOTSPOT_NMETHOD_PCS], &begin) ||
        !get_int(h, blob->address + h->at[HOTSPOT_NMETHOD_PCS_END], &end) || begin >= end || bytes < 8 ||
        (end - begin) / bytes > DESCS_MOST)
        return false;
    for (uint64_t at = blob->address + begin; at + bytes <= blob->address + end; at += bytes) {
        if (!get_int(h, at + h->at[HOTSPOT_PC_DESC_PC], &offset))
            return false;
        if (offset >= INT32_MAX || offset >= best || (exact ? offset < pc - blob->begin : offset != pc - blob->begin))
            continue;
        best = offset;
        if (!get_int(h, at + h->at[HOTSPOT_PC_DESC_SCOPE], scope))
            return false;
    }
    return best != UINT32_MAX;
}

/* Source: scopeDesc.cpp, decode_body: the sender's scope, the method's number, the bytecode's. */
static size_t name_scopes(const struct hotspot *h, const struct blob *blob, uint32_t scope,
                          char names[HOTSPOT_INLINED_MOST][HOTSPOT_NAME_BYTES])
{
    uint64_t data, method;
    uint32_t metadata, number;
    size_t count = 0;
    if (!get_word(h, blob->address + h->at[HOTSPOT_COMPILED_SCOPES], &data) ||
        !get_int(h, blob->address + h->at[HOTSPOT_NMETHOD_METADATA], &metadata))
        return 0;
    while (scope && count < HOTSPOT_INLINED_MOST) {
        uint64_t at = data + scope;
        if (!get_number(h, &at, &scope) || !get_number(h, &at, &number) || number == 0 || number > METADATA_MOST ||
            !get_word(h, blob->address + metadata + 8 * (uint64_t)(number - 1), &method) ||
            !name_method(h, method, names[count]))
            return 0;
        count++;
    }
    return scope ? 0 : count;
}

/* ---- frames ---- */

/* The Method of an interpreted frame: that its names can be read says that there is one. */
static bool interpreted_method(const struct hotspot *h, const struct sw_memory *stack, const struct sw_regs *regs,
                               uint64_t *method)
{
    uint64_t part, pool, holder;
    return sw_regs_has(regs, SW_X64_RBP) &&
           peek(stack, regs->r[SW_X64_RBP] + 8 * (uint64_t)METHOD, method, sizeof *method) &&
           get_constants(h, *method, &part, &pool, &holder);
}

static bool has_frame(const struct sw_frame *frame)
{
    return frame->regs.machine == SW_MACHINE_X64 && frame->code.flags & SW_RANGE_FROM_FINDER;
}

uint64_t hotspot_identity(struct hotspot *h, const struct sw_memory *stack, const struct sw_frame *frame)
{
    struct blob blob;
    uint64_t method;
    if (!has_frame(frame) || frame->code.kind != SW_KIND_STUB || !find_blob(h, frame->lookup, &blob) ||
        blob.kind != BLOB_INTERPRETER)
        return 0;
    return interpreted_method(h, stack, &frame->regs, &method) ? method : 0;
}

size_t hotspot_name(struct hotspot *h, const struct sw_frame *frame, uint64_t identity,
                    char names[HOTSPOT_INLINED_MOST][HOTSPOT_NAME_BYTES])
{
    struct blob blob;
    uint64_t method;
    uint32_t scope;
    names[0][0] = 0;
    if (identity)
        return name_method(h, identity, names[0]);
    if (!has_frame(frame) || !find_blob(h, frame->lookup, &blob))
        return 0;
    if (blob.kind != BLOB_METHOD) {
        snprintf(names[0], HOTSPOT_NAME_BYTES, "%s", blob.name);
        return 0;
    }
    if (find_scope(h, &blob, sw_regs_pc(&frame->regs), frame->exact, &scope)) {
        const size_t count = name_scopes(h, &blob, scope, names);
        if (count)
            return count;
    }
    return get_word(h, blob.address + h->at[HOTSPOT_COMPILED_METHOD], &method) && name_method(h, method, names[0]);
}

/* The words of a frame of C's shape: rbp, then the return address. */
static bool step_by_rbp(const struct sw_memory *stack, const struct sw_regs *regs, struct sw_regs *caller)
{
    uint64_t words[2];
    if (!sw_regs_has(regs, SW_X64_RBP) || !peek(stack, regs->r[SW_X64_RBP], words, sizeof words))
        return false;
    sw_regs_set(caller, SW_X64_RBP, words[0]);
    sw_regs_set(caller, SW_X64_RIP, words[1]);
    sw_regs_set(caller, SW_X64_RSP, regs->r[SW_X64_RBP] + sizeof words);
    return true;
}

/* Where the call stub has saved what C++ expects to be kept, in words from rbp. */
static bool step_call_stub(const struct sw_memory *stack, const struct sw_regs *regs, struct sw_regs *caller)
{
    static const struct {
        int word;
        unsigned reg;
    } saved[] = {
        { -7, SW_X64_RBX }, { -8, SW_X64_R12 }, { -9, SW_X64_R13 }, { -10, SW_X64_R14 }, { -11, SW_X64_R15 }
    };
    uint64_t value;
    if (!step_by_rbp(stack, regs, caller))
        return false;
    for (size_t i = 0; i < sizeof saved / sizeof saved[0]; i++)
        if (peek(stack, regs->r[SW_X64_RBP] + 8 * (uint64_t)(int64_t)saved[i].word, &value, sizeof value))
            sw_regs_set(caller, saved[i].reg, value);
    return true;
}

/* An interpreted method's caller may be compiled: its sp is what it was before the arguments were moved. */
static bool step_interpreted(const struct sw_memory *stack, const struct sw_regs *regs, struct sw_regs *caller)
{
    uint64_t sp;
    if (!step_by_rbp(stack, regs, caller) ||
        !peek(stack, regs->r[SW_X64_RBP] + 8 * (uint64_t)SENDER_SP, &sp, sizeof sp) || sp <= regs->r[SW_X64_RBP])
        return false;
    sw_regs_set(caller, SW_X64_RSP, sp);
    return true;
}

/* Compiled code and stubs have frames of one size, with rbp and the return address at their end. */
static bool step_sized(const struct sw_memory *stack, const struct sw_regs *regs, uint32_t frame_words,
                       struct sw_regs *caller)
{
    uint64_t words[2];
    const uint64_t end = sw_regs_sp(regs) + 8 * (uint64_t)frame_words;
    if (frame_words < 2 || frame_words > FRAME_WORDS_MOST || !peek(stack, end - 16, words, sizeof words))
        return false;
    sw_regs_set(caller, SW_X64_RBP, words[0]);
    sw_regs_set(caller, SW_X64_RIP, words[1]);
    sw_regs_set(caller, SW_X64_RSP, end);
    return true;
}

/* Code that is to be left for the interpreter has another return address: the true one is in its frame. */
static void undo_deoptimization(struct hotspot *h, const struct sw_memory *stack, struct sw_regs *regs)
{
    struct blob blob;
    uint64_t handler, pc;
    uint32_t at;
    if (find_blob(h, sw_regs_pc(regs), &blob) && blob.kind == BLOB_METHOD &&
        get_word(h, blob.address + h->at[HOTSPOT_COMPILED_DEOPT], &handler) && handler == sw_regs_pc(regs) &&
        get_int(h, blob.address + h->at[HOTSPOT_NMETHOD_ORIGINAL_PC], &at) &&
        peek(stack, sw_regs_sp(regs) + at, &pc, sizeof pc) && pc > blob.begin && pc < blob.end)
        sw_regs_set(regs, SW_X64_RIP, pc);
}

bool hotspot_step(struct hotspot *h, const struct sw_memory *stack, const struct sw_frame *frame,
                  struct sw_regs *caller)
{
    struct blob blob;
    uint64_t method;
    bool stepped = false;
    *caller = (struct sw_regs){ .machine = frame->regs.machine };
    if (!has_frame(frame) || !find_blob(h, frame->lookup, &blob))
        return false;
    if (blob.kind == BLOB_INTERPRETER)
        stepped = interpreted_method(h, stack, &frame->regs, &method) && step_interpreted(stack, &frame->regs, caller);
    else if (!frame->exact && sw_regs_pc(&frame->regs) == h->call_stub_return)
        stepped = step_call_stub(stack, &frame->regs, caller);
    else if (!frame->exact)
        stepped = step_sized(stack, &frame->regs, blob.frame_words, caller);
    if (!stepped || sw_regs_sp(caller) <= sw_regs_sp(&frame->regs))
        return false;
    undo_deoptimization(h, stack, caller);
    return true;
}
