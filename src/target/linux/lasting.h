/* Which objects of this process stay mapped as long as it runs. Asked when images are registered. */
#ifndef SW_TARGET_LINUX_LASTING_H
#define SW_TARGET_LINUX_LASTING_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SW_LASTING_NAMES = 1024 };

/* The names that lasting objects need, as far as they have been met. count 0, began false: before the first object. */
struct sw_lasting {
    bool began;
    size_t count;
    struct {
        uint64_t hash;
        bool is_met;
    } names[SW_LASTING_NAMES];
};

/*
 * Whether the dynamic linker never unmaps an object: the program; what it needs, directly or not; the linker itself;
 * what asks to stay; the object around the address `staying`, if it is not 0, and what that needs; and the object that
 * this code is in, which must stay while it walks. Asked for all objects, in the
 * order of dl_iterate_phdr: an object that is needed comes behind the one that needs it. False also where that cannot
 * be told.
 */
bool sw_lasting_is(struct sw_lasting *lasting, const struct dl_phdr_info *object, uint64_t staying);

#endif
