/*
 * The modules of this process, followed as they come and go. Windows.
 */
#ifndef SNAPWALK_FOLLOW_H
#define SNAPWALK_FOLLOW_H

#include <snapwalk/image.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Keeps the images of this process in the set as modules are loaded and unloaded (LdrRegisterDllNotification). Windows.
 * Follow registers all that there are now, as sw_images_add_self does. From then on a module is registered, or removed,
 * by the thread that loads or unloads it, before its own code runs. So a set is complete without being asked for, as it
 * must not be while a thread stands suspended, which may hold the loader's lock. Unfollow ends it; NULL is allowed.
 *
 * images    Borrowed until unfollow. Its allocator is called by threads that load and unload, inside the loader's lock.
 * follower  Receives what unfollow takes.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY; SW_E_BUSY; SW_E_OS; SW_E_UNSUPPORTED (not on Windows).
 * Threads  Any. Where another writer is changing the set in the moment of a load, that module is registered at the next
 *          load, unload or sw_images_add_self. Unfollow waits for a notification that is going on.
 * Signals  Not safe.
 */
struct sw_images_follower;
SW_API SW_NODISCARD enum sw_status sw_images_follow_self(struct sw_images *images,
                                                         struct sw_images_follower **follower);
SW_API void sw_images_unfollow(struct sw_images_follower *follower);

#ifdef __cplusplus
}
#endif

#endif
