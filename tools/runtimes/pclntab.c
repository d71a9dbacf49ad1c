/*
 * Knows the function tables of Go 1.18 to 1.19 and of 1.20 and later, as they are in a target's memory. Refuses to know
 * sections, which a program need not have, and releases: what is read of is checked by what must hold of it.
 *
 * moduledata, in writable data, leads to all of it. It begins with the address of a header and the parts that follow
 * that: names, files of each compilation unit, files, values by pc, and functions. It is found by that, in the data
 * segments of the file. Of a function there are rows of values by pc: depth of the stack, file, line, and which of its
 * inlined calls the code is of. Such a call knows the place in the function that stands for where it was called.
 *
 * Source: go, src/runtime/symtab.go (pcHeader, moduledata, moduledataverify1, findfunc, pcvalue, step, funcline1),
 * symtabinl.go (inlinedCall, inlineUnwinder), runtime2.go (_func), internal/abi/symtab.go; of 1.19 and of 1.24;
 * go-pclntab.md.
 */
#include "pclntab.h"

#include "callsite.h"
#include "peek.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* In bytes. ORDER of moduledata's words: slices are an address, a length and a capacity. */
enum {
    HEADER_QUANTUM = 6,
    HEADER_COUNT = 8,
    HEADER_NAMES = 32,
    HEADER_UNITS = 40,
    HEADER_FILES = 48,
    HEADER_VALUES = 56,
    HEADER_FUNCTIONS = 64,
    HEADER_BYTES = 72,
    MODULE_HEADER = 0,
    MODULE_NAMES = 8,
    MODULE_UNITS = 32,
    MODULE_FILES = 56,
    MODULE_VALUES = 80,
    MODULE_FUNCTIONS = 104,
    MODULE_INDEX = 128,
    MODULE_BEGIN = 160,
    MODULE_END = 168,
    MODULE_TEXT = 176,
    MODULE_BYTES = 328,
    FUNCTION_NAME = 4,
    FUNCTION_DEPTH = 16,
    FUNCTION_FILE = 20,
    FUNCTION_LINE = 24,
    FUNCTION_VALUES = 28,
    FUNCTION_UNIT = 32,
    FUNCTION_BYTES = 44
};
enum { VALUE_INLINED = 2, DATA_INLINED = 3, IS_BOTTOM = 1, WRITES_SP = 2, IS_ASSEMBLY = 4, NONE = UINT32_MAX };
enum { ROWS_MOST = 64, PAGE_BYTES = 4096, HEAD_BYTES = 32, SEARCH_MOST = 1 << 28, FUNCTIONS_MOST = 1 << 24 };
enum { VALUE_BYTES = 64, VALUE_STEPS_MOST = 1 << 18, DEPTH_MOST = 1 << 30 };

/* What differs: in moduledata, in a function, in an inlined call. */
static const struct layout {
    uint32_t magic;
    uint16_t module_data;
    uint8_t flags, data_count, function_bytes, inlined_bytes, inlined_name, inlined_place;
} layouts[] = {
    { 0xfffffff0, 304, 37, 39, 40, 20, 12, 16 }, /* 1.18 */
    { 0xfffffff1, 320, 41, 43, 44, 16, 4, 8 },   /* 1.20 */
};

struct pclntab {
    struct sw_memory memory;
    const struct layout *layout;
    uint64_t text, begin, end;                            /* of code */
    uint64_t names, units, files, values, index, inlined; /* index: functions and where they are described */
    uint32_t count;
    uint8_t quantum; /* the least size of an instruction */
};

static uint64_t word_of(const uint8_t *bytes, size_t offset)
{
    uint64_t word;
    memcpy(&word, bytes + offset, sizeof word);
    return word;
}

static uint32_t half_of(const uint8_t *bytes, size_t offset)
{
    uint32_t half;
    memcpy(&half, bytes + offset, sizeof half);
    return half;
}

/* ---- finding it ---- */

