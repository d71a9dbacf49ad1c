/*
 * A program in qemu-aarch64, by the stub that qemu has for gdb: see target.h. ARM64, one thread. argv is qemu's: its
 * path, options, the program. Memory goes past the stub: with option -B an address of the program is one of qemu, a
 * fixed distance on.
 *
 * What qemu 7.2's stub does, and what is done about it: a step over a system call goes on over the instruction behind,
 * so those are run over by a breakpoint, and so are exclusive loads up to their stores; a signal that comes is told
 * before it is delivered, and its delivery is one step with the handler's first instruction, whose registers in front
 * are made from what the kernel's frame holds. It has no way to be interrupted but by a signal that the program would
 * get.
 */
#include "target.h"

#include "stub.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* STOP: in gdb's counting SIGQUIT, which few programs use and qemu always looks after. */
enum {
    TRAP = 5,
    STOP = 3,
    MOST_ARGUMENTS = 64,
    PATIENCE = 2000,
    FRAME_MOST = 16384,
    SIGRETURN = 139,
    EXCLUSIVE_MOST = 16
};

/* Where the program's addresses begin in qemu, which has nothing of its own there; and where they end. */
static const uint64_t guest_begin = UINT64_C(0x100000000000), guest_end = UINT64_C(0x200000000000);

/* ahead: registers that the program has reached already, one step further than was told. */
struct target_own {
    struct stub stub;
    struct sw_regs regs, ahead;
    bool is_ahead;
    uint64_t images[TARGET_MAPS];
    size_t image_count;
};

const enum sw_machine target_machine = SW_MACHINE_ARM64;
const struct shadow_machine *const target_shadow = &shadow_a64;

/* ---- stops ---- */

static bool read_regs(struct target *t)
{
    struct sw_regs *regs = &t->own->regs;
    *regs = (struct sw_regs){ .machine = SW_MACHINE_ARM64, .known = (UINT64_C(1) << SW_ARM64_COUNT) - 1 };
    return stub_ask(&t->own->stub, "g") && stub_words(t->own->stub.answer, regs->r, SW_ARM64_COUNT);
}

/* Waits for the program to stop: T, and the signal's number. False: it has ended, or the wait was to. */
static bool wait_stop(struct target *t, unsigned *signal)
{
    struct stub *stub = &t->own->stub;
    t->running = true;
    if (!stub_receive(stub))
        return false;
    if (stub->answer[0] != 'T' && stub->answer[0] != 'S') {
        t->ended = true;
        return false;
    }
    t->running = false;
    *signal = (unsigned)strtoul((char[]){ stub->answer[1], stub->answer[2], 0 }, NULL, 16);
    return read_regs(t);
}

static bool resume(struct target *t, const char *command, unsigned *signal)
{
    return stub_send(&t->own->stub, command) && wait_stop(t, signal);
}

static bool set_breakpoints(struct target *t, char how, const uint64_t *addresses, size_t count)
{
    char command[64];
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(command, sizeof command, "%c0,%" PRIx64 ",4", how, addresses[i]);
        if (!stub_do(&t->own->stub, command))
            return false;
    }
    return true;
}

/* Runs to any of some addresses. A signal that comes on the way is kept for the next step. */
static bool run_to(struct target *t, const uint64_t *addresses, size_t count)
{
    unsigned signal;
    if (!set_breakpoints(t, 'Z', addresses, count) || !resume(t, "c", &signal))
        return false;
    if (signal != TRAP)
        t->signal = (int)signal;
    return set_breakpoints(t, 'z', addresses, count);
}

/* ---- starting and ending ---- */

static bool connect_to(struct target *t, const char *path)
{
    for (unsigned tries = 0; tries < PATIENCE; tries++) {
        if (stub_connect(&t->own->stub, path))
            return true;
        if (waitpid(t->pid, NULL, WNOHANG) != 0) {
            t->pid = 0;
            return false;
        }
        target_sleep(5);
    }
    return false;
}

