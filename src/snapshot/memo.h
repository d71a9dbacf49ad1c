/*
 * The memo: the last answer to a thread about its own stack, and the words that the answer follows from. While these
 * are as they were, and the code map, the images and what was asked too, the same callbacks are made without a walk.
 *
 * An answer is noted when the thread has been answered alike before: the walk goes as always, and says what it takes
 * from where. It is noted only if all of that is in the thread's runtime object or on its own stack, above where it
 * stands; everything else that a walk looks at spoils it. No seed, x64 only, flavours of the CLR.
 */
#ifndef SW_MEMO_H
#define SW_MEMO_H

#include <snapwalk/alloc.h>
#include <snapwalk/snapshot.h>

struct sw_memo;

/* Makes an empty one, for one call at a time. */
enum sw_status sw_memo_create(const struct sw_alloc *alloc, struct sw_memo **memo);
void sw_memo_destroy(struct sw_memo *memo);

/*
 * sw_snapshot with a memo, or null. The user sees to it that all that the inspector reads of the target goes through
 * sw_memo_watch, or calls sw_memo_spoil. With a memo the engine is for one call at a time, too.
 */
HRESULT sw_memo_snapshot(struct sw_memo *memo, struct sw_engine *engine, struct sw_scratch *scratch, ThreadID thread,
                         StackSnapshotCallback *callback, ULONG32 info_flags, void *client_data, BYTE context[],
                         ULONG32 context_size);

/*
 * The memory with which an inspector reads the target, inside of a call with that memo: notes what is read, if that is
 * to be noted. What is outside of the window spoils. memo: may be null.
 */
enum sw_memo_part { SW_MEMO_OBJECT, SW_MEMO_STACK, SW_MEMO_PARTS };
struct sw_memory sw_memo_watch(struct sw_memo *memo, enum sw_memo_part part, struct sw_memory memory);

/* The answer follows from something else, too. memo: may be null. */
void sw_memo_spoil(struct sw_memo *memo);

#endif