/* Whether words may be moduledata's first: its header, and behind that names, a slice with no room. */
static bool is_like_module(const uint8_t *words)
{
    const uint64_t behind = word_of(words, MODULE_NAMES) - word_of(words, MODULE_HEADER);
    const uint64_t size = word_of(words, MODULE_NAMES + 8);
    return word_of(words, MODULE_HEADER) && behind >= HEADER_BYTES && behind < PAGE_BYTES && size &&
           size == word_of(words, MODULE_NAMES + 16);
}

static const struct layout *layout_of(const uint8_t header[HEADER_BYTES])
{
    static const uint8_t words_of_64_bits[] = { 0, 0 };
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (half_of(header, 0) == layouts[i].magic && memcmp(header + 4, words_of_64_bits, 2) == 0 && header[7] == 8)
            return &layouts[i];
    return NULL;
}

/* The header says where its parts begin, moduledata says it once more. */
static bool agree(const uint8_t header[HEADER_BYTES], const uint8_t module[MODULE_BYTES])
{
    static const struct {
        uint8_t header, module;
    } parts[] = { { HEADER_NAMES, MODULE_NAMES },         { HEADER_UNITS, MODULE_UNITS },
                  { HEADER_FILES, MODULE_FILES },         { HEADER_VALUES, MODULE_VALUES },
                  { HEADER_FUNCTIONS, MODULE_FUNCTIONS }, { HEADER_FUNCTIONS, MODULE_INDEX } };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (word_of(module, MODULE_HEADER) + word_of(header, parts[i].header) != word_of(module, parts[i].module))
            return false;
    const uint64_t count = word_of(header, HEADER_COUNT);
    return count && count <= FUNCTIONS_MOST && word_of(module, MODULE_INDEX + 8) == count + 1;
}

static bool open_module(struct pclntab *t, uint64_t address)
{
    uint8_t header[HEADER_BYTES], module[MODULE_BYTES];
    uint32_t first;
    if (!peek(&t->memory, address, module, sizeof module) ||
        !peek(&t->memory, word_of(module, MODULE_HEADER), header, sizeof header) || !agree(header, module))
        return false;
    t->layout = layout_of(header);
    t->names = word_of(module, MODULE_NAMES);
    t->units = word_of(module, MODULE_UNITS);
    t->files = word_of(module, MODULE_FILES);
    t->values = word_of(module, MODULE_VALUES);
    t->index = word_of(module, MODULE_INDEX);
    t->text = word_of(module, MODULE_TEXT);
    t->begin = word_of(module, MODULE_BEGIN);
    t->end = word_of(module, MODULE_END);
    t->count = (uint32_t)word_of(header, HEADER_COUNT);
    t->quantum = header[HEADER_QUANTUM];
    t->inlined = t->layout ? word_of(module, t->layout->module_data) : 0;
    return t->layout && t->begin < t->end && peek(&t->memory, t->index, &first, sizeof first) &&
           t->text + first == t->begin;
}

static bool search_data(struct pclntab *t, const struct sw_memory *search, uint64_t begin, uint64_t size)
{
    uint8_t page[PAGE_BYTES + HEAD_BYTES];
    for (uint64_t done = 0; done < size && done < SEARCH_MOST; done += PAGE_BYTES) {
        const uint64_t left = size - done;
        const size_t wanted = left < sizeof page ? (size_t)left : sizeof page;
        const size_t got = search->read(search->arg, begin + done, page, wanted);
        for (size_t at = 0; at < PAGE_BYTES && at + HEAD_BYTES <= got; at += 8)
            if (is_like_module(page + at) && open_module(t, begin + done + at))
                return true;
    }
    return false;
}

