/*
 * Explicit frames of a runtime that does not number them: each begins with the address of its class's virtual
 * functions, which a build has where it likes. Some of these functions say which class they are of, in a few bytes of
 * code: return a constant, a field's address, a field. Knows these bytes; refuses to know what a frame has inside.
 *
 *   candidates  The runtime's table for debuggers names the vtables of all its frames.
 *   believed    A class is told by two functions or more, and all classes together have to be the ones that the
 *               runtimes of that version have, no more and no fewer.
 *
 * Source: clr-frames-by-version.md 1.2 and section 5, which was read in ten builds of two versions;
 * clr-windows-observed.md W92, of one of each for Windows.
 */
#include "clr/runtime.h"

#include "base/bytes.h"

#include <string.h>

enum { TABLE_FROM = 90, TABLE_TO = 176, CODE_BYTES = 16, SLOTS = 18, CHECKS = 4, MANY = SW_CLR_FRAME_WORDS };

/* What a function returns. */
enum form {
    OTHER,
    CONSTANT,
    ADDRESS, /* of the field */
    WORD,    /* the field's value */
    HALF,    /* likewise, of 32 bits */
    CONTEXT  /* the address of the pc in the CONTEXT to which the field points */
};

struct answer {
    enum form form;
    uint32_t value;
};

/*
 * Instructions of x64, in front of a return. The value is what stands behind them. The frame itself is in rdi; on
 * Windows, in rcx.
 */
static const struct shape {
    uint8_t size;
    uint8_t bytes[8];
    enum form form;
    uint8_t value_bytes;
    uint8_t tail_size;
    uint8_t tail[6]; /* behind the value */
} shapes[] = {
    { 2, { 0x31, 0xc0 }, CONSTANT, 0, 0, { 0 } },                           /* xor eax, eax */
    { 1, { 0xb8 }, CONSTANT, 4, 0, { 0 } },                                 /* mov eax, imm32 */
    { 3, { 0x48, 0x8d, 0x47 }, ADDRESS, 1, 0, { 0 } },                      /* lea rax, [rdi + d8] */
    { 3, { 0x48, 0x8b, 0x47 }, WORD, 1, 0, { 0 } },                         /* mov rax, [rdi + d8] */
    { 2, { 0x8b, 0x47 }, HALF, 1, 0, { 0 } },                               /* mov eax, [rdi + d8] */
    { 8, { 0xb8, 0xf8, 0, 0, 0, 0x48, 0x03, 0x47 }, CONTEXT, 1, 0, { 0 } }, /* mov eax, 0xf8; add rax, [rdi + d8] */
    { 2, { 0x33, 0xc0 }, CONSTANT, 0, 0, { 0 } },                           /* xor eax, eax */
    { 3, { 0x48, 0x8d, 0x41 }, ADDRESS, 1, 0, { 0 } },                      /* lea rax, [rcx + d8] */
    { 3, { 0x48, 0x8b, 0x41 }, WORD, 1, 0, { 0 } },                         /* mov rax, [rcx + d8] */
    { 2, { 0x8b, 0x41 }, HALF, 1, 0, { 0 } },                               /* mov eax, [rcx + d8] */
    { 3, { 0x48, 0x8b, 0x41 }, CONTEXT, 1, 6, { 0x48, 0x05, 0xf8 } },       /* mov rax, [rcx + d8]; add rax, 0xf8 */
};

/*
 * The functions: attributes, whether the frame has registers, transition, method, return address, transition type,
 * frame type, transition block.
 */
enum {
    ATTRIBUTES = 1,
    HAS_REGISTERS = 3,
    NATIVE = 4,
    METHOD = 5,
    RETURN = 8,
    TYPE = 12,
    KIND = 13,
    BLOCK = 20,
    BLOCK_ON_WINDOWS = 18
};

/*
 * ORDER: the first that fits. least, most: how many classes of the kind there are. windows_only: that of COM; elsewhere
 * there is none.
 */
static const struct known_class {
    enum sw_clr_frame kind;
    unsigned least, most;
    bool windows_only;
    struct check {
        unsigned slot;
        struct answer answer;
    } checks[CHECKS];
} classes[] = {
    { SW_CLR_FRAME_NOWHERE, 4, MANY, false, { { HAS_REGISTERS, { CONSTANT, 0 } } } },
    { SW_CLR_FRAME_BLOCK,
      1,
      1,
      true,
      { { HAS_REGISTERS, { CONSTANT, 1 } },
        { NATIVE, { CONSTANT, 1 } },
        { KIND, { CONSTANT, 2 } },
        { BLOCK, { WORD, 16 } } } },
    { SW_CLR_FRAME_INLINED, 1, 1, false, { { NATIVE, { CONSTANT, 1 } }, { KIND, { CONSTANT, 2 } } } },
    { SW_CLR_FRAME_HIJACK, 1, 1, false, { { HAS_REGISTERS, { CONSTANT, 1 } }, { RETURN, { ADDRESS, 16 } } } },
    { SW_CLR_FRAME_FAULT, 1, 1, false, { { HAS_REGISTERS, { CONSTANT, 1 } }, { RETURN, { ADDRESS, 24 } } } },
    { SW_CLR_FRAME_CONTEXT,
      2,
      2,
      false,
      { { HAS_REGISTERS, { CONSTANT, 1 } }, { ATTRIBUTES, { CONSTANT, 8 } }, { RETURN, { CONTEXT, 16 } } } },
    { SW_CLR_FRAME_HELPER,
      5,
      5,
      false,
      { { HAS_REGISTERS, { CONSTANT, 1 } },
        { RETURN, { CONSTANT, 0 } },
        { TYPE, { CONSTANT, 4 } },
        { ATTRIBUTES, { HALF, 24 } } } },
    { SW_CLR_FRAME_BLOCK, 6, 6, false, { { HAS_REGISTERS, { CONSTANT, 1 } }, { BLOCK, { WORD, 16 } } } },
};
enum { CLASSES = sizeof classes / sizeof classes[0] };

