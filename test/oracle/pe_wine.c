/*
 * pe_wine ask DLL QUESTIONS: writes every instruction of every entry of a PE file's exception directory.
 * pe_wine compare DLL QUESTIONS ANSWERS [-v]: compares our rule, applied to the same registers and the same stack, with
 * what RtlVirtualUnwind answered (wine/unwind.c). Last line: NAME: E of T instructions equal[, CAUSE N]...
 * Where Wine is known to differ from the documented behaviour the difference is counted by its cause, which is told by
 * the bytes and the unwind data, never by the answers.
 */
#include "analyze/analyze.h"
#include "pe/pe.h"
#include "arch/x64/decode.h"

#include "wine/stack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FUNCTION_SIZE = 12, SHOWN = 20 };

static const uint8_t order[RESULTS] = { SW_X64_RIP, SW_X64_RSP, SW_X64_RBX, SW_X64_RBP, SW_X64_RSI,
                                        SW_X64_RDI, SW_X64_R12, SW_X64_R13, SW_X64_R14, SW_X64_R15 };
static const char *const order_names[RESULTS] = {
    "rip", "rsp", "rbx", "rbp", "rsi", "rdi", "r12", "r13", "r14", "r15"
};

struct dll {
    struct sw_pe pe;
    struct sw_bytes table;
    struct sw_pe_reader reader;
};

static void *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    void *bytes = malloc(*size + 1);
    if (bytes && fread(bytes, 1, *size, file) != *size)
        bytes = NULL;
    fclose(file);
    return bytes;
}

static bool open_dll(const char *path, struct dll *dll)
{
    struct sw_bytes bytes = { 0 };
    size_t size = 0;
    bytes.bytes = read_file(path, &size);
    bytes.size = size;
    if (!bytes.bytes || sw_pe_open(bytes, false, &dll->pe) != SW_OK)
        return false;
    dll->reader = sw_pe_reader_of(&dll->pe);
    return sw_pe_exceptions(&dll->pe, &dll->table) == SW_OK;
}

static struct sw_pe_function entry_at(const struct dll *dll, uint32_t index)
{
    const uint8_t *entry = dll->table.bytes + (uint64_t)FUNCTION_SIZE * index;
    return (struct sw_pe_function){ sw_load32(entry), sw_load32(entry + 4), sw_load32(entry + 8) };
}

/* ---- questions ---- */

/*
 * Wine 8.0 follows jumps in search of an epilogue's end, over pops, as often as they come: it does not come back from
 * jumps that lead to each other (a loop that waits).
 */
static bool is_endless(const struct dll *dll, uint32_t rva)
{
    for (unsigned jumps = 0; jumps < 64;) {
        const struct sw_bytes code = sw_pe_rest(&dll->pe, rva);
        struct sw_insn insn;
        if (!code.size || sw_x64_decode(code.bytes, code.size < 15 ? (size_t)code.size : 15, rva, &insn) != SW_OK)
            return false;
        const bool is_pop = insn.length <= 2 && (code.bytes[insn.length - 1] & 0xf8) == 0x58;
        if (insn.flow == SW_FLOW_JUMP)
            rva = (uint32_t)insn.target;
        else if (insn.flow == SW_FLOW_NEXT && is_pop)
            rva += insn.length;
        else
            return false;
        jumps++;
    }
    return true;
}

static bool ask_entry(const struct dll *dll, uint32_t index, FILE *out)
{
    const struct sw_pe_function function = entry_at(dll, index);
    const struct sw_bytes code = sw_pe_at(&dll->pe, function.begin, function.end - function.begin);
    for (uint64_t at = 0; at < code.size;) {
        const uint32_t rva = function.begin + (uint32_t)at;
        const struct question question = { index, rva, is_endless(dll, rva) };
        struct sw_insn insn;
        if (fwrite(&question, sizeof question, 1, out) != 1)
            return false;
        const bool decoded = sw_x64_decode(code.bytes + at, (size_t)(code.size - at), at, &insn) == SW_OK;
        at += decoded && insn.length ? insn.length : 1;
    }
    return true;
}

static int ask(const struct dll *dll, const char *path)
{
    FILE *out = fopen(path, "wb");
    if (!out)
        return 3;
    for (uint32_t i = 0; i < dll->table.size / FUNCTION_SIZE; i++)
        if (!ask_entry(dll, i, out))
            return 3;
    return fclose(out) ? 3 : 0;
}