/* In the file's data segments, as its program headers say, which are mapped with it. */
static bool search_image(struct pclntab *t, const struct sw_memory *search, uint64_t image)
{
    Elf64_Ehdr head;
    Elf64_Phdr rows[ROWS_MOST];
    uint64_t bias = image;
    if (!peek(&t->memory, image, &head, sizeof head) || head.e_phentsize != sizeof rows[0] ||
        head.e_phnum > ROWS_MOST || !peek(&t->memory, image + head.e_phoff, rows, head.e_phnum * sizeof rows[0]))
        return false;
    for (unsigned i = 0; i < head.e_phnum; i++)
        if (rows[i].p_type == PT_LOAD && rows[i].p_offset == 0)
            bias = image - rows[i].p_vaddr;
    for (unsigned i = 0; i < head.e_phnum; i++)
        if (rows[i].p_type == PT_LOAD && rows[i].p_flags & PF_W &&
            search_data(t, search, (rows[i].p_vaddr + bias + 7) & ~UINT64_C(7), rows[i].p_filesz))
            return true;
    return false;
}

enum sw_status pclntab_open(const struct sw_memory *memory, const struct sw_memory *search, uint64_t image,
                            struct pclntab **table)
{
    struct pclntab *t = calloc(1, sizeof *t);
    if (!t)
        return SW_E_NO_MEMORY;
    t->memory = *memory;
    if (!search_image(t, search, image)) {
        free(t);
        return SW_E_NOT_FOUND;
    }
    *table = t;
    return SW_OK;
}

void pclntab_close(struct pclntab *table)
{
    free(table);
}

/* ---- functions ---- */

/* A function, and the values that begin its description. */
struct function {
    uint64_t begin, at;
    uint8_t bytes[FUNCTION_BYTES];
};

static bool find_function(const struct pclntab *t, uint64_t address, struct function *f)
{
    uint32_t low = 0, high = t->count, row[2];
    if (address < t->begin || address >= t->end)
        return false;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (!peek(&t->memory, t->index + UINT64_C(8) * middle, row, sizeof row))
            return false;
        if (t->text + row[0] <= address)
            low = middle;
        else
            high = middle;
    }
    if (!peek(&t->memory, t->index + UINT64_C(8) * low, row, sizeof row))
        return false;
    f->begin = t->text + row[0];
    f->at = t->index + row[1];
    return f->begin <= address && peek(&t->memory, f->at, f->bytes, t->layout->function_bytes) &&
           half_of(f->bytes, 0) == row[0];
}

/* Bytes one after the other, some at a time. */
struct bytes {
    const struct sw_memory *memory;
    uint64_t at;
    size_t next, got;
    uint8_t bytes[VALUE_BYTES];
};

/* Seven bits a byte, the lowest first; all but the last have the eighth. */
static bool next_number(struct bytes *b, uint32_t *number)
{
    uint8_t byte = 0x80;
    *number = 0;
    for (unsigned shift = 0; byte & 0x80; shift += 7) {
        if (shift > 28)
            return false;
        if (b->next == b->got) {
            b->next = 0;
            b->got = b->memory->read(b->memory->arg, b->at, b->bytes, sizeof b->bytes);
            b->at += b->got;
        }
        if (b->next == b->got)
            return false;
        byte = b->bytes[b->next++];
        *number |= (uint32_t)(byte & 0x7f) << shift;
    }
    return true;
}

/* Pairs: what is added to the value, which begins with -1, and how much code has it. A row of 0 ends them. */
static int32_t value_at(const struct pclntab *t, const struct function *f, uint32_t row, uint64_t address)
{
    struct bytes bytes = { .memory = &t->memory, .at = t->values + row };
    uint64_t pc = f->begin;
    uint32_t change, size, value = UINT32_MAX;
    for (unsigned i = 0; row && i < VALUE_STEPS_MOST; i++) {
        if (!next_number(&bytes, &change) || (!change && i > 0) || !next_number(&bytes, &size))
            break;
        value += change & 1 ? ~(change >> 1) : change >> 1;
        pc += (uint64_t)size * t->quantum;
        if (address < pc)
            return (int32_t)value;
    }
    return -1;
}

/* ---- names ---- */

static void get_text(const struct pclntab *t, uint64_t address, char text[CALL_TEXT_BYTES])
{
    if (!peek_text(&t->memory, address, text, CALL_TEXT_BYTES) || !*text)
        memcpy(text, "?", 2);
}

