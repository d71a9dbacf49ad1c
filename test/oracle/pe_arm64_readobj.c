/*
 * pe_arm64_readobj IMAGE TEXT: Windows ARM64 unwind data beside what `llvm-readobj --unwind` makes of it. Its
 * instructions, which it prints in the order of undoing, are undone here by what they say; the rule at every
 * instruction of prologs and epilogs, and behind the prolog, has to be the same.
 */
#include "pe/pe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 256, WIDTH = 64, SCOPES = 64, FP = SW_ARM64_FP, LR = SW_ARM64_LR, SP = SW_ARM64_SP, PC = SW_ARM64_PC };

/* What is printed for one list of codes; byte: where the line's code is in the array. */
struct list {
    char line[LINES][WIDTH];
    uint32_t byte[LINES];
    unsigned count;
};

/* One function. tail: the index of the codes of the epilog at the end, or -1. start: of a scope, in instructions. */
struct entry {
    uint64_t address;
    uint32_t length;
    bool is_packed;
    int tail;
    struct list prolog, scopes[SCOPES];
    uint32_t start[SCOPES];
    unsigned scope_count;
};

struct place {
    unsigned base;
    int64_t off;
};

/* Undoing: where sp is, where registers are. */
struct undone {
    struct place sp, reg[SP];
    uint32_t restored;
    unsigned next;
};

struct run {
    struct sw_pe pe;
    struct sw_bytes table;
    uint64_t functions, packed, rules, wrong;
};

/* ---- instructions as text ---- */

static unsigned register_of(const char *name)
{
    if (strncmp(name, "lr", 2) == 0)
        return LR;
    if (strncmp(name, "fp", 2) == 0)
        return FP;
    return name[0] == 'x' ? (unsigned)strtoul(name + 1, NULL, 10) : SP;
}

/* The number behind the last '#', 0 when there is none. */
static int64_t number_of(const char *line)
{
    const char *at = strrchr(line, '#');
    return at ? strtoll(at + 1, NULL, 10) : 0;
}

static void put(struct undone *u, unsigned reg, int64_t above)
{
    if (reg >= SP)
        return;
    u->reg[reg] = (struct place){ u->sp.base, u->sp.off + above };
    u->restored |= UINT32_C(1) << reg;
}

/* stp a, b, [sp, #n] or [sp, #-n]! or [sp], #n; likewise ldp, str, ldr. */
static void undo_save(struct undone *u, const char *line)
{
    const bool is_pair = line[2] == 'p', moves = strchr(line, '!') || strstr(line, "],");
    const int64_t n = number_of(line), above = moves ? 0 : n;
    const char *first = line + 4, *second = strchr(line, ',') + 2;
    const unsigned reg = register_of(first);
    put(u, reg, above);
    if (is_pair)
        put(u, register_of(second), above + 8);
    for (unsigned i = 0; i < 2 * u->next && reg < SP; i++)
        put(u, reg + 2 + i, above + 16 + 8 * (int64_t)i);
    u->next = 0;
    if (moves)
        u->sp.off += n < 0 ? -n : n;
}

/* False: a text that is not known. */
static bool undo(struct undone *u, const char *line)
{
    if (strcmp(line, "nop") == 0 || strcmp(line, "pacibsp") == 0 || strcmp(line, "autibsp") == 0)
        return true;
    if (strstr(line, " next")) {
        u->next++;
        return true;
    }
    if (strncmp(line, "st", 2) == 0 || strncmp(line, "ld", 2) == 0) {
        undo_save(u, line);
        return true;
    }
    if (strncmp(line, "mov", 3) == 0 || strncmp(line, "add fp", 6) == 0 || strncmp(line, "sub sp, fp", 10) == 0) {
        u->sp = (struct place){ FP, -number_of(line) };
        return true;
    }
    if (strncmp(line, "sub sp", 6) == 0 || strncmp(line, "add sp", 6) == 0) {
        u->sp.off += number_of(line);
        return true;
    }
    return false;
}

/* ---- one rule ---- */