/* ---- our answer ---- */

static size_t read_stack(void *arg, uint64_t address, void *to, size_t size)
{
    (void)arg;
    for (size_t i = 0; i < size; i++) {
        const uint64_t at = address + i;
        if (at - STACK_BEGIN >= STACK_SIZE)
            return i;
        ((uint8_t *)to)[i] = (uint8_t)(stack_word(at & ~UINT64_C(7)) >> 8 * (at & 7));
    }
    return size;
}

/* A register that we call unknown is 0 here: no word of the stack is. */
static enum sw_status our_answer(const struct dll *dll, const struct question *question, uint64_t *answer)
{
    const struct sw_pe_function function = entry_at(dll, question->entry);
    const struct sw_memory memory = { .read = read_stack };
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    struct sw_regs caller;
    struct sw_rule rule;
    for (unsigned n = 0; n < SW_X64_RIP; n++)
        sw_regs_set(&regs, n, register_value(n));
    sw_regs_set(&regs, SW_X64_RIP, question->rva);
    enum sw_status status =
        sw_pe_x64_rule(&dll->reader, &function, question->rva, true, SW_PE_WINDOWS_NONVOLATILE, &rule);
    if (status == SW_OK)
        status = sw_rule_apply(&rule, &regs, &memory, &caller, NULL, NULL);
    for (unsigned i = 0; i < RESULTS; i++)
        answer[i] = status == SW_OK && sw_regs_has(&caller, order[i]) ? caller.r[order[i]] : 0;
    return status;
}

/* ---- what the instructions do: a referee for differences ---- */

/* From a pc to the end of the function, by what the decoder says of each instruction. */
struct ending {
    enum sw_flow flow;
    uint64_t target;
    uint64_t answer[RESULTS];
};

static uint64_t stack_at(uint64_t address)
{
    uint64_t word = 0;
    return read_stack(NULL, address, &word, sizeof word) == sizeof word ? word : 0;
}

/* Only what an epilogue is made of: rsp set from a register, words loaded from the stack into registers. */
static bool run_effect(const struct sw_effect *effect, uint64_t *registers)
{
    if (effect->dst == SW_X64_RIP && effect->src != SW_X64_RSP)
        return true; /* where a jump goes */
    if (effect->dst > SW_X64_RIP || effect->src >= SW_X64_RIP)
        return false;
    if (effect->kind == SW_EFFECT_SET && effect->dst == SW_X64_RSP)
        registers[SW_X64_RSP] = registers[effect->src] + (uint64_t)effect->imm;
    else if (effect->kind == SW_EFFECT_LOAD && effect->src == SW_X64_RSP)
        registers[effect->dst] = stack_at(registers[SW_X64_RSP] + (uint64_t)effect->imm);
    else
        return false;
    return true;
}

static void note_ending(uint64_t *registers, const struct sw_insn *insn, struct ending *ending)
{
    if (insn->flow != SW_FLOW_RETURN) {
        registers[SW_X64_RIP] = stack_at(registers[SW_X64_RSP]);
        registers[SW_X64_RSP] += 8;
    }
    ending->flow = (enum sw_flow)insn->flow;
    ending->target = insn->target;
    for (unsigned i = 0; i < RESULTS; i++)
        ending->answer[i] = registers[order[i]];
}

static bool run_to_ending(const struct dll *dll, uint32_t rva, struct ending *ending)
{
    uint64_t registers[SW_X64_COUNT];
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        registers[n] = register_value(n);
    for (unsigned count = 0; count < 16; count++) {
        const struct sw_bytes code = sw_pe_rest(&dll->pe, rva);
        struct sw_insn insn;
        if (!code.size || sw_x64_decode(code.bytes, code.size < 15 ? (size_t)code.size : 15, rva, &insn) != SW_OK)
            return false;
        for (unsigned i = 0; i < insn.count; i++)
            if (!run_effect(&insn.effects[i], registers))
                return false;
        if (insn.flow != SW_FLOW_NEXT) {
            note_ending(registers, &insn, ending);
            return true;
        }
        rva += insn.length;
    }
    return false;
}

/* ---- differences, and why ---- */

/* One difference, with what its judges look at. */
struct difference {
    const struct dll *dll;
    struct sw_pe_function function;
    uint32_t rva;
    const uint64_t *ours;
};

