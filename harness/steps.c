/*
 * What a script may say, one row for each statement: its words, the arguments it takes, and the function of harness.h
 * that it stands for. Refuses to know how lines are read.
 */
#include "script.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* How long `wait calls` and `wait raised` wait: a limit for hangs, not for slow machines. */
enum { PATIENCE_MS = 60000 };

typedef enum sw_status step(struct sw_script *script, const struct sw_argument *arguments);

static void nap(unsigned ms)
{
    const struct timespec pause = { ms / 1000, (long)(ms % 1000) * 1000000 };
    (void)nanosleep(&pause, NULL);
}

/* ---- words for numbers ---- */

struct word {
    const char *word;
    uint32_t value;
};

static bool value_of(const struct word *words, size_t count, const char *word, uint32_t *value)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i].word, word) == 0) {
            *value = words[i].value;
            return true;
        }
    return false;
}

/* SW_TUBE_* */
static const struct word flags[] = {
    { "frame", SW_TUBE_SHAPE_FRAME },         { "saves", SW_TUBE_SHAPE_SAVES },
    { "frameless", SW_TUBE_SHAPE_FRAMELESS }, { "large", SW_TUBE_SHAPE_LARGE },
    { "precompiled", SW_TUBE_PRECOMPILED },   { "hidden", SW_TUBE_HIDDEN },
    { "catches", SW_TUBE_CATCHES },           { "filters", SW_TUBE_FILTERS },
    { "finally", SW_TUBE_FINALLY },           { "dispatch", SW_TUBE_EH_DISPATCH },
};

/* COR_PRF_SUSPEND_REASON */
static const struct word reasons[] = {
    { "other", COR_PRF_SUSPEND_OTHER },
    { "gc", COR_PRF_SUSPEND_FOR_GC },
    { "appdomain-shutdown", COR_PRF_SUSPEND_FOR_APPDOMAIN_SHUTDOWN },
    { "code-pitching", COR_PRF_SUSPEND_FOR_CODE_PITCHING },
    { "shutdown", COR_PRF_SUSPEND_FOR_SHUTDOWN },
    { "debugger", COR_PRF_SUSPEND_FOR_INPROC_DEBUGGER },
    { "gc-prep", COR_PRF_SUSPEND_FOR_GC_PREP },
    { "rejit", COR_PRF_SUSPEND_FOR_REJIT },
    { "profiler", COR_PRF_SUSPEND_FOR_PROFILER },
};

static const struct word faults[] = {
    { "seed", SW_TUBE_FAULT_SEED },       { "midway", SW_TUBE_FAULT_MIDWAY }, { "unsafe", SW_TUBE_FAULT_UNSAFE },
    { "suspend", SW_TUBE_FAULT_SUSPEND }, { "dies", SW_TUBE_FAULT_DIES },
};
_Static_assert(COUNT(faults) == SW_TUBE_FAULT_COUNT, "a word for each fault");

/* ---- steps ---- */

static enum sw_status profiler(struct sw_script *script, const struct sw_argument *arguments)
{
    return sw_tube_load(script->tube, arguments[0].text, arguments[1].text);
}

static enum sw_status environment(struct sw_script *script, const struct sw_argument *arguments)
{
    const char *name = arguments[0].text, *value = arguments[1].text;
    if ((value ? setenv(name, value, 1) : unsetenv(name)) == 0)
        return SW_OK;
    return sw_script_say(script, SW_E_MALFORMED, "\"%s\" is no name of a variable", name);
}

static enum sw_status start(struct sw_script *script, const struct sw_argument *arguments)
{
    (void)arguments;
    return sw_tube_start(script->tube);
}

static enum sw_status attach(struct sw_script *script, const struct sw_argument *arguments)
{
    const char *data = arguments[0].text;
    return sw_tube_attach(script->tube, data, data ? strlen(data) : 0);
}

static enum sw_status shut_down(struct sw_script *script, const struct sw_argument *arguments)
{
    (void)arguments;
    return sw_tube_shutdown(script->tube);
}

static enum sw_status detach(struct sw_script *script, const struct sw_argument *arguments)
{
    (void)arguments;
    return sw_tube_detach(script->tube);
}

/* A handle that is null has left a problem. */
static enum sw_status made(const void *handle)
{
    return handle ? SW_OK : SW_E_ARGUMENT;
}

static enum sw_status module(struct sw_script *script, const struct sw_argument *arguments)
{
    return made(sw_tube_module_load(script->tube, arguments[0].text));
}