static void get_place(const struct pclntab *t, const struct function *f, uint64_t address, struct runtime_call *call)
{
    const int32_t file = value_at(t, f, half_of(f->bytes, FUNCTION_FILE), address);
    const int32_t line = value_at(t, f, half_of(f->bytes, FUNCTION_LINE), address);
    const uint64_t unit = t->units + UINT64_C(4) * (half_of(f->bytes, FUNCTION_UNIT) + (uint64_t)(uint32_t)file);
    uint32_t offset;
    call->file[0] = 0;
    call->line = 0;
    if (file < 0 || line < 0 || !peek(&t->memory, unit, &offset, sizeof offset) || offset == (uint32_t)NONE)
        return;
    get_text(t, t->files + offset, call->file);
    call->line = line;
}

/* Where the inlined calls of a function are described; 0: it has none. */
static uint64_t find_inlined(const struct pclntab *t, const struct function *f, uint32_t *values)
{
    const uint32_t value_count = half_of(f->bytes, FUNCTION_VALUES);
    const uint64_t rows = f->at + t->layout->function_bytes;
    uint32_t data;
    if (value_count <= VALUE_INLINED || f->bytes[t->layout->data_count] <= DATA_INLINED ||
        !peek(&t->memory, rows + UINT64_C(4) * VALUE_INLINED, values, sizeof *values) ||
        !peek(&t->memory, rows + UINT64_C(4) * value_count + UINT64_C(4) * DATA_INLINED, &data, sizeof data) ||
        data == (uint32_t)NONE)
        return 0;
    return t->inlined + data;
}

size_t pclntab_name(const struct pclntab *t, uint64_t address, struct runtime_call calls[PCLNTAB_INLINED_MOST],
                    uint64_t *begin)
{
    struct function f;
    size_t count = 0;
    uint32_t values = 0, name, place;
    if (!find_function(t, address, &f))
        return 0;
    const uint64_t inlined = find_inlined(t, &f, &values);
    *begin = f.begin;
    while (inlined && count + 1 < PCLNTAB_INLINED_MOST) {
        const int32_t number = value_at(t, &f, values, address);
        const uint64_t row = inlined + (uint64_t)t->layout->inlined_bytes * (uint32_t)number;
        if (number < 0 || !peek(&t->memory, row + t->layout->inlined_name, &name, sizeof name) ||
            !peek(&t->memory, row + t->layout->inlined_place, &place, sizeof place))
            break;
        get_text(t, t->names + name, calls[count].function);
        get_place(t, &f, address, &calls[count++]);
        address = f.begin + place;
    }
    get_text(t, t->names + half_of(f.bytes, FUNCTION_NAME), calls[count].function);
    get_place(t, &f, address, &calls[count++]);
    return count;
}

/* ---- the stack ---- */

