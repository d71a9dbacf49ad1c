/*
 * audit [-u] [-a] [-p] FILE...: compares the unwind tables of ELF and PE files with their instructions. For each file
 * it prints how many instructions agree, and the differences, grouped by cause, with an address of each.
 *
 * -u  analyse as if only the starts of functions were known, not their ends
 * -a  print every place where a difference begins, instead of groups
 * -p  report progress on standard error every ten seconds
 */
#include <snapwalk/audit.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { GROUPS = 512, SHOWN = 24, LOOK_AT_CLOCK = 65536, EVERY_SECONDS = 10 };

/* Differences of one kind: the verdict, the kind of instruction before the first, and how sure the analysis is. */
struct group {
    uint8_t verdict;
    uint8_t after;
    uint8_t trust;
    uint8_t reg;
    uint8_t machine;
    unsigned long insns;
    unsigned long places;
    uint64_t at;
    char name[48];
    char table[96];
    char analysis[96];
};

/* in_false, equal_in_false: instructions compared, and equal, in functions whose table contradicts itself. */
struct totals {
    unsigned long verdict[SW_AUDIT_VERDICT_COUNT];
    unsigned long in_false, equal_in_false;
    unsigned long not_returning;
    unsigned long wrong[SW_TRUST_COUNT];
    unsigned long right[SW_TRUST_COUNT];
};

struct report {
    struct totals all, file;
    struct group groups[GROUPS];
    unsigned group_count;
    struct group *current;
    uint64_t next; /* address after the last difference */
    bool is_listing;
    bool says_progress;
    const char *path;
    unsigned long seen;
    time_t said;
};

static bool is_difference(unsigned verdict)
{
    return verdict >= SW_AUDIT_UNREACHED && verdict <= SW_AUDIT_FALSE;
}

static struct group *group_of(struct report *r, const struct sw_audit_insn *insn)
{
    for (unsigned i = 0; i < r->group_count; i++) {
        struct group *g = &r->groups[i];
        if (g->verdict == insn->verdict && g->after == insn->after && g->trust == insn->trust && g->reg == insn->reg)
            return g;
    }
    if (r->group_count == GROUPS)
        return &r->groups[GROUPS - 1];
    struct group *g = &r->groups[r->group_count++];
    *g = (struct group){ .verdict = insn->verdict,
                         .after = insn->after,
                         .trust = insn->trust,
                         .reg = insn->reg,
                         .machine = insn->function->machine,
                         .at = insn->address };
    snprintf(g->name, sizeof g->name, "%s", insn->function->name);
    sw_audit_text((enum sw_machine)insn->function->machine, insn->table, g->table, sizeof g->table);
    sw_audit_text((enum sw_machine)insn->function->machine, insn->analysis, g->analysis, sizeof g->analysis);
    return g;
}

static void list(const struct sw_audit_insn *insn)
{
    char table[96], analysis[96];
    printf("%#" PRIx64 " %s %s after %s, %s; function %#" PRIx64 " %s; table %s; analysis %s\n", insn->address,
           insn->function->returns ? "differs:" : "differs (does not return):",
           sw_audit_verdict_name((enum sw_audit_verdict)insn->verdict),
           sw_audit_after_name((enum sw_audit_after)insn->after), sw_trust_name((enum sw_trust)insn->trust),
           insn->function->begin, insn->function->name,
           sw_audit_text((enum sw_machine)insn->function->machine, insn->table, table, sizeof table),
           sw_audit_text((enum sw_machine)insn->function->machine, insn->analysis, analysis, sizeof analysis));
    if (insn->function->is_false)
        printf("  the table contradicts itself at %#" PRIx64 "\n", insn->function->false_at);
}

/* A run of differing instructions has the cause of its first one. */
static void note_difference(struct report *r, const struct sw_audit_insn *insn)
{
    if (!r->current || r->next != insn->address || r->current->verdict != insn->verdict) {
        r->current = group_of(r, insn);
        r->current->places++;
        if (r->is_listing)
            list(insn);
    }
    r->current->insns++;
    r->next = insn->address + insn->length;
}

/* For files that take minutes. The clock is read only every LOOK_AT_CLOCK instructions. */
static void say_progress(struct report *r)
{
    if (!r->says_progress || ++r->seen % LOOK_AT_CLOCK != 0 || time(NULL) - r->said < EVERY_SECONDS)
        return;
    r->said = time(NULL);
    fprintf(stderr, "%s: %lu instructions so far\n", r->path, r->seen);
}

static bool note(void *arg, const struct sw_audit_insn *insn)
{
    struct report *r = arg;
    const bool differs = is_difference(insn->verdict);
    say_progress(r);
    if (!insn->function->returns && (differs || insn->verdict == SW_AUDIT_EQUAL)) {
        r->file.not_returning++;
        return true;
    }
    r->file.verdict[insn->verdict]++;
    if (insn->verdict == SW_AUDIT_EQUAL)
        r->file.right[insn->trust]++;
    if (insn->function->is_false && (differs || insn->verdict == SW_AUDIT_EQUAL)) {
        r->file.in_false++;
        r->file.equal_in_false += !differs;
    }
    if (!differs)
        return true;
    if (insn->verdict != SW_AUDIT_LOST && insn->verdict != SW_AUDIT_FALSE)
        r->file.wrong[insn->trust]++;
    note_difference(r, insn);
    return true;
}

static unsigned long compared(const struct totals *t)
{
    unsigned long sum = 0;
    for (unsigned v = SW_AUDIT_EQUAL; v <= SW_AUDIT_FALSE; v++)
        sum += t->verdict[v];
    return sum;
}

static double percent(unsigned long part, unsigned long whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 100.0;
}

