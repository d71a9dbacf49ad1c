/*
 * hostile PID KIND ROUNDS: readers of a runtime's structures (java, node, python, ruby, mono, go), over the memory of a
 * process in which some words are changed in each round. Whatever they find, they end, and read nothing that is not
 * theirs (ASan). Prints how many frames were named; without changes first, so that a reader that never finds anything
 * fails.
 */
#include "hotspot.h"
#include "javascript.h"
#include "mono.h"
#include "pclntab.h"
#include "php.h"
#include "python.h"
#include "ruby.h"

#include <snapwalk/process.h>
#include <snapwalk/runtime_kind.h>
#include <snapwalk/walk.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MOST = 64, STEPS_MOST = 200 };

static void must(enum sw_status status, const char *what)
{
    if (status == SW_OK)
        return;
    fprintf(stderr, "hostile: %s: %s\n", what, sw_status_name(status));
    exit(1);
}

static struct sw_memory real;
static uint64_t seed;
static unsigned often; /* one read in so many is changed; 0: none */

static uint64_t next_random(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return seed >> 33;
}

/* A changed word is near zero, near the end of memory, near another, or anything. */
static uint64_t changed(uint64_t word)
{
    switch (next_random() % 6) {
    case 0:
        return next_random() % 64;
    case 1:
        return UINT64_MAX - next_random() % 64;
    case 2:
        return word + 8 * (next_random() % 64);
    case 3:
        return word ^ UINT64_C(1) << next_random() % 64;
    case 4:
        return next_random() << 32 | next_random();
    default:
        return word - 8 * (next_random() % 64);
    }
}

static size_t read_changed(void *arg, uint64_t address, void *to, size_t size)
{
    uint64_t word = 0;
    (void)arg;
    const size_t got = real.read(real.arg, address, to, size);
    if (!often || next_random() % often || !got)
        return got;
    memcpy(&word, to, got < 8 ? got : 8);
    word = changed(word);
    memcpy(to, &word, got < 8 ? got : 8);
    return next_random() % 16 ? got : next_random() % (got + 1);
}

/* ---- one stack by each reader ---- */

struct readers {
    struct hotspot *hotspot;
    struct v8 *v8;
    struct python *python;
    struct mono *mono;
    struct ruby *ruby;
    struct php *php;
    struct pclntab *go;
};

struct runtime_walks {
    struct python_walk python;
    struct ruby_walk ruby;
    struct php_walk php;
};

static unsigned name_go(const struct pclntab *go, const struct sw_memory *stack, const struct sw_frame *frame)
{
    static struct runtime_call functions[PCLNTAB_INLINED_MOST];
    struct sw_regs caller;
    uint64_t begin;
    bool is_confirmed;
    (void)pclntab_step(go, stack, frame, &caller, &is_confirmed);
    (void)pclntab_is_outermost(go, frame);
    return (unsigned)pclntab_name(go, frame->lookup, functions, &begin);
}

static uint64_t identify_calls(const struct readers *r, const struct sw_frame *frame, uint64_t tid,
                               struct runtime_walks *walks, uint64_t *calls)
{
    if (r->ruby)
        return ruby_identify(r->ruby, frame, &walks->ruby, calls);
    if (r->php)
        return php_identify(r->php, frame, &walks->php, calls);
    return r->python ? python_identify(r->python, tid, frame, sw_regs_sp(&frame->regs) + 1024, &walks->python, calls)
                     : 0;
}

static bool name_call(const struct readers *r, const struct sw_frame *frame, uint64_t *calls, struct runtime_call *call)
{
    if (r->ruby)
        return ruby_name(r->ruby, calls, call);
    return r->php ? php_name(r->php, frame, calls, call) : python_name(r->python, calls, call);
}

static unsigned name_frame(const struct readers *r, const struct sw_memory *stack, const struct sw_frame *frame,
                           uint64_t tid, struct runtime_walks *walks)
{
    static struct hotspot_call methods[HOTSPOT_INLINED_MOST];
    static char names[2][HOTSPOT_NAME_BYTES];
    static struct runtime_call call;
    uint64_t function = 0;
    unsigned calls = 0;
    if (r->hotspot)
        return hotspot_name(r->hotspot, frame, hotspot_identity(r->hotspot, stack, frame), methods) > 0;
    if (r->v8) {
        if (v8_identify(r->v8, stack, frame, &function) != V8_NONE)
            v8_name(r->v8, function, names[0], names[1], HOTSPOT_NAME_BYTES);
        return function != 0;
    }
    if (r->go)
        return name_go(r->go, stack, frame);
    if (r->mono)
        return frame->code.kind == SW_KIND_JIT && mono_name(r->mono, frame->code.id, names[0], names[1]);
    if (!identify_calls(r, frame, tid, walks, &function))
        return 0;
    while (name_call(r, frame, &function, &call) && calls++ < CALLS_MOST)
        continue;
    return 1;
}

