/* Reads the command line by one table, which the help is printed from, too. */
#include "options.h"

#include "refuse.h"
#include "symbols.h"

#include <snapwalk/status.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum action { SETS_TEXT, SETS_FORMAT, SETS_FLAG, SETS_COLOUR, SETS_SECONDS, SAYS_HELP, SAYS_VERSION };

/* `where` is the offset of the member; `value` what a format's row sets. */
static const struct row {
    const char *name, *argument, *help;
    enum action action;
    size_t where;
    enum format value;
} rows[] = {
    { "--pid", "PID|NAME", "a process, by its id or by its name", SETS_TEXT, offsetof(struct options, process), 0 },
    { "--core", "FILE", "a core file", SETS_TEXT, offsetof(struct options, core), 0 },
    { "--sysroot", "DIR", "folder with the files of the machine that the core is from", SETS_TEXT,
      offsetof(struct options, sysroot), 0 },
    { "--json", NULL, "one JSON object", SETS_FORMAT, 0, FORMAT_JSON },
    { "--folded", NULL, "folded stacks: one line a stack, root first", SETS_FORMAT, 0, FORMAT_FOLDED },
    { "--pprof", NULL, "a profile for pprof, one sample a thread", SETS_FORMAT, 0, FORMAT_PPROF },
    { "--speedscope", NULL, "a profile for speedscope", SETS_FORMAT, 0, FORMAT_SPEEDSCOPE },
    { "--plain", NULL, "for programs: one word after the other, one frame a line", SETS_FORMAT, 0, FORMAT_PLAIN },
    { "--output", "FILE", "writes there instead of to standard output", SETS_TEXT, offsetof(struct options, output),
      0 },
    { "--save", "FILE", "writes a capsule as well: a small core with what these stacks need", SETS_TEXT,
      offsetof(struct options, save), 0 },
    { "--ask-runtime", NULL, "has Java or .NET write a perf map before, for what is not named without", SETS_FLAG,
      offsetof(struct options, ask_runtime), 0 },
    { "--all", NULL, "prints every thread; threads with one stack are else one block", SETS_FLAG,
      offsetof(struct options, all), 0 },
    { "--raw", NULL, "names as compilers made them: MoveNext instead of the async method", SETS_FLAG,
      offsetof(struct options, raw), 0 },
    { "--all-lines", NULL, "unpacks compressed debug files of the system, too, for files and lines: slow", SETS_FLAG,
      offsetof(struct options, all_lines), 0 },
    { "--no-lines", NULL, "reads no debug information: no files and lines, no inlined functions", SETS_FLAG,
      offsetof(struct options, no_lines), 0 },
    { "--verbose", NULL, "says of each frame how it was found and how sure that is", SETS_FLAG,
      offsetof(struct options, verbose), 0 },
    { "--watch", "SECONDS", "samples, and prints where processor time went, top-down and bottom-up", SETS_SECONDS, 0,
      0 },
    { "--color", "WHEN", "auto, always or never; auto: on a terminal, unless NO_COLOR is set", SETS_COLOUR, 0, 0 },
    { "--help", NULL, "this text", SAYS_HELP, 0, 0 },
    { "--version", NULL, "the version", SAYS_VERSION, 0, 0 },
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static void print_help(FILE *file)
{
    fprintf(file,
            "usage: snapstacks [OPTION]... PID|NAME|CORE\n"
            "Prints the stacks of all threads of a process or of a core file, leaf first: native code, .NET, Node,\n"
            "Java, mono and others in one order.\n\n");
    for (size_t i = 0; i < ROWS; i++) {
        char option[40];
        snprintf(option, sizeof option, "%s%s%s", rows[i].name, rows[i].argument ? " " : "",
                 rows[i].argument ? rows[i].argument : "");
        fprintf(file, "  %-16s  %s\n", option, rows[i].help);
    }
    fprintf(file, "\nExit codes: 0 done, 1 failed, 2 command line, 3 no such process, 4 not allowed, 5 no core,\n"
                  "6 threads were left out. See snapstacks(1).\n");
}

static const struct row *find_row(const char *word)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, word) == 0)
            return &rows[i];
    if (strcmp(word, "-o") == 0)
        return find_row("--output");
    return strcmp(word, "-v") == 0 ? find_row("--verbose") : NULL;
}