/* The entry's own UNWIND_INFO; slots behind it. */
static bool info_of(const struct difference *d, uint8_t *info)
{
    const size_t got = d->dll->reader.get(d->dll->reader.arg, d->function.unwind, info, 4 + 2 * 255);
    return got >= 4 && got >= 4 + 2 * (size_t)info[2];
}

static const uint8_t *fetch(void *arg, uint64_t pc, size_t *size)
{
    const struct sw_bytes code = sw_pe_rest(arg, (uint32_t)pc);
    *size = (size_t)code.size;
    return code.size ? code.bytes : NULL;
}

/* What all instructions from the function's first one on say of rip and rsp; true where they say nothing. */
static bool analysis_agrees(const struct difference *d)
{
    static struct sw_analysis work;
    const struct sw_memory memory = { .read = read_stack };
    const struct sw_code code = { &sw_x64_arch, fetch, (void *)(uintptr_t)&d->dll->pe, NULL };
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    struct sw_regs caller;
    struct sw_rule rule;
    uint8_t info[4 + 2 * 255];
    if (!info_of(d, info) || (info[1] == 0 && info[2] != 0)) /* no prolog: a part of a function */
        return true;
    for (unsigned n = 0; n < SW_X64_RIP; n++)
        sw_regs_set(&regs, n, register_value(n));
    sw_regs_set(&regs, SW_X64_RIP, d->rva);
    if (sw_analyze_function(&code, d->function.begin, d->function.end, d->rva, &work, &rule) != SW_OK ||
        rule.trust == SW_TRUST_GUESS || sw_rule_apply(&rule, &regs, &memory, &caller, NULL, NULL) != SW_OK)
        return true;
    return caller.r[SW_X64_RIP] == d->ours[RESULT_RIP] && caller.r[SW_X64_RSP] == d->ours[RESULT_RSP];
}

static bool ends_here(const struct difference *d, struct ending *ending)
{
    return run_to_ending(d->dll, d->rva, ending) && memcmp(ending->answer, d->ours, sizeof ending->answer) == 0 &&
           analysis_agrees(d);
}

static bool is_jump_out(const struct difference *d)
{
    struct ending ending;
    return ends_here(d, &ending) && ending.flow == SW_FLOW_JUMP &&
           (ending.target <= d->function.begin || ending.target >= d->function.end);
}

static bool is_indirect_jump(const struct difference *d)
{
    struct ending ending;
    return ends_here(d, &ending) && ending.flow == SW_FLOW_INDIRECT;
}

/* By operation; ALLOC_LARGE has one more where its info is 1. "x64 exception handling", Microsoft Learn. */
static unsigned slots_of(const uint8_t *slot)
{
    static const uint8_t slots[16] = { 1, 2, 1, 1, 2, 3, 2, 3, 2, 3, 1, 3, 1, 1, 1, 1 };
    return slots[slot[1] & 15] + ((slot[1] & 15) == 1 && slot[1] >> 4 == 1 ? 1u : 0u);
}

static bool is_circle(const struct difference *d)
{
    return is_endless(d->dll, d->rva) && analysis_agrees(d);
}

/* Its rsp is found by a frame register that has nothing to do with rsp here; test/unit/clr.c follows its instructions.
 */
static bool has_large_frame_register(const struct difference *d)
{
    uint8_t info[4 + 2 * 255];
    if (!info_of(d, info))
        return false;
    for (unsigned i = 0; i < info[2]; i += slots_of(info + 4 + 2 * i))
        if ((info[4 + 2 * i + 1] & 15) == 11)
            return true;
    return false;
}

static bool is_before_a_code_behind_the_prolog(const struct difference *d)
{
    uint8_t info[4 + 2 * 255];
    return info_of(d, info) && info[2] && d->rva - d->function.begin >= info[1] && d->rva - d->function.begin < info[4];
}

static bool is_lea_from_another_register(const struct difference *d)
{
    uint8_t info[4 + 2 * 255];
    const struct sw_bytes code = sw_pe_at(&d->dll->pe, d->rva, 4);
    struct ending ending;
    return info_of(d, info) && code.size && (code.bytes[0] & 0xfe) == 0x48 && code.bytes[1] == 0x8d &&
           run_to_ending(d->dll, d->rva, &ending) && ((code.bytes[0] & 1) << 3 | (code.bytes[2] & 7)) != (info[3] & 15);
}