static bool same_place(const struct sw_rule *rule, struct sw_loc loc, struct place place)
{
    if (loc.kind == SW_LOC_AT_CFA)
        return place.base == rule->cfa.reg && loc.off == place.off - rule->cfa.off;
    return loc.kind == SW_LOC_AT_REG && loc.reg == place.base && loc.off == place.off;
}

static bool same_rule(const struct sw_rule *rule, const struct undone *u)
{
    if (rule->cfa.kind != SW_LOC_REG || rule->cfa.reg != u->sp.base || rule->cfa.off != u->sp.off)
        return false;
    for (unsigned n = 19; n < LR; n++)
        if (u->restored >> n & 1 ? !same_place(rule, rule->r[n], u->reg[n]) : rule->r[n].kind != SW_LOC_SAME)
            return false;
    if (u->restored >> LR & 1)
        return same_place(rule, rule->r[PC], u->reg[LR]);
    return rule->r[PC].kind == SW_LOC_REG && rule->r[PC].reg == LR;
}

/* The rule `at` instructions into the function, beside what undoing list from line `from` on gives. */
static void check(struct run *run, const struct entry *e, uint32_t at, const struct list *list, unsigned from)
{
    struct undone u = { .sp = { SP, 0 } };
    struct sw_rule rule;
    const uint64_t address = e->address + UINT64_C(4) * at;
    bool good = sw_pe_image_rule(&run->pe, run->table, address, true, &rule) == SW_OK;
    for (unsigned i = from; good && i < list->count && strcmp(list->line[i], "end") != 0; i++)
        good = undo(&u, list->line[i]);
    run->rules++;
    if (good && same_rule(&rule, &u))
        return;
    if (run->wrong++ == 0)
        printf("# another rule at %#" PRIx64 "\n", address);
}

/* Up to where the next one starts: clang 14 leaves an instruction of some tail calls out, so that they overlap. */
static void check_epilog(struct run *run, const struct entry *e, uint32_t start, uint32_t end, const struct list *list)
{
    for (unsigned i = 0; i < list->count && start + i < end; i++)
        check(run, e, start + i, list, i);
}

/* A packed word has one list, for both: its epilog leaves out the frame pointer and the stores of arguments. */
static void make_tail(const struct entry *e, struct list *tail)
{
    tail->count = 0;
    for (unsigned i = 0; i < e->prolog.count; i++) {
        const char *line = e->prolog.line[i];
        if (e->is_packed && (strncmp(line, "mov", 3) == 0 || (line[4] == 'x' && register_of(line + 4) < 8)))
            continue;
        if (e->is_packed || e->prolog.byte[i] >= (uint32_t)e->tail)
            memcpy(tail->line[tail->count++], line, WIDTH);
    }
}

static void check_entry(struct run *run, const struct entry *e)
{
    static struct list tail;
    const unsigned size = e->prolog.count ? e->prolog.count - 1 : 0; /* without "end" */
    unsigned epilog = 0;
    run->functions++;
    run->packed += e->is_packed;
    for (unsigned k = 0; k < size && k < e->length; k++)
        check(run, e, k, &e->prolog, size - k);
    for (unsigned i = 0; i < e->scope_count; i++)
        check_epilog(run, e, e->start[i], i + 1 < e->scope_count ? e->start[i + 1] : e->length, &e->scopes[i]);
    if (e->tail >= 0 || e->is_packed) {
        make_tail(e, &tail);
        epilog = tail.count;
        check_epilog(run, e, e->length - epilog, e->length, &tail);
    }
    if (size + epilog < e->length && (e->scope_count == 0 || e->start[0] > size))
        check(run, e, size, &e->prolog, 0);
}

/* ---- the text ---- */

static char *trim(char *line)
{
    line += strspn(line, " ");
    line[strcspn(line, "\n")] = 0;
    return line;
}