/* That nothing has called, or in another thread; the flags say it of some that have callers, too. */
static bool is_outermost(const struct pclntab *t, const struct function *f)
{
    static const char *const names[] = { "runtime.goexit", "runtime.rt0_go", "runtime.clone" };
    char name[CALL_TEXT_BYTES];
    if (!(f->bytes[t->layout->flags] & (IS_BOTTOM | WRITES_SP)))
        return false;
    get_text(t, t->names + half_of(f->bytes, FUNCTION_NAME), name);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

bool pclntab_is_outermost(const struct pclntab *t, const struct sw_frame *frame)
{
    struct function f;
    return find_function(t, frame->lookup, &f) && is_outermost(t, &f) &&
           !(frame->exact && f.bytes[t->layout->flags] & WRITES_SP);
}

/* Behind a call, or where a goroutine's stack begins, in goexit. */
static bool is_return(const struct pclntab *t, enum sw_machine machine, uint64_t pc)
{
    struct function f;
    return (machine == SW_MACHINE_X64 ? is_behind_call(&t->memory, pc) : is_behind_branch_with_link(&t->memory, pc)) ||
           (find_function(t, pc, &f) && pc == f.begin + t->quantum && is_outermost(t, &f));
}

/* Assembler that executes: what it does to the stack is written by hand, but in a system call nothing is on its way. */
static bool is_by_hand(const struct pclntab *t, const struct function *f, const struct sw_frame *frame)
{
    static const uint8_t x64[] = { 0x0f, 0x05 }, arm64[] = { 0x01, 0x00, 0x00, 0xd4 };
    const bool is_x64 = frame->regs.machine == SW_MACHINE_X64;
    const size_t size = is_x64 ? sizeof x64 : sizeof arm64;
    uint8_t code[sizeof arm64];
    return frame->exact && f->bytes[t->layout->flags] & IS_ASSEMBLY &&
           !(peek(&t->memory, sw_regs_pc(&frame->regs) - size, code, size) &&
             memcmp(code, is_x64 ? x64 : arm64, size) == 0);
}

/* The return address is above what the function has on the stack. */
static bool step_x64(const struct sw_memory *stack, const struct sw_regs *regs, uint64_t depth, struct sw_regs *caller)
{
    uint64_t pc;
    if (!peek(stack, sw_regs_sp(regs) + depth, &pc, sizeof pc) || !pc)
        return false;
    sw_regs_set(caller, SW_X64_RIP, pc);
    sw_regs_set(caller, SW_X64_RSP, sw_regs_sp(regs) + depth + 8);
    if (sw_regs_has(regs, SW_X64_R14))
        sw_regs_set(caller, SW_X64_R14, regs->r[SW_X64_R14]); /* g, as all of Go has it */
    return true;
}

/*
 * The return address is the lowest word of what the function has on the stack, and the caller's frame pointer is below
 * that; where it has nothing there, as in a leaf and before its first instructions are done, it is in lr.
 */
static bool step_arm64(const struct sw_memory *stack, const struct sw_frame *frame, uint64_t depth,
                       struct sw_regs *caller)
{
    const struct sw_regs *regs = &frame->regs;
    const uint64_t sp = sw_regs_sp(regs);
    const bool has_lr = frame->exact && sw_regs_has(regs, SW_ARM64_LR);
    uint64_t pc = has_lr ? regs->r[SW_ARM64_LR] : 0, fp = regs->r[SW_ARM64_FP];
    bool has_fp = sw_regs_has(regs, SW_ARM64_FP);
    if (depth && !peek(stack, sp, &pc, sizeof pc))
        return false;
    if (depth)
        has_fp = peek(stack, sp - sizeof fp, &fp, sizeof fp);
    if (!pc)
        return false;
    sw_regs_set(caller, SW_ARM64_PC, pc);
    sw_regs_set(caller, SW_ARM64_SP, sp + depth);
    if (has_fp)
        sw_regs_set(caller, SW_ARM64_FP, fp);
    if (sw_regs_has(regs, SW_ARM64_X28))
        sw_regs_set(caller, SW_ARM64_X28, regs->r[SW_ARM64_X28]); /* g */
    return true;
}

bool pclntab_step(const struct pclntab *t, const struct sw_memory *stack, const struct sw_frame *frame,
                  struct sw_regs *caller, bool *is_confirmed)
{
    struct function f;
    const struct sw_regs *regs = &frame->regs;
    if (!find_function(t, frame->lookup, &f) || f.bytes[t->layout->flags] & WRITES_SP || is_outermost(t, &f))
        return false;
    const int32_t depth = value_at(t, &f, half_of(f.bytes, FUNCTION_DEPTH), frame->lookup);
    if (depth < 0 || depth % 8 || depth > DEPTH_MOST)
        return false;
    *caller = (struct sw_regs){ .machine = regs->machine };
    if (!(regs->machine == SW_MACHINE_X64     ? step_x64(stack, regs, (uint64_t)depth, caller)
          : regs->machine == SW_MACHINE_ARM64 ? step_arm64(stack, frame, (uint64_t)depth, caller)
                                              : false))
        return false;
    *is_confirmed = !is_by_hand(t, &f, frame) && is_return(t, regs->machine, sw_regs_pc(caller));
    return true;
}
