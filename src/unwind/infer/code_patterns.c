/*
 * What code looks like from outside. Knows the encodings that matter before anything is decoded in order: those of calls
 * and jumps, and what loads an address. Source: Intel SDM vol. 2; Arm ARM C4.1; prologue-shapes.md sections 1, 3 and 5, F.
 */
#include "unwind/infer/code_patterns.h"

#include "arch/a64/a64.h"
#include "base/bytes.h"
#include "arch/x64/x64.h"

#include <string.h>

enum { LONGEST_CALL = 8, WORD = 4, NEAR_CALL = 64, ALIGNMENT = 16 };

/* ---- calls ---- */

static bool arm64_call_before(const struct sw_unwind_request *req, uint64_t after, uint64_t *target)
{
    size_t size;
    struct sw_insn insn;
    const uint8_t *bytes = after >= WORD ? sw_fetch_code(&req->work->fetch, after - WORD, &size) : NULL;
    if (!bytes || after % WORD != 0 || sw_a64_decode(bytes, size, after - WORD, &insn) != SW_OK)
        return false;
    *target = insn.target;
    return insn.flow == SW_FLOW_CALL;
}

bool sw_call_before(const struct sw_unwind_request *req, uint64_t after, uint64_t *target, uint64_t *slot)
{
    /* The page in front may be missing: the shorter forms are asked for alone. */
    static const uint8_t sizes[] = { LONGEST_CALL, 5, 2 };
    *target = *slot = 0;
    if (after < LONGEST_CALL)
        return false;
    if (req->walker->machine == SW_MACHINE_ARM64)
        return arm64_call_before(req, after, target);
    for (unsigned i = 0; i < sizeof sizes; i++) {
        size_t size;
        const uint8_t *bytes = sw_fetch_code(&req->work->fetch, after - sizes[i], &size);
        if (bytes && size >= sizes[i])
            return sw_x64_call_before(bytes, sizes[i], after, target, slot);
    }
    return false;
}

bool sw_is_behind_call(const struct sw_unwind_request *req, uint64_t after, uint64_t *target)
{
    uint64_t slot;
    *target = 0;
    if (!sw_call_before(req, after, target, &slot))
        return false;
    if (slot && !sw_memory_word(&req->walker->memory, slot, target))
        *target = 0;
    *target = sw_code_address(req->walker, *target);
    return true;
}

/* ---- stubs ---- */

static bool decode_x64(const struct sw_unwind_request *req, uint64_t at, struct sw_insn *insn)
{
    size_t size;
    const uint8_t *bytes = sw_fetch_code(&req->work->fetch, at, &size);
    return bytes && sw_x64_decode(bytes, size, at, insn) == SW_OK;
}

/* jmp [rip + x], perhaps behind endbr64. */
static bool x64_goes_through(const struct sw_unwind_request *req, uint64_t at, uint64_t *slot)
{
    struct sw_insn insn;
    if (!decode_x64(req, at, &insn))
        return false;
    if (insn.flow == SW_FLOW_NEXT && insn.count == 0 && !decode_x64(req, at + insn.length, &insn))
        return false;
    *slot = insn.slot;
    return insn.flow == SW_FLOW_INDIRECT && insn.slot;
}

bool sw_goes_through(const struct sw_unwind_request *req, uint64_t at, uint64_t *slot)
{
    size_t size;
    if (req->walker->machine == SW_MACHINE_X64)
        return x64_goes_through(req, at, slot);
    const uint8_t *bytes = sw_fetch_code(&req->work->fetch, at, &size);
    return bytes && sw_a64_goes_through(bytes, size, at, slot);
}

/* ---- addresses that are loaded ---- */

/* lea reg, [rip + x], anywhere. */
static size_t x64_loaded(const uint8_t *bytes, uint64_t begin, uint64_t addresses[SW_LOADED_MOST])
{
    enum { LEA = 7 };
    size_t count = 0;
    for (unsigned i = 0; i + LEA <= NEAR_CALL && count < SW_LOADED_MOST; i++) {
        const bool is_lea = (bytes[i] & 0xfb) == 0x48 && bytes[i + 1] == 0x8d && (bytes[i + 2] & 0xc7) == 0x05;
        if (is_lea)
            addresses[count++] = begin + i + LEA + (uint64_t)sw_sign_extend(sw_load32(bytes + i + 3), 32);
    }
    return count;
}