/* qemu's arguments, with the socket and the distance put in front of the program's. */
static bool begin(struct target *t, char *const argv[], char *const environment[], char *path)
{
    char base[32];
    char *arguments[MOST_ARGUMENTS + 6] = { argv[0], "-B", base, "-g", path };
    size_t count = 1;
    (void)snprintf(base, sizeof base, "0x%" PRIx64, guest_begin);
    for (; argv[count] && count < MOST_ARGUMENTS; count++)
        arguments[4 + count] = argv[count];
    t->shift = guest_begin;
    t->pid = t->tid = argv[count] ? -1 : fork();
    if (t->pid == 0)
        target_become(arguments, environment);
    return t->pid > 0 && connect_to(t, path);
}

static bool in_folder(struct target *t, char *const argv[], char *const environment[])
{
    char folder[] = "/tmp/stepXXXXXX", path[sizeof folder + 8];
    if (!mkdtemp(folder))
        return target_failed("mkdtemp");
    (void)snprintf(path, sizeof path, "%s/stub", folder);
    const bool connected = begin(t, argv, environment, path);
    (void)unlink(path);
    (void)rmdir(folder);
    return connected || target_failed(argv[0]);
}

/* AT_ENTRY among pairs of words. 0: there is none. */
static uint64_t entry_point(struct target *t)
{
    const struct stub *stub = &t->own->stub;
    if (!stub_ask(&t->own->stub, "qXfer:auxv:read::0,fff") || stub->answer[0] != 'l')
        return 0;
    for (size_t at = 1; at + 16 <= stub->size; at += 16) {
        uint64_t pair[2];
        memcpy(pair, stub->answer + at, sizeof pair);
        if (pair[0] == AT_ENTRY)
            return pair[1];
    }
    return 0;
}

bool target_start(struct target *t, char *const argv[], char *const environment[])
{
    if (!target_prepare(t) || !(t->own = calloc(1, sizeof *t->own)))
        return target_failed("memory");
    t->own->stub.socket = -1;
    if (!in_folder(t, argv, environment))
        return false;
    const uint64_t entry = stub_ask(&t->own->stub, "qSupported") && stub_ask(&t->own->stub, "?") ? entry_point(t) : 0;
    if (entry == 0 || !run_to(t, &entry, 1) || t->own->regs.r[SW_ARM64_PC] != entry)
        return target_failed("run to the entry point");
    return target_learn(t);
}

bool target_attach(struct target *t, char *const argv[], char *const environment[], unsigned milliseconds,
                   const char *thread)
{
    (void)thread; /* there is one */
    return target_start(t, argv, environment) && target_run(t, milliseconds);
}

void target_end(struct target *t)
{
    if (t->pid > 0 && kill(t->pid, SIGKILL) == 0)
        (void)waitpid(t->pid, NULL, 0);
    if (t->own)
        stub_close(&t->own->stub);
    free(t->own);
    free(t->maps_text);
    t->own = NULL;
    t->maps_text = NULL;
    t->ended = true;
}

/* ---- running ---- */

static bool go_on(struct target *t)
{
    char command[32] = "c";
    if (t->signal)
        (void)snprintf(command, sizeof command, "vCont;C%02x", (unsigned)t->signal);
    t->signal = 0;
    t->running = true;
    return stub_send(&t->own->stub, command);
}

bool target_run(struct target *t, unsigned milliseconds)
{
    unsigned signal;
    bool asked = false;
    t->own->is_ahead = false;
    t->own->stub.over = t->over;
    if (!go_on(t))
        return false;
    for (unsigned left = milliseconds;;) {
        if (!asked && !stub_wait(&t->own->stub, (int)left)) {
            asked = true;
            if (kill(t->pid, SIGQUIT) != 0)
                return false;
        }
        if (!wait_stop(t, &signal))
            return false;
        if (asked && signal == STOP)
            return target_learn(t);
        left = left > 1 ? left - 1 : 0; /* signals of its own must not keep it running for ever */
        t->signal = signal == TRAP ? 0 : (int)signal;
        if (!go_on(t))
            return false;
    }
}

/* ---- stepping ---- */

/*
 * Where the kernel's frame for a handler begins, by what it must hold: the registers that were interrupted, all of
 * them. 0: there is none, the signal was ignored.
 */
