/*
 * snapstacks: the stacks of all threads of a process or a core, managed and native frames in one order. A process
 * stands only while its stacks are copied. snapstacks.1 says what it prints.
 *
 *     options ──► target (process, core; its runtime) ──► stacks (walks, names, groups) ──► text, plain, json, profiles
 */
#include "heap.h"
#include "options.h"
#include "output.h"
#include "process_name.h"
#include "refuse.h"
#include "save.h"
#include "watch.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool wants_colours(const struct options *o)
{
    if (o->colour != COLOUR_AUTO)
        return o->colour == COLOUR_ALWAYS;
    const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return !o->output && isatty(STDOUT_FILENO) && !(no_colour && *no_colour) &&
           !(terminal && strcmp(terminal, "dumb") == 0);
}

/* ORDER format. */
static void (*const writers[])(const struct report *report,
                               FILE *file) = { write_text,    write_plain,   write_json,
                                               write_profile, write_profile, write_profile };

enum { OUTPUT_BYTES = 1 << 15 };

static FILE *open_output(const struct options *o)
{
    FILE *file = o->output ? fopen(o->output, "w") : stdout;
    if (!file)
        refuse_with(EXIT_FAILED, o->output, "cannot be written; choose another --output");
    (void)setvbuf(file, NULL, _IOFBF, OUTPUT_BYTES); /* a terminal, too, gets it at once */
    return file;
}

static void close_output(FILE *file, const struct options *o)
{
    const bool failed = ferror(file) || fflush(file) != 0;
    if (o->output && fclose(file) != 0)
        refuse_with(EXIT_FAILED, o->output, "could not be written to its end");
    if (failed)
        refuse_with(EXIT_FAILED, o->output ? o->output : "output", "could not be written to its end");
}

static void open_target(struct target *target, const struct options *o)
{
    if (o->core)
        target_open_core(target, o->core, o->sysroot, o->save != NULL);
    else
        target_open_process(target, process_named(o->process), o->save != NULL, o->ask_runtime);
}

static enum exit_code look(struct target *target, struct names *names, const struct options *o)
{
    struct stacks stacks;
    char runtime[32], name[THREAD_NAME_BYTES];
    stacks_take(&stacks, target, names);
    if (o->save)
        save(target, &stacks, o->save);
    target_let_go(target);
    if (!o->all)
        stacks_group(&stacks);
    runtime_describe(&target->runtime, runtime, sizeof runtime);
    target_thread_name(target, (uint64_t)target_live_thread(target), name);
    const struct report report = { .stacks = &stacks,
                                   .pid = (uint64_t)target->pid,
                                   .stopped_ns = target->process ? sw_process_stopped_ns(target->process) : 0,
                                   .name = names_keep(names, name),
                                   .runtime = runtime,
                                   .is_core = target->core != NULL,
                                   .is_verbose = o->verbose,
                                   .has_colours = wants_colours(o),
                                   .format = o->format };
    FILE *file = open_output(o);
    writers[o->format](&report, file);
    close_output(file, o);
    const enum exit_code code = stacks.absent_count ? EXIT_INCOMPLETE : EXIT_DONE;
    stacks_free(&stacks);
    return code;
}

static enum exit_code look_often(struct target *target, struct names *names, const struct options *o)
{
    struct hot *hot = hot_create();
    const unsigned samples = watch(target, names, o->watch, hot);
    FILE *file = open_output(o);
    fprintf(file, "process %d, %u samples in %u s, ", target->pid, samples, o->watch);
    hot_write(hot, file);
    close_output(file, o);
    hot_destroy(hot);
    return EXIT_DONE;
}

/* Stops of threads that are traced are no news: the kernel would wake this thread for each of them. */
static void ignore_stops(void)
{
    const struct sigaction action = { .sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP };
    (void)sigaction(SIGCHLD, &action, NULL);
}

int main(int argc, char **argv)
{
    static struct target target;
    struct options options;
    enum exit_code code;
    char root[PATH_MAX], program[PATH_MAX];
    heap_begin();
    if (!options_read(argc, argv, &options, &code))
        return (int)code;
    ignore_stops();
    open_target(&target, &options);
    if (options.core)
        snprintf(root, sizeof root, "%s", options.sysroot ? options.sysroot : "");
    else
        snprintf(root, sizeof root, "/proc/%d/root", target_live_thread(&target));
    const struct sw_memory memory = target_memory(&target);
    const enum lines lines = options.no_lines ? LINES_NONE : options.all_lines ? LINES_ALL : LINES_OWN;
    target_program(&target, program);
    struct symbols *symbols = symbols_create(root, &memory, lines);
    struct assemblies *assemblies = options.no_lines ? NULL : assemblies_create(root, &memory, program);
    struct names *names = names_create(&target, symbols, assemblies, options.raw);
    code = options.watch ? look_often(&target, names, &options) : look(&target, names, &options);
    names_destroy(names);
    assemblies_destroy(assemblies);
    symbols_destroy(symbols);
    target_close(&target);
    return (int)code;
}
