/* What the command line asks for, and how the program ends. Knows nothing of processes. */
#ifndef SNAPSTACKS_OPTIONS_H
#define SNAPSTACKS_OPTIONS_H

#include <stdbool.h>

/* Exit codes. ORDER snapstacks exit codes: snapstacks.1. */
enum exit_code {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,      /* memory, the system, or the output */
    EXIT_USAGE = 2,       /* the command line */
    EXIT_NOT_THERE = 3,   /* no such process, several of that name, or it has ended */
    EXIT_NOT_ALLOWED = 4, /* the system forbids to look at it */
    EXIT_NO_CORE = 5,     /* the file is no core, or one that cannot be read */
    EXIT_INCOMPLETE = 6,  /* stacks were printed, but threads were left out */
};

enum format { FORMAT_TEXT, FORMAT_PLAIN, FORMAT_JSON, FORMAT_FOLDED, FORMAT_PPROF, FORMAT_SPEEDSCOPE };
enum colour { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };

/* process or core is set, the other is null. output null: standard output. */
struct options {
    const char *process, *core, *sysroot, *output, *save;
    enum format format;
    enum colour colour;
    bool all, raw, verbose, no_lines, all_lines, ask_runtime;
    unsigned watch; /* seconds; 0: one look */
};

/* Returns false where the program ends at once, with *code: after --help, or when the command line is wrong. */
bool options_read(int argc, char **argv, struct options *options, enum exit_code *code);

#endif