static bool step(const struct readers *r, const struct sw_memory *stack, const struct sw_frame *frame,
                 struct sw_regs *caller)
{
    return r->hotspot ? hotspot_step(r->hotspot, stack, frame, caller) : r->v8 && v8_step(r->v8, stack, frame, caller);
}

static unsigned walk_thread(struct sw_process *process, struct sw_images *images, const struct readers *r, uint64_t tid)
{
    static struct sw_scratch scratch;
    struct sw_code_finder java = { hotspot_find, r->hotspot }, mono = { mono_find, r->mono };
    struct sw_regs regs, caller;
    struct sw_walker walker;
    struct sw_walk walk;
    struct runtime_walks walks = { 0 };
    unsigned named = 0;
    if (sw_process_captured_walker(process, tid, NULL, images, &regs, &walker) != SW_OK)
        return 0;
    walker.finder = r->hotspot ? &java : r->mono ? &mono : NULL;
    sw_walk_start(&walk, &walker, &scratch, &regs, true);
    for (unsigned steps = 0; steps < STEPS_MOST && sw_walk_next(&walk); steps++) {
        named += name_frame(r, &walker.memory, &walk.frame, tid, &walks);
        if (step(r, &walker.memory, &walk.frame, &caller))
            sw_walk_start(&walk, &walker, &scratch, &caller, false);
    }
    return named;
}

/* Where the program's file begins, as the library knows that it is Go's. */
static enum sw_status open_go(struct sw_process *process, const struct sw_memory *memory, struct pclntab **go)
{
    struct sw_runtime found;
    return sw_process_runtimes(process, &found, 1) && found.kind == SW_RUNTIME_GO
               ? pclntab_open(memory, memory, found.address, go)
               : SW_E_NOT_FOUND;
}

static unsigned look(struct sw_process *process, struct sw_images *images, const char *kind)
{
    uint64_t tids[THREADS_MOST];
    size_t count = sw_process_captured(process, tids, THREADS_MOST);
    unsigned named = 0;
    const struct sw_memory memory = { read_changed, NULL, { 0, 0, NULL } };
    struct readers r = { 0 };
    const enum sw_status status = *kind == 'j'   ? hotspot_open(images, &memory, &r.hotspot)
                                  : *kind == 'n' ? v8_open(images, &memory, &r.v8)
                                  : *kind == 'm' ? mono_open(images, &memory, &r.mono)
                                  : *kind == 'r' ? ruby_open(images, &memory, &r.ruby)
                                  : *kind == 'z' ? php_open(images, &memory, &r.php)
                                  : *kind == 'g' ? open_go(process, &memory, &r.go)
                                                 : python_open(images, &memory, &r.python);
    if (status != SW_E_NOT_FOUND)
        must(status, "structures");
    for (size_t i = 0; i < count && i < THREADS_MOST; i++)
        named += walk_thread(process, images, &r, tids[i]);
    hotspot_close(r.hotspot);
    v8_close(r.v8);
    python_close(r.python);
    mono_close(r.mono);
    ruby_close(r.ruby);
    php_close(r.php);
    pclntab_close(r.go);
    return named;
}

int main(int argc, char **argv)
{
    struct sw_process *process;
    struct sw_images *images;
    if (argc != 4)
        return 2;
    must(sw_process_open(NULL, atoi(argv[1]), &process), "open");
    must(sw_process_capture(process, 0), "capture");
    must(sw_images_create(NULL, &images), "images");
    must(sw_process_add_images(process, images), "images");
    real = sw_process_captured_memory(process);
    const unsigned whole = look(process, images, argv[2]);
    unsigned named = 0;
    for (unsigned round = 0; round < (unsigned)atoi(argv[3]); round++) {
        static const unsigned rates[] = { 4000, 400, 100, 30 };
        seed = round;
        often = rates[round % 4];
        named += look(process, images, argv[2]);
    }
    printf("%u frames named; in rounds with changes: %u\n", whole, named);
    sw_images_destroy(images);
    sw_process_close(process);
    return whole == 0;
}
