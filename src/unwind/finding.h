/*
 * What was found out about code is named by a finding, a plain value: by it the analysis cache and the notes of pending
 * work find what they have of it.
 */
#ifndef SW_UNWIND_FINDING_H
#define SW_UNWIND_FINDING_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What a finding is about. a, b, c: by its kind, see findings.h; ANALYSIS: of the function [a, b); HEADER: of JIT
 * code [a, b) with the id c.
 */
enum sw_finding_kind {
    SW_FINDING_NONE = 0,
    SW_FINDING_ANALYSIS,
    SW_FINDING_RULE,
    SW_FINDING_FORWARD,
    SW_FINDING_STATE,
    SW_FINDING_JUMPS,
    SW_FINDING_SCAN,
    SW_FINDING_OPENINGS,
    SW_FINDING_TO_JUMP,
    SW_FINDING_DISPATCH,
    SW_FINDING_TAILS,
    SW_FINDING_HEADER
};
struct sw_finding {
    uint64_t kind;
    uint64_t a, b, c;
};

static inline bool sw_finding_is_same(const struct sw_finding *a, const struct sw_finding *b)
{
    return a->kind == b->kind && a->a == b->a && a->b == b->b && a->c == b->c;
}

static inline uint64_t sw_finding_hash(const struct sw_finding *f)
{
    uint64_t hash = f->kind;
    hash = (hash ^ f->a) * UINT64_C(0x9e3779b97f4a7c15);
    hash = ((hash ^ hash >> 32) ^ f->b) * UINT64_C(0x9e3779b97f4a7c15);
    hash = ((hash ^ hash >> 32) ^ f->c) * UINT64_C(0x9e3779b97f4a7c15);
    return hash >> 16;
}

/* The checksum of words that a reader may find half written over, word by word. */
static inline uint64_t sw_checksum_add(uint64_t sum, uint64_t word)
{
    return (sum ^ word) * UINT64_C(0xff51afd7ed558ccd) + (sum >> 29);
}

#endif