static bool read_colour(const char *word, enum colour *colour)
{
    static const char *const names[] = { "auto", "always", "never" };
    for (int i = 0; i < 3; i++)
        if (strcmp(word, names[i]) == 0) {
            *colour = (enum colour)i;
            return true;
        }
    return false;
}

static bool read_seconds(const char *word, unsigned *seconds)
{
    char *end;
    const long number = strtol(word, &end, 10);
    *seconds = number >= 1 && number <= 86400 ? (unsigned)number : 0;
    return *end == 0 && *seconds;
}

static bool refuse(const char *what, const char *word, enum exit_code *code)
{
    complain("%s: %s; snapstacks --help lists the options", word, what);
    *code = EXIT_USAGE;
    return false;
}

/* What an option does. False: the program ends. */
static bool obey(const struct row *row, const char *argument, struct options *options, enum exit_code *code)
{
    char *member = (char *)options + row->where;
    switch (row->action) {
    case SETS_TEXT:
        memcpy(member, &argument, sizeof argument);
        return true;
    case SETS_FORMAT:
        options->format = row->value;
        return true;
    case SETS_FLAG:
        *(bool *)member = true;
        return true;
    case SETS_COLOUR:
        return read_colour(argument, &options->colour) || refuse("must be auto, always or never", argument, code);
    case SETS_SECONDS:
        return read_seconds(argument, &options->watch) ||
               refuse("must be a number of seconds, 1 to 86400", argument, code);
    case SAYS_HELP:
        print_help(stdout);
        return false;
    case SAYS_VERSION:
        printf("snapstacks %s, %s libdw\n", sw_version(), symbols_are_read() ? "with" : "without");
        return false;
    }
    return false;
}

/* A word that is no option: a file is a core, anything else a process. */
static void take_target(const char *word, struct options *options)
{
    struct stat st;
    const bool is_number = word[strspn(word, "0123456789")] == 0;
    if (!is_number && (strchr(word, '/') || (stat(word, &st) == 0 && S_ISREG(st.st_mode))))
        options->core = word;
    else
        options->process = word;
}

/* What the options ask for together. */
static bool check(const struct options *o, enum exit_code *code)
{
    if (!o->process == !o->core)
        return refuse(o->core ? "a process or a core, not both" : "a process or a core is needed",
                      o->core ? o->core : "no target", code);
    if (o->sysroot && !o->core)
        return refuse("is for cores only", "--sysroot", code);
    if (o->watch && (o->core || o->format != FORMAT_TEXT))
        return refuse("is for processes, and prints text", "--watch", code);
    if (o->watch && o->save)
        return refuse("is for one look, not for --watch", "--save", code);
    if (o->format == FORMAT_PPROF && !o->output && isatty(STDOUT_FILENO))
        return refuse("is no text: give --output FILE", "--pprof", code);
    return true;
}

bool options_read(int argc, char **argv, struct options *options, enum exit_code *code)
{
    *options = (struct options){ 0 };
    *code = EXIT_DONE;
    for (int i = 1; i < argc; i++) {
        const struct row *row = find_row(argv[i]);
        if (row && row->argument && i + 1 == argc)
            return refuse("needs an argument", argv[i], code);
        if (!row && argv[i][0] == '-')
            return refuse("no such option", argv[i], code);
        if (!row && (options->process || options->core))
            return refuse("a second target", argv[i], code);
        if (!row)
            take_target(argv[i], options);
        else if (!obey(row, row->argument ? argv[++i] : NULL, options, code))
            return false;
    }
    return check(options, code);
}