/*
 * Known differences between Wine 8.0 and the documented behaviour. Each is told by the code and the unwind data,
 * without a look at Wine's answer, and the instructions, to the function's end and from its beginning, must not
 * contradict ours.
 */
static const struct cause {
    const char *name;
    bool (*holds)(const struct difference *d);
} causes[] = {
    { "wine takes no jump out of the function for a tail call", is_jump_out },
    { "wine takes no indirect jump for a tail call", is_indirect_jump },
    { "wine does not come back from jumps in a circle", is_circle },
    { "wine has no SET_FPREG_LARGE (CoreCLR on Unix)", has_large_frame_register },
    { "wine applies all codes behind the declared end of the prolog", is_before_a_code_behind_the_prolog },
    { "wine takes lea rsp from any register for an epilogue", is_lea_from_another_register },
};
enum { CAUSES = sizeof causes / sizeof causes[0] };

/* CAUSES: none of them. */
static unsigned cause_of(const struct dll *dll, const struct question *question, const uint64_t *ours)
{
    const struct difference d = { dll, entry_at(dll, question->entry), question->rva, ours };
    unsigned i = 0;
    while (i < CAUSES && !causes[i].holds(&d))
        i++;
    return i;
}

static void show(const struct dll *dll, const struct question *question, enum sw_status status, const uint64_t *ours,
                 const uint64_t *theirs)
{
    const struct sw_pe_function function = entry_at(dll, question->entry);
    const struct sw_bytes code = sw_pe_at(&dll->pe, question->rva, 8);
    printf("%#" PRIx32 " in [%#" PRIx32 ", %#" PRIx32 "), unwind %#" PRIx32 ", code", question->rva, function.begin,
           function.end, function.unwind);
    for (unsigned i = 0; i < code.size; i++)
        printf(" %02x", code.bytes[i]);
    printf(": status %d", status);
    for (unsigned i = 0; i < RESULTS; i++)
        if (ours[i] != theirs[i])
            printf(" %s %" PRIx64 " not %" PRIx64, order_names[i], ours[i], theirs[i]);
    printf("\n");
}

static int compare(const struct dll *dll, const char *name, const struct question *questions, size_t count,
                   const uint64_t *answers, bool verbose)
{
    uint64_t equal = 0, by_cause[CAUSES + 1] = { 0 };
    for (size_t i = 0; i < count; i++) {
        uint64_t ours[RESULTS];
        const uint64_t *theirs = answers + RESULTS * i;
        const enum sw_status status = our_answer(dll, &questions[i], ours);
        if (memcmp(ours, theirs, sizeof ours) == 0) {
            equal++;
            continue;
        }
        const unsigned cause = cause_of(dll, &questions[i], ours);
        if (verbose || (cause == CAUSES && by_cause[CAUSES] < SHOWN))
            show(dll, &questions[i], status, ours, theirs);
        by_cause[cause]++;
    }
    printf("%s: %" PRIu64 " of %zu instructions equal", name, equal, count);
    for (unsigned i = 0; i < CAUSES; i++)
        if (by_cause[i])
            printf("; %s %" PRIu64, causes[i].name, by_cause[i]);
    if (by_cause[CAUSES])
        printf("; unexplained %" PRIu64, by_cause[CAUSES]);
    printf("\n");
    return by_cause[CAUSES] != 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int main(int argc, char **argv)
{
    static struct dll dll;
    if (argc < 4)
        return 2;
    if (!open_dll(argv[2], &dll)) {
        printf("%s: no exception directory\n", base_name(argv[2]));
        return 4;
    }
    if (strcmp(argv[1], "ask") == 0)
        return ask(&dll, argv[3]);
    size_t asked = 0, answered = 0;
    const struct question *questions = read_file(argv[3], &asked);
    const uint64_t *answers = argc > 4 ? read_file(argv[4], &answered) : NULL;
    if (!questions || !answers || answered / sizeof(uint64_t) / RESULTS != asked / sizeof *questions) {
        printf("%s: questions without answers\n", base_name(argv[2]));
        return 3;
    }
    return compare(&dll, base_name(argv[2]), questions, asked / sizeof *questions, answers, argc > 5);
}