static uint64_t find_frame(struct target *t, const struct sw_regs *before, uint64_t sp)
{
    static uint8_t bytes[FRAME_MOST];
    const size_t got = target_read(t, sp, bytes, sizeof bytes);
    for (size_t at = 0; at + target_shadow->context + sizeof before->r <= got; at += 16)
        if (memcmp(bytes + at + target_shadow->context, before->r, sizeof before->r) == 0)
            return sp + at;
    return 0;
}

/* The frame record that the kernel makes for a handler, above its frame: what x29 is at the handler's first
 * instruction. */
static uint64_t find_record(struct target *t, const struct sw_regs *before, uint64_t frame)
{
    const uint64_t first = frame + target_shadow->context + sizeof before->r;
    for (uint64_t at = (first + 15) & ~UINT64_C(15); at - frame < FRAME_MOST; at += 16)
        if (target_word(t, at) == before->r[SW_ARM64_FP] && target_word(t, at + 8) == before->r[SW_ARM64_LR])
            return at;
    return 0;
}

/*
 * Delivers a signal. If a handler is entered its first instruction has been executed, too, and may have signed lr or
 * stored x29 and lr: registers are told as they were in front of it, and those behind it at the next step.
 */
static bool step_into_handler(struct target *t, bool *entered)
{
    struct target_own *own = t->own;
    const struct sw_regs before = own->regs;
    char command[32];
    unsigned signal;
    (void)snprintf(command, sizeof command, "vCont;S%02x", (unsigned)t->signal);
    t->signal = 0;
    if (!resume(t, command, &signal))
        return false;
    if (signal != TRAP)
        t->signal = (int)signal;
    const uint64_t frame = find_frame(t, &before, own->regs.r[SW_ARM64_SP]);
    if (frame == 0)
        return true;
    *entered = true;
    own->ahead = own->regs;
    own->is_ahead = true;
    own->regs.r[SW_ARM64_PC] -= 4;
    own->regs.r[SW_ARM64_SP] = frame;
    own->regs.r[SW_ARM64_FP] = find_record(t, &before, frame);
    own->regs.r[SW_ARM64_LR] &= UINT64_C(0x0000ffffffffffff);
    return true;
}

/* To the instruction behind, or to what a handler interrupted. */
static bool step_over_call(struct target *t)
{
    const struct sw_regs *regs = &t->own->regs;
    const uint64_t context = regs->r[SW_ARM64_SP] + target_shadow->context;
    const bool is_return = regs->r[8] == SIGRETURN;
    const uint64_t to = is_return ? target_word(t, context + 8 * SW_ARM64_PC) : regs->r[SW_ARM64_PC] + 4;
    return run_to(t, &to, 1);
}

/* LDXR, LDAXR, LDXP, LDAXP; STXR and so on. CASP is between them. Source: Arm ARM, C4.1, loads and stores. */
static bool is_exclusive(uint32_t word, bool load)
{
    const bool is_casp = (word & 0x80200000) == 0x00200000;
    return (word & 0x3fc00000) == (load ? 0x08400000 : 0x08000000) && !is_casp;
}

/* Where a conditional branch goes; 0: it is none. */
static uint64_t branch_target(uint32_t word, uint64_t pc)
{
    unsigned bits = 0;
    if ((word & 0xff000000) == 0x54000000 || (word & 0x7e000000) == 0x34000000)
        bits = 19;
    else if ((word & 0x7e000000) == 0x36000000)
        bits = 14;
    const uint32_t field = word >> 5 & ((1u << bits) - 1);
    return bits == 0 ? 0 : pc + 4 * (uint64_t)((int64_t)((uint64_t)field << (64 - bits)) >> (64 - bits));
}

/*
 * An exclusive load and its store are run over at once: between steps qemu lets go of what was loaded, so that the
 * store would fail for ever. Where to: behind the store, and where a branch on the way leads. 0: there is no such pair.
 */