/* adr; adrp and add; adrp and ldr: then the word there. */
static size_t arm64_loaded(const struct sw_unwind_request *req, const uint8_t *bytes, uint64_t begin,
                           uint64_t addresses[SW_LOADED_MOST])
{
    uint64_t made[SW_REGS_MAX] = { 0 };
    struct sw_insn insn;
    size_t count = 0;
    for (unsigned i = 0; i < NEAR_CALL && count < SW_LOADED_MOST; i += WORD) {
        if (sw_a64_decode(bytes + i, WORD, begin + i, &insn) != SW_OK || insn.count != 1)
            continue;
        const struct sw_effect *e = &insn.effects[0];
        const uint64_t from = e->src < SW_REGS_MAX ? made[e->src] : 0;
        if (e->kind == SW_EFFECT_NEAR && e->dst < SW_REGS_MAX)
            addresses[count++] = made[e->dst] = begin + i + (uint64_t)e->imm;
        else if (e->kind == SW_EFFECT_SET && from)
            addresses[count++] = from + (uint64_t)e->imm;
        else if (e->kind == SW_EFFECT_LOAD && from &&
                 sw_memory_word(&req->walker->memory, from + (uint64_t)e->imm, &addresses[count]))
            count++;
    }
    return count;
}

size_t sw_loaded_before(const struct sw_unwind_request *req, uint64_t after, uint64_t addresses[SW_LOADED_MOST])
{
    uint8_t bytes[NEAR_CALL];
    if (after < NEAR_CALL || sw_memory_read(&req->walker->memory, after - NEAR_CALL, bytes, NEAR_CALL) != NEAR_CALL)
        return 0;
    return req->walker->machine == SW_MACHINE_X64 ? x64_loaded(bytes, after - NEAR_CALL, addresses)
                                                : arm64_loaded(req, bytes, after - NEAR_CALL, addresses);
}

/* ---- starts of functions ---- */

/* Behind what does not go on, or behind filler; or a landing pad of calls, or what only functions begin with. */
static bool arm64_may_start(const uint8_t *front, uint64_t address)
{
    struct sw_insn insn;
    const uint32_t word = sw_load32(front), before = sw_load32(front - WORD);
    if (address % WORD != 0)
        return false;
    if ((word & 0xffffffbf) == 0xd503233f || word == 0xd503245f || (word & 0xffc07fff) == 0xa9807bfd)
        return true; /* paciasp, pacibsp; bti c; stp x29, x30, [sp, #x]! */
    if (sw_a64_decode(front - WORD, WORD, address - WORD, &insn) != SW_OK)
        return true;
    return before == 0xd503201f || insn.flow == SW_FLOW_RETURN || insn.flow == SW_FLOW_TRAP ||
           insn.flow == SW_FLOW_JUMP || insn.flow == SW_FLOW_INDIRECT || (insn.flow == SW_FLOW_CALL && address % ALIGNMENT == 0);
}

/* Behind a return or a trap, or where functions are aligned to. */
static bool x64_may_start(const uint8_t *front, uint64_t address)
{
    static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
    return address % ALIGNMENT == 0 || front[-1] == 0xc3 || front[-1] == 0xcc ||
           memcmp(front, endbr64, sizeof endbr64) == 0;
}

bool sw_may_start(enum sw_machine machine, const uint8_t *front, uint64_t address)
{
    return machine == SW_MACHINE_X64 ? x64_may_start(front, address) : arm64_may_start(front, address);
}

/* ---- jumps ---- */

/* jmp rel32, jcc rel32. */
static bool x64_jump_at(const uint8_t *bytes, size_t at, uint64_t address, uint64_t *from, uint64_t *to)
{
    const bool is_branch = at > 0 && (bytes[at] & 0xf0) == 0x80 && bytes[at - 1] == 0x0f;
    if (bytes[at] != 0xe9 && !is_branch)
        return false;
    *from = address - is_branch;
    *to = address + 5 + (uint64_t)sw_sign_extend(sw_load32(bytes + at + 1), 32);
    return true;
}

/* b; b.cond; cbz, cbnz, tbz, tbnz. */
static bool arm64_jump_at(const uint8_t *bytes, uint64_t address, uint64_t *from, uint64_t *to)
{
    struct sw_insn insn;
    const uint32_t word = sw_load32(bytes);
    const bool may_be = (word & 0xfc000000) == 0x14000000 || (word & 0xfe000000) == 0x54000000 ||
                        (word & 0x7c000000) == 0x34000000;
    if (address % WORD != 0 || !may_be || sw_a64_decode(bytes, WORD, address, &insn) != SW_OK || insn.target == 0)
        return false;
    *from = address;
    *to = insn.target;
    return true;
}

bool sw_jump_at(enum sw_machine machine, const uint8_t *bytes, size_t at, uint64_t address, uint64_t *from, uint64_t *to)
{
    return machine == SW_MACHINE_X64 ? x64_jump_at(bytes, at, address, from, to)
                                     : arm64_jump_at(bytes + at, address, from, to);
}
