/*
 * Names that people read: registers, sources, trusts, stop reasons, kinds of code, rules of conduct. Lower-case words
 * with dashes. Refuses to know when any of them applies. The names are stable: tools print them and users grep for
 * them.
 */
#include <snapwalk/snapshot.h>

#include "arch/arch.h"

#include <assert.h>

/* clang-format off */
static const char *const source_names[] = { /* ORDER sw_source */
    [SW_SOURCE_NONE]          = "none",
    [SW_SOURCE_SEED]          = "seed",
    [SW_SOURCE_CFI]           = "cfi",
    [SW_SOURCE_UNWIND_CODES]  = "unwind-codes",
    [SW_SOURCE_CLR_HEADER]    = "clr-header",
    [SW_SOURCE_ANALYSIS]      = "analysis",
    [SW_SOURCE_FORWARD]       = "forward",
    [SW_SOURCE_SIGNAL_FRAME]  = "signal-frame",
    [SW_SOURCE_LEAF]          = "leaf",
    [SW_SOURCE_FRAME_POINTER] = "frame-pointer",
    [SW_SOURCE_SFRAME]        = "sframe",
};

static const char *const trust_names[] = { /* ORDER sw_trust */
    [SW_TRUST_NONE]      = "none",
    [SW_TRUST_GUESS]     = "guess",
    [SW_TRUST_LIKELY]    = "likely",
    [SW_TRUST_CONFIRMED] = "confirmed",
    [SW_TRUST_EXACT]     = "exact",
};

static const char *const stop_names[] = { /* ORDER sw_stop */
    [SW_STOP_NONE]          = "none",
    [SW_STOP_ROOT]          = "root",
    [SW_STOP_ROOT_ZERO]     = "root-zero",
    [SW_STOP_ROOT_BASE]     = "root-base",
    [SW_STOP_ABORTED]       = "aborted",
    [SW_STOP_FRAME_LIMIT]   = "frame-limit",
    [SW_STOP_NO_RULE]       = "no-rule",
    [SW_STOP_UNREADABLE]    = "unreadable",
    [SW_STOP_BAD_PC]        = "bad-pc",
    [SW_STOP_SP_NOT_RISING] = "sp-not-rising",
    [SW_STOP_OUTSIDE_STACK] = "outside-stack",
    [SW_STOP_BAD_TABLE]     = "bad-table",
    [SW_STOP_LOST_REGISTER] = "lost-register",
    [SW_STOP_BAD_START]     = "bad-start",
    [SW_STOP_BUDGET]        = "budget",
};

static const char *const kind_names[] = { /* ORDER sw_kind */
    [SW_KIND_NONE]   = "none",
    [SW_KIND_JIT]    = "jit",
    [SW_KIND_NGEN]   = "ngen",
    [SW_KIND_STUB]   = "stub",
    [SW_KIND_NATIVE] = "native",
};

static const char *const conduct_names[] = { /* ORDER sw_conduct */
    [SW_CONDUCT_MANAGED_SUSPENDER] = "managed-suspender",
    [SW_CONDUCT_NO_FIRST_WALK]     = "no-first-walk",
    [SW_CONDUCT_NESTED_WALK]       = "nested-walk",
    [SW_CONDUCT_STALE_FRAME]       = "stale-frame",
};
/* clang-format on */

#define LENGTH(table) (sizeof(table) / sizeof(table)[0])
static_assert(LENGTH(source_names) == SW_SOURCE_COUNT, "a name for every source");
static_assert(LENGTH(trust_names) == SW_TRUST_COUNT, "a name for every trust");
static_assert(LENGTH(stop_names) == SW_STOP_COUNT, "a name for every stop reason");
static_assert(LENGTH(kind_names) == SW_KIND_NATIVE + 1, "a name for every kind");
static_assert(LENGTH(conduct_names) == SW_CONDUCT_COUNT, "a name for every rule of conduct");

static const char *name_in(const char *const *names, size_t count, unsigned row)
{
    return row < count ? names[row] : "?";
}

const char *sw_source_name(enum sw_source source)
{
    return name_in(source_names, LENGTH(source_names), (unsigned)source);
}

const char *sw_trust_name(enum sw_trust trust)
{
    return name_in(trust_names, LENGTH(trust_names), (unsigned)trust);
}

const char *sw_stop_name(enum sw_stop stop)
{
    return name_in(stop_names, LENGTH(stop_names), (unsigned)stop);
}

const char *sw_kind_name(enum sw_kind kind)
{
    return name_in(kind_names, LENGTH(kind_names), (unsigned)kind);
}

const char *sw_conduct_name(enum sw_conduct rule)
{
    return name_in(conduct_names, LENGTH(conduct_names), (unsigned)rule);
}

const char *sw_regs_name(enum sw_machine machine, unsigned number)
{
    const struct sw_arch *arch = sw_arch_of(machine);
    return arch && number < arch->roles->count ? arch->names[number] : "?";
}