static size_t behind_store(struct target *t, uint64_t pc, uint64_t to[EXCLUSIVE_MOST + 1])
{
    size_t count = 0;
    for (uint64_t at = pc; at < pc + 4 * EXCLUSIVE_MOST; at += 4) {
        const uint32_t word = (uint32_t)target_word(t, at);
        const uint64_t target = branch_target(word, at);
        if (target)
            to[count++] = target;
        if (is_exclusive(word, false)) {
            to[count++] = at + 4;
            return count;
        }
    }
    return 0;
}

static bool step_plainly(struct target *t)
{
    const uint64_t pc = t->own->regs.r[SW_ARM64_PC];
    uint64_t to[EXCLUSIVE_MOST + 1];
    unsigned signal;
    const size_t count = is_exclusive((uint32_t)target_word(t, pc), true) ? behind_store(t, pc, to) : 0;
    if (count)
        return run_to(t, to, count);
    if (!resume(t, "s", &signal))
        return false;
    if (signal != TRAP)
        t->signal = (int)signal;
    return true;
}

bool target_step(struct target *t, bool *entered)
{
    struct target_own *own = t->own;
    const uint8_t *bytes;
    *entered = false;
    own->stub.over = t->over;
    t->steps++;
    if (own->is_ahead) {
        own->is_ahead = false;
        own->regs = own->ahead;
        return true;
    }
    if (t->signal)
        return step_into_handler(t, entered);
    const size_t size = target_code(t, own->regs.r[SW_ARM64_PC], &bytes);
    if (shadow_kind_of(target_shadow, bytes, size) == SHADOW_SYSCALL)
        return step_over_call(t);
    return step_plainly(t);
}

bool target_regs(const struct target *t, struct sw_regs *regs)
{
    *regs = t->own->regs;
    return !t->running && !t->ended;
}

/* ---- mappings and images ---- */

/* qemu's own are left out. It never maps for execution what the program executes: files that cannot be written count as
 * code.
 */
bool target_map(struct target *t)
{
    char path[64];
    size_t kept = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)t->pid);
    target_take_maps(t, target_read_file(path, t->maps_text, TARGET_MAPS_TEXT));
    for (size_t i = 0; i < t->map_count; i++) {
        struct sw_map map = t->maps[i];
        if (map.begin < guest_begin || map.end > guest_end)
            continue;
        map.begin -= t->shift;
        map.end -= t->shift;
        map.executable = target_is_file(&map) && map.readable && !map.writable;
        t->maps[kept++] = map;
    }
    t->map_count = kept;
    return kept > 0;
}

static bool is_image(const struct sw_map *map)
{
    return target_is_file(map) && map->offset == 0 && map->readable;
}

static bool has_image(const struct target_own *own, uint64_t begin)
{
    for (size_t i = 0; i < own->image_count; i++)
        if (own->images[i] == begin)
            return true;
    return false;
}

static void forget_gone(struct target *t, struct sw_images *images)
{
    struct target_own *own = t->own;
    size_t kept = 0;
    for (size_t i = 0; i < own->image_count; i++) {
        const struct sw_map *map = target_map_at(t, own->images[i]);
        if (map && map->begin == own->images[i] && is_image(map))
            own->images[kept++] = own->images[i];
        else
            (void)!sw_images_remove(images, own->images[i]);
    }
    own->image_count = kept;
}

bool target_images(struct target *t, struct sw_images *images)
{
    struct target_own *own = t->own;
    char path[4096];
    forget_gone(t, images);
    for (size_t i = 0; i < t->map_count; i++) {
        const struct sw_map *map = &t->maps[i];
        if (!is_image(map) || has_image(own, map->begin) || own->image_count == TARGET_MAPS ||
            sw_maps_path(map, path, sizeof path, NULL) != SW_OK)
            continue;
        const enum sw_status status = sw_images_add_file(images, path, map->begin); /* what is no image is left out */
        if (status == SW_E_NO_MEMORY)
            return false;
        if (status == SW_OK)
            own->images[own->image_count++] = map->begin;
    }
    return true;
}

bool target_mirror(struct target *t, struct sw_codemap *codemap)
{
    (void)t;
    (void)codemap;
    return false; /* none of its programs writes a perf map */
}
