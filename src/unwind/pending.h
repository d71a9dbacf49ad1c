/*
 * Notes of work that walks had to leave undone because of their budget. A few are kept; what is lost is only known to
 * cost too much once it was tried again. Any number of threads and signal handlers may note and read at once: nobody
 * waits, and two writers of one place at once leave none.
 */
#ifndef SW_UNWIND_PENDING_H
#define SW_UNWIND_PENDING_H

#include "unwind/finding.h"

#include <stddef.h>

/* What should have been found out, and the units that it had cost by then. stamp: what changes with the code. */
struct sw_pending {
    struct sw_finding finding;
    uint64_t stamp;
    uint64_t cost;
};

/* One note: a struct sw_pending behind its checksum. All zeros: there is none. */
enum { SW_PENDING_WORDS = sizeof(struct sw_pending) / 8 };
struct sw_pending_note {
    _Atomic uint64_t check;
    _Atomic uint64_t words[SW_PENDING_WORDS];
};

/* By hash of a finding, a few places for each. count: a power of two. */
struct sw_pending_notes {
    struct sw_pending_note *notes;
    uint64_t count;
};

/*
 * add     Notes a piece of work, instead of what is noted of it already, of nothing, or of another one.
 * cost    What it had cost; 0: it is not noted, or the code has changed.
 * get     The n-th place. False: there is none. finding.kind is NONE where it is free.
 * settle  Frees a finding's place.
 * count   How many places are taken.
 * copy    Adds all notes to others.
 */
void sw_pending_add(const struct sw_pending_notes *notes, const struct sw_pending *pending);
uint64_t sw_pending_cost(const struct sw_pending_notes *notes, const struct sw_finding *finding, uint64_t stamp);
bool sw_pending_get(const struct sw_pending_notes *notes, size_t n, struct sw_pending *pending);
void sw_pending_settle(const struct sw_pending_notes *notes, const struct sw_finding *finding);
uint64_t sw_pending_count(const struct sw_pending_notes *notes);
void sw_pending_copy(const struct sw_pending_notes *to, const struct sw_pending_notes *from);

#endif