struct reader {
    const struct sw_memory *memory;
    const struct sw_clr_library *library;
    bool windows;
};

static bool is_inside(const struct reader *r, uint64_t address)
{
    return address >= r->library->begin && address < r->library->end;
}

static bool returns(const uint8_t *code)
{
    return code[0] == 0xc3 || (code[0] == 0x5d && code[1] == 0xc3);
}

static struct answer decode(const uint8_t code[CODE_BYTES])
{
    static const uint8_t frame[] = { 0x55, 0x48, 0x89, 0xe5 }; /* push rbp; mov rbp, rsp */
    const uint8_t *at = memcmp(code, frame, sizeof frame) == 0 ? code + sizeof frame : code;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const struct shape *s = &shapes[i];
        const uint8_t *tail = at + s->size + s->value_bytes;
        if (memcmp(at, s->bytes, s->size) == 0 && memcmp(tail, s->tail, s->tail_size) == 0 &&
            returns(tail + s->tail_size))
            return (struct answer){ s->form, (uint32_t)sw_load_le(at + s->size, s->value_bytes) };
    }
    return (struct answer){ OTHER, 0 };
}

/* What the function in a slot returns. */
static struct answer ask(const struct reader *r, uint64_t vtable, unsigned slot)
{
    uint8_t code[CODE_BYTES];
    uint64_t function;
    if (slot == BLOCK && r->windows)
        slot = BLOCK_ON_WINDOWS;
    if (!sw_memory_word(r->memory, vtable + 8 * slot, &function) || !is_inside(r, function) ||
        sw_memory_read(r->memory, function, code, sizeof code) != sizeof code)
        return (struct answer){ OTHER, 0 };
    return decode(code);
}

static bool passes(const struct reader *r, uint64_t vtable, const struct check *check)
{
    const struct answer answer = ask(r, vtable, check->slot);
    return check->answer.form == OTHER || (answer.form == check->answer.form && answer.value == check->answer.value);
}

/* Whether there are as many functions as every class has. */
static bool is_vtable(const struct reader *r, uint64_t address)
{
    uint64_t function;
    for (unsigned slot = 0; slot < SLOTS; slot++)
        if (!sw_memory_word(r->memory, address + 8 * slot, &function) || !is_inside(r, function))
            return false;
    return true;
}

static unsigned class_of(const struct reader *r, uint64_t vtable)
{
    for (unsigned i = 0; i < CLASSES; i++) {
        unsigned passed = 0;
        while (passed < CHECKS && passes(r, vtable, &classes[i].checks[passed]))
            passed++;
        if (passed == CHECKS)
            return i;
    }
    return CLASSES;
}

static bool has(const struct sw_clr_layout *layout, uint64_t word)
{
    for (unsigned i = 0; i < layout->frame_count; i++)
        if (layout->frames[i].word == word)
            return true;
    return false;
}

/* Whether there are as many classes of each kind as the version has. */
static bool is_complete(const struct reader *r, const unsigned counts[])
{
    for (unsigned i = 0; i < CLASSES; i++) {
        const bool none = classes[i].windows_only && !r->windows;
        if (counts[i] < (none ? 0 : classes[i].least) || counts[i] > (none ? 0 : classes[i].most))
            return false;
    }
    return true;
}

enum sw_status sw_clr_layout_recognise(const struct sw_memory *memory, const struct sw_clr_library *library,
                                       struct sw_clr_layout *layout)
{
    const struct reader r = { memory, library, layout->system == SW_CLR_WINDOWS };
    unsigned counts[CLASSES + 1] = { 0 };
    uint64_t vtable;
    layout->frame_count = 0;
    if (!sw_memory_word(memory, library->table, &layout->code))
        return SW_E_UNREADABLE;
    for (unsigned i = TABLE_FROM; i < TABLE_TO && layout->frame_count < SW_CLR_FRAME_WORDS; i++) {
        if (!sw_memory_word(memory, library->table + 8 * i, &vtable) || vtable % 8 != 0 || !is_inside(&r, vtable) ||
            has(layout, vtable) || !is_vtable(&r, vtable))
            continue;
        const unsigned class = class_of(&r, vtable);
        counts[class]++;
        if (class < CLASSES)
            layout->frames[layout->frame_count++] = (struct sw_clr_frame_word){ vtable, classes[class].kind };
    }
    return is_complete(&r, counts) ? SW_OK : SW_E_UNSUPPORTED;
}