static enum sw_status unload_module(struct sw_script *script, const struct sw_argument *arguments)
{
    (void)script;
    return sw_tube_module_unload(arguments[0].module);
}

static enum sw_status function(struct sw_script *script, const struct sw_argument *arguments)
{
    uint32_t all = 0, one = 0;
    for (const struct sw_argument *flag = arguments + 3; flag->text; flag++, all |= one)
        if (!value_of(flags, COUNT(flags), flag->text, &one))
            return sw_script_say(script, SW_E_MALFORMED, "\"%s\" is no flag", flag->text);
    return made(sw_tube_function_add(arguments[0].module, arguments[1].text, arguments[2].text, all));
}

static enum sw_status unload_function(struct sw_script *script, const struct sw_argument *arguments)
{
    (void)script;
    return sw_tube_function_unload(arguments[0].function);
}

static enum sw_status compile(struct sw_script *script, const struct sw_argument *arguments)
{
    (void)script;
    return sw_tube_compile(arguments[0].function, arguments[1].thread);
}

static enum sw_status thread(struct sw_script *script, const struct sw_argument *arguments)
{
    return made(sw_tube_thread_start(script->tube, arguments[0].text));
}

static enum sw_status call(struct sw_script *script, const struct sw_argument *arguments)
{
    (void)script;
    return sw_tube_call(arguments[0].thread, arguments[1].function);
}

static enum sw_status native(struct sw_script *script, const struct sw_argument *arguments)
{
    (void)script;
    return sw_tube_native(arguments[0].thread, arguments[1].text);
}

static enum sw_status helper(struct sw_script *script, const struct sw_argument *arguments)
{
    (void)script;
    return sw_tube_helper(arguments[0].thread, arguments[1].text);
}

static enum sw_status give_back(struct sw_script *script, const struct sw_argument *arguments)
{
    (void)script;
    return sw_tube_give_back(arguments[0].thread);
}

static enum sw_status spin(struct sw_script *script, const struct sw_argument *arguments)
{
    (void)script;
    return sw_tube_spin(arguments[0].thread);
}

/* A function that the profiler's library exports, as managed code calls one by a P/Invoke: void SYMBOL(void *null). */
static enum sw_status run(struct sw_script *script, const struct sw_argument *arguments)
{
    void *library = script->tube->library ? script->tube->library : RTLD_DEFAULT;
    void (*symbol)(void *) = (void (*)(void *))dlsym(library, arguments[1].text);
    if (!symbol)
        return sw_script_say(script, SW_E_NOT_FOUND, "the profiler exports no \"%s\"", arguments[1].text);
    return sw_tube_run(arguments[0].thread, symbol, NULL);
}

static enum sw_status allocate(struct sw_script *script, const struct sw_argument *arguments)
{
    (void)script;
    return sw_tube_allocate(arguments[0].thread, arguments[1].text);
}

static enum sw_status throw(struct sw_script * script, const struct sw_argument *arguments) {
    (void)script; return sw_tube_raise(arguments[0].thread, arguments[1].text);
}

static enum sw_status caught(struct sw_script *script, const struct sw_argument *arguments)
{
    (void)script;
    return sw_tube_caught(arguments[0].thread);
}

static enum sw_status end(struct sw_script *script, const struct sw_argument *arguments)
{
    (void)script;
    return sw_tube_end(arguments[0].thread);
}

static enum sw_status suspend(struct sw_script *script, const struct sw_argument *arguments)
{
    uint32_t reason;
    if (!value_of(reasons, COUNT(reasons), arguments[0].text, &reason))
        return sw_script_say(script, SW_E_MALFORMED, "\"%s\" is no reason", arguments[0].text);
    return sw_tube_suspend(script->tube, arguments[1].thread, (COR_PRF_SUSPEND_REASON)reason);
}

static enum sw_status resume(struct sw_script *script, const struct sw_argument *arguments)
{
    return sw_tube_resume(script->tube, arguments[0].thread);
}

static enum sw_status collect(struct sw_script *script, const struct sw_argument *arguments)
{
    return sw_tube_collect(script->tube, arguments[0].thread);
}

static enum sw_status fail(struct sw_script *script, const struct sw_argument *arguments)
{
    uint32_t fault;
    if (!value_of(faults, COUNT(faults), arguments[0].text, &fault))
        return sw_script_say(script, SW_E_MALFORMED, "\"%s\" is no fault", arguments[0].text);
    return sw_tube_fail(script->tube, (enum sw_tube_fault)fault, (unsigned)arguments[1].low);
}

