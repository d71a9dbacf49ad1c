/*
 * Finds return addresses as debuggers do that scan stacks, and holds each against the tables. A word that lies on the
 * stack from an earlier call may lead to a root, too, by the frame from which that call came: but there another
 * function is called.
 */
#include "search.h"

#include "runtimes/callsite.h"
#include "runtimes/functions.h"

#include <snapwalk/names.h>

#include <string.h>

enum { BYTES_MOST = 1 << 16, WALKS_MOST = 64, FRAMES_MOST = 4096, PART_BYTES = 4096, NAME_BYTES = 256, CALLS_HELD = 9 };

static bool is_in_file(const struct sw_walker *walker, uint64_t address)
{
    struct sw_image image;
    return sw_images_find(walker->images, address - 1, &image) == SW_OK;
}

static bool is_jit(const struct sw_walker *walker, const struct sw_frame *frame)
{
    return frame->code.begin == frame->code.end && !is_in_file(walker, frame->lookup + 1);
}

static bool is_jump_by_table(const struct sw_walker *walker, uint64_t address)
{
    uint8_t code[12] = { 0 };
    (void)!walker->memory.read(walker->memory.arg, address, code, sizeof code);
    const uint8_t *at = memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0 ? code + 4 : code;
    at += *at == 0xf2;
    return at[0] == 0xff && at[1] == 0x25;
}

/* Where the function around an address begins, if that is known; cold: it is a part that was put elsewhere. */
static bool find_begin(const struct sw_images *images, uint64_t address, uint64_t *begin, bool *cold)
{
    char name[NAME_BYTES];
    if (sw_images_name(images, address, name, sizeof name, begin) != SW_OK)
        return false;
    *cold = strstr(name, ".cold") || strstr(name, ".part");
    return true;
}

/* Whether a call of a known function, in front of `address`, is of another than the known one at pc. */
static bool calls_another(const struct sw_walker *walker, const struct sw_images *images, uint64_t address, uint64_t pc)
{
    uint64_t called, running;
    bool cold;
    const uint64_t target = function_called(&walker->memory, address);
    return target && !is_jump_by_table(walker, target) && find_begin(images, target, &called, &cold) &&
           called == target && find_begin(images, pc - 1, &running, &cold) && running != target && !cold;
}

/* Tables take little work; what takes more is made of instructions, and no witness: all of it would be for nothing. */
enum { BUDGET = SW_WALK_BUDGET };

/*
 * Behind the first frame, which is the guess, each is stated by a table and borne out. A frame that was reached by a
 * jump, from the function that was called, is taken for one of an earlier call: it will be missing.
 */
static bool is_borne_out(const struct sw_walker *walker, const struct sw_images *images, struct sw_scratch *scratch,
                         const struct sw_regs *regs)
{
    struct sw_walker bounded = *walker;
    struct sw_walk walk;
    unsigned count = 0;
    uint64_t callee = 0;
    bounded.budget = BUDGET;
    sw_walk_start(&walk, &bounded, scratch, regs, false);
    while (sw_walk_next(&walk)) {
        const uint64_t pc = sw_regs_pc(&walk.frame.regs);
        if (++count > FRAMES_MOST || walk.frame.trust < SW_TRUST_EXACT ||
            (count > 1 && count <= CALLS_HELD && calls_another(walker, images, pc, callee)))
            return false;
        callee = pc;
        if (count > 2 && is_jit(walker, &walk.frame))
            return is_behind_call(&walker->memory, pc);
    }
    return count > 1 && stop_is_root(walk.stop);
}

static struct sw_regs regs_at(const struct sw_regs *callee, uint64_t pc, uint64_t sp)
{
    struct sw_regs regs = { .machine = callee->machine };
    sw_regs_set(&regs, SW_X64_RIP, pc);
    sw_regs_set(&regs, SW_X64_RSP, sp);
    return regs;
}

bool search_caller(const struct sw_walker *walker, const struct sw_images *images, struct sw_scratch *scratch,
                   const struct sw_frame *last, struct sw_regs *caller)
{
    uint64_t part[PART_BYTES / 8];
    const uint64_t begin = (sw_regs_sp(&last->regs) + 7) & ~UINT64_C(7);
    unsigned walks = 0;
    size_t got = 0;
    if (walker->machine != SW_MACHINE_X64 || !sw_regs_has(&last->regs, SW_X64_RSP))
        return false;
    for (uint64_t at = begin; at - begin < BYTES_MOST && walks < WALKS_MOST; at += 8) {
        const size_t index = (size_t)((at - begin) % PART_BYTES / 8);
        if (index == 0)
            got = walker->memory.read(walker->memory.arg, at, part, sizeof part) / 8;
        if (index >= got)
            return false;
        if (!is_in_file(walker, part[index]) || !is_behind_call(&walker->memory, part[index]))
            continue;
        walks++;
        *caller = regs_at(&last->regs, part[index], at + 8);
        if (is_borne_out(walker, images, scratch, caller))
            return true;
    }
    return false;
}
