/*
 * snapstacks: the stacks of all threads of a process or a core, managed and native frames in one order. A process
 * stands only while its stacks are copied. snapstacks.1 says what it prints.
 *
 *     options ──► target (process, core; its runtime) ──► stacks (walks, names, groups) ──► text, plain, json, profiles
 */
#include "options.h"
#include "output.h"
#include "process_name.h"
#include "refuse.h"

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

static void write_report(const struct report *report, const struct options *o)
{
    FILE *file = o->output ? fopen(o->output, "w") : stdout;
    if (!file)
        refuse_with(EXIT_FAILED, o->output, "cannot be written; choose another --output");
    writers[o->format](report, file);
    const bool failed = ferror(file) || fflush(file) != 0;
    if (o->output && fclose(file) != 0)
        refuse_with(EXIT_FAILED, o->output, "could not be written to its end");
    if (failed)
        refuse_with(EXIT_FAILED, o->output ? o->output : "output", "could not be written to its end");
}

static void open_target(struct target *target, const struct options *o)
{
    if (o->core)
        target_open_core(target, o->core, o->sysroot);
    else
        target_open_process(target, process_named(o->process));
}

int main(int argc, char **argv)
{
    static struct target target;
    struct options options;
    struct stacks stacks;
    enum exit_code code;
    char runtime[32], name[THREAD_NAME_BYTES];
    if (!options_read(argc, argv, &options, &code))
        return (int)code;
    open_target(&target, &options);
    struct names *names = names_create(&target, options.raw);
    stacks_take(&stacks, &target, names);
    if (!options.all)
        stacks_group(&stacks);
    runtime_describe(&target.runtime, runtime, sizeof runtime);
    target_thread_name(&target, (uint64_t)target.pid, name);
    const struct report report = { .stacks = &stacks,
                                   .pid = (uint64_t)target.pid,
                                   .stopped_ns = target.process ? sw_process_stopped_ns(target.process) : 0,
                                   .name = names_keep(names, name),
                                   .runtime = runtime,
                                   .is_core = target.core != NULL,
                                   .is_verbose = options.verbose,
                                   .has_colours = wants_colours(&options),
                                   .format = options.format };
    write_report(&report, &options);
    code = stacks.absent_count ? EXIT_INCOMPLETE : EXIT_DONE;
    stacks_free(&stacks);
    names_destroy(names);
    target_close(&target);
    return (int)code;
}