static enum sw_status answer(struct sw_script *script, const struct sw_argument *arguments)
{
    uint64_t number = 0;
    HRESULT hr;
    const char *slot = arguments[0].text, *word = arguments[1].text;
    char *behind = NULL;
    if (strcmp(word, "default") == 0)
        return sw_tube_answer_default(script->tube, slot);
    if (sw_hresult_named(word, &hr))
        return sw_tube_answer(script->tube, slot, hr);
    if (strncmp(word, "0x", 2) == 0 && strlen(word) == 10)
        number = strtoull(word + 2, &behind, 16);
    if (!behind || *behind)
        return sw_script_say(script, SW_E_MALFORMED, "\"%s\" is no HRESULT: a name, 0x and 8 digits, or default", word);
    return sw_tube_answer(script->tube, slot, (HRESULT)(uint32_t)number);
}

static enum sw_status wait_ms(struct sw_script *script, const struct sw_argument *arguments)
{
    if (arguments[0].low > PATIENCE_MS)
        return sw_script_say(script, SW_E_MALFORMED, "%llu ms are more than %d", (unsigned long long)arguments[0].low,
                             PATIENCE_MS);
    nap((unsigned)arguments[0].low);
    return SW_OK;
}

typedef size_t counter(const struct sw_tube *tube, const char *name);

static enum sw_status wait_until(struct sw_script *script, const struct sw_argument *arguments, counter *count,
                                 const char *what)
{
    const size_t before = arguments[1].is_relative ? count(script->tube, arguments[0].text) : 0;
    size_t now = before;
    for (unsigned waited = 0; waited < PATIENCE_MS; waited++, nap(1)) {
        now = count(script->tube, arguments[0].text);
        if (now - before >= arguments[1].low)
            return SW_OK;
    }
    return sw_script_say(script, SW_E_MALFORMED, "%s was %s %zu times in %d s", arguments[0].text, what, now,
                         PATIENCE_MS / 1000);
}

static enum sw_status wait_calls(struct sw_script *script, const struct sw_argument *arguments)
{
    return wait_until(script, arguments, sw_tube_calls, "called");
}

static enum sw_status wait_raised(struct sw_script *script, const struct sw_argument *arguments)
{
    return wait_until(script, arguments, sw_tube_raised, "raised");
}

/* The stack goes into the recording. */
static enum sw_status snapshot(struct sw_script *script, const struct sw_argument *arguments)
{
    (void)sw_tube_stack(arguments[0].thread, script->stack, sizeof script->stack);
    sw_tube_record_begin(script->tube, "stack", arguments[0].text);
    sw_tube_record_text(script->tube, "stack", script->stack);
    sw_tube_record_end(script->tube);
    return SW_OK;
}

const struct sw_statement sw_script_steps[] = {
    /* clang-format off */
    { "profiler",        "PATH [CLSID]",                 profiler },
    { "environment",     "NAME [VALUE]",                 environment },
    { "start",           "",                             start },
    { "attach",          "[DATA]",                       attach },
    { "shutdown",        "",                             shut_down },
    { "detach",          "",                             detach },
    { "module",          "FILE",                         module },
    { "unload module",   "MODULE",                       unload_module },
    { "function",        "MODULE TYPE METHOD [FLAG...]", function },
    { "unload function", "FUNCTION",                     unload_function },
    { "compile",         "FUNCTION [THREAD]",            compile },
    { "thread",          "NAME",                         thread },
    { "call",            "THREAD FUNCTION",              call },
    { "native",          "THREAD NAME",                  native },
    { "helper",          "THREAD NAME",                  helper },
    { "return",          "THREAD",                       give_back },
    { "spin",            "THREAD",                       spin },
    { "run",             "THREAD SYMBOL",                run },
    { "allocate",        "THREAD TYPE",                  allocate },
    { "throw",           "THREAD TYPE",                  throw },
    { "caught",          "THREAD",                       caught },
    { "end",             "THREAD",                       end },
    { "suspend",         "REASON [THREAD]",              suspend },
    { "resume",          "[THREAD]",                     resume },
    { "collect",         "[THREAD]",                     collect },
    { "fail",            "FAULT NUMBER",                 fail },
    { "answer",          "SLOT HRESULT",                 answer },
    { "wait",            "NUMBER",                       wait_ms },
    { "wait calls",      "SLOT COUNT",                   wait_calls },
    { "wait raised",     "CALLBACK COUNT",               wait_raised },
    { "snapshot",        "THREAD",                       snapshot },
    /* clang-format on */
};
const size_t sw_script_step_count = COUNT(sw_script_steps);