/* "0xd2c1   ; str x30, [sp, #8]", or the instruction alone. */
static void add_line(struct list *list, const char *line)
{
    const char *text = strchr(line, ';');
    const uint32_t bytes = text ? (uint32_t)(strcspn(line, " ") - 2) / 2 : 0;
    if (list->count == LINES)
        return;
    snprintf(list->line[list->count], WIDTH, "%s", text ? text + 2 : line);
    if (list->count + 1 < LINES)
        list->byte[list->count + 1] = list->byte[list->count] + bytes;
    list->count++;
}

static uint64_t value_of(const char *line)
{
    return strtoull(strchr(line, ':') + 1, NULL, 0);
}

static bool begins(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

/* A line of a function's header, outside of the lists. */
static void take(struct entry *e, const char *line, struct list **list)
{
    if (begins(line, "Function:"))
        e->address = value_of(line);
    else if (begins(line, "FunctionLength:"))
        e->length = (uint32_t)value_of(line) / 4;
    else if (begins(line, "Fragment: No"))
        e->is_packed = true;
    else if (begins(line, "EpilogueOffset:"))
        e->tail = (int)value_of(line);
    else if (begins(line, "Prologue ["))
        *list = &e->prolog;
    else if (begins(line, "StartOffset:") && e->scope_count < SCOPES)
        e->start[e->scope_count] = (uint32_t)value_of(line);
    else if (begins(line, "Opcodes [") && e->scope_count < SCOPES)
        *list = &e->scopes[e->scope_count++];
}

static void read_text(struct run *run, FILE *text, uint64_t base)
{
    static struct entry e;
    struct list *list = NULL;
    char buffer[256];
    bool is_inside = false;
    while (fgets(buffer, sizeof buffer, text)) {
        const char *line = trim(buffer);
        if (begins(line, "RuntimeFunction {")) {
            if (is_inside)
                check_entry(run, &e);
            memset(&e, 0, sizeof e);
            e.tail = -1;
            is_inside = true;
        } else if (list && strcmp(line, "]") == 0) {
            list = NULL;
        } else if (list) {
            add_line(list, line);
        } else {
            take(&e, line, &list);
            if (begins(line, "Function:"))
                e.address -= base;
        }
    }
    if (is_inside)
        check_entry(run, &e);
}

static bool read_image(const char *path, struct sw_bytes *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    fseek(file, 0, SEEK_END);
    const size_t size = (size_t)ftell(file);
    rewind(file);
    uint8_t *to = malloc(size + 1);
    const bool read = to && fread(to, 1, size, file) == size;
    fclose(file);
    *bytes = (struct sw_bytes){ to, size, 0 };
    return read;
}

int main(int argc, char **argv)
{
    static struct run run;
    enum { IMAGE_BASE = 24 + 24 }; /* behind the signature and the COFF header: in the optional header, at 24 */
    struct sw_bytes bytes;
    const char *name = argc > 1 ? strrchr(argv[1], '/') ? strrchr(argv[1], '/') + 1 : argv[1] : "";
    FILE *text = argc == 3 ? fopen(argv[2], "r") : NULL;
    if (!text || !read_image(argv[1], &bytes) || sw_pe_open(bytes, false, &run.pe) != SW_OK ||
        run.pe.machine != SW_MACHINE_ARM64 || sw_pe_exceptions(&run.pe, &run.table) != SW_OK) {
        printf("not ok - %s: no ARM64 image with an exception directory\n", name);
        return 1;
    }
    const uint64_t base = sw_load64(bytes.bytes + sw_load32(bytes.bytes + 60) + IMAGE_BASE);
    read_text(&run, text, base);
    fclose(text);
    const bool good = run.functions && run.functions == run.table.size / 8 && !run.wrong;
    printf("%s - %s by llvm-readobj: %" PRIu64 " of %" PRIu64 " functions, %" PRIu64 " of them packed, %" PRIu64
           " rules, %" PRIu64 " unlike\n",
           good ? "ok" : "not ok", name, run.functions, run.table.size / 8, run.packed, run.rules, run.wrong);
    free((void *)(uintptr_t)bytes.bytes);
    return good ? 0 : 1;
}