static int most_insns_first(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    return x->insns < y->insns ? 1 : x->insns > y->insns ? -1 : 0;
}

static void print_groups(struct report *r)
{
    qsort(r->groups, r->group_count, sizeof r->groups[0], most_insns_first);
    for (unsigned i = 0; i < r->group_count && i < SHOWN; i++) {
        const struct group *g = &r->groups[i];
        printf("  %8lu in %6lu places  %s%s%s, %s, after %s; %#" PRIx64 " %s: table %s, analysis %s\n", g->insns,
               g->places, sw_audit_verdict_name((enum sw_audit_verdict)g->verdict), g->reg ? " " : "",
               g->reg ? sw_regs_name((enum sw_machine)g->machine, g->reg) : "", sw_trust_name((enum sw_trust)g->trust),
               sw_audit_after_name((enum sw_audit_after)g->after), g->at, g->name, g->table, g->analysis);
    }
}

/* Right: equal. Wrong: another rule, or no rule. Neither: the table is false, or a register is lost. */
static void print_trust(const struct totals *t)
{
    for (unsigned n = SW_TRUST_COUNT; n-- > SW_TRUST_NONE;)
        if (n <= SW_TRUST_LIKELY || t->right[n] + t->wrong[n] != 0)
            printf("%s %lu/%lu, ", sw_trust_name((enum sw_trust)n), t->right[n], t->wrong[n]);
    printf("register lost %lu, table false %lu\n", t->verdict[SW_AUDIT_LOST], t->verdict[SW_AUDIT_FALSE]);
}

static void print_totals(const struct totals *t)
{
    printf("  equal %lu of %lu (%.4f %%); by trust right/wrong: ", t->verdict[SW_AUDIT_EQUAL], compared(t),
           percent(t->verdict[SW_AUDIT_EQUAL], compared(t)));
    print_trust(t);
    printf("  in functions whose table contradicts itself: %lu of %lu equal\n", t->equal_in_false, t->in_false);
    printf("  not compared: in functions that do not return %lu", t->not_returning);
    for (unsigned v = SW_AUDIT_END; v < SW_AUDIT_VERDICT_COUNT; v++)
        printf(", %s %lu", sw_audit_verdict_name((enum sw_audit_verdict)v), t->verdict[v]);
    printf("\n");
}

/* The sums of all files. mk/audit.sh adds these three lines of many runs. */
static void print_sum(const struct totals *t)
{
    const unsigned long equal = t->verdict[SW_AUDIT_EQUAL], all = compared(t);
    const unsigned long wrong = t->wrong[SW_TRUST_LIKELY] + t->wrong[SW_TRUST_CONFIRMED] + t->wrong[SW_TRUST_EXACT];
    printf("by trust right/wrong: ");
    print_trust(t);
    printf("without functions whose table contradicts itself: %lu of %lu instructions equal (%.4f %%)\n",
           equal - t->equal_in_false, all - t->in_false, percent(equal - t->equal_in_false, all - t->in_false));
    printf("audit: %lu of %lu instructions equal (%.4f %%), wrong at full trust %lu\n", equal, all, percent(equal, all),
           wrong);
}

static void add(struct totals *to, const struct totals *from)
{
    for (unsigned v = 0; v < SW_AUDIT_VERDICT_COUNT; v++)
        to->verdict[v] += from->verdict[v];
    for (unsigned t = 0; t < SW_TRUST_COUNT; t++) {
        to->wrong[t] += from->wrong[t];
        to->right[t] += from->right[t];
    }
    to->not_returning += from->not_returning;
    to->in_false += from->in_false;
    to->equal_in_false += from->equal_in_false;
}

/* A copy: who reads from a mapping faults when somebody cuts the file short meanwhile. */
static void *read_file(const char *path, size_t *size)
{
    struct stat st;
    uint8_t *bytes = NULL;
    size_t done = 0;
    const int fd = open(path, O_RDONLY);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0)
        bytes = malloc((size_t)st.st_size);
    for (ssize_t got = 1; bytes && got > 0 && done<(size_t)st.st_size; done += got> 0 ? (size_t)got : 0)
        got = read(fd, bytes + done, (size_t)st.st_size - done);
    if (fd >= 0)
        close(fd);
    *size = done;
    return bytes;
}

static bool audit(struct report *r, const char *path, uint32_t flags)
{
    size_t size;
    void *bytes = read_file(path, &size);
    if (!bytes) {
        printf("%s: cannot be read\n", path);
        return false;
    }
    memset(&r->file, 0, sizeof r->file);
    r->group_count = 0;
    r->current = NULL;
    r->path = path;
    r->seen = 0;
    r->said = time(NULL);
    const enum sw_status status = sw_audit_file(bytes, size, NULL, flags, note, r);
    free(bytes);
    printf("%s: %s\n", path, status == SW_OK ? "audited" : sw_status_name(status));
    if (status != SW_OK)
        return false;
    print_totals(&r->file);
    if (!r->is_listing)
        print_groups(r);
    add(&r->all, &r->file);
    fflush(stdout);
    return true;
}

int main(int argc, char **argv)
{
    static struct report report;
    uint32_t flags = 0;
    bool good = true;
    int option;
    while ((option = getopt(argc, argv, "uap")) != -1) {
        if (option == '?')
            return 2;
        flags |= option == 'u' ? SW_AUDIT_END_UNKNOWN : 0;
        report.is_listing |= option == 'a';
        report.says_progress |= option == 'p';
    }
    if (optind == argc) {
        fprintf(stderr, "usage: audit [-u] [-a] [-p] FILE...\n");
        return 2;
    }
    for (int i = optind; i < argc; i++)
        good = audit(&report, argv[i], flags) && good;
    print_sum(&report.all);
    return good ? 0 : 1;
}
