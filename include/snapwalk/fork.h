/*
 * A child of fork() that goes on with the code map and the images of its parent.
 */
#ifndef SNAPWALK_FORK_H
#define SNAPWALK_FORK_H

#include <snapwalk/image.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Forgets readers that stayed in the parent. Call this in the child: walks that were under way in other threads have
 * not come along and will never end, so that memory which they could see might never be freed.
 *
 * In one process nothing has to be called. Up to 48 readers at a time that are gone, because their thread was cancelled
 * or their walk was left by longjmp, are found out when later changes have waited for them; after longjmp, once that
 * part of the stack is used again.
 *
 * codemap, images  NULL: there is none.
 *
 * Returns  SW_OK; SW_E_BUSY: another thread was changing the code map or the images during fork(). Walks may still
 *          use both, but neither may be changed or destroyed: make new ones. A lock of your own that is held for
 *          changes and for fork() (pthread_atfork) prevents that.
 * Memory   Frees what was removed before. Allocates nothing.
 * Threads  Only where there is one, outside of walks and of sw_codemap_each. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_after_fork(struct sw_codemap *codemap, struct sw_images *images);

#ifdef __cplusplus
}
#endif

#endif
