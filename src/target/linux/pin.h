/* Regular files by names that a target chose. */
#ifndef SW_TARGET_LINUX_PIN_H
#define SW_TARGET_LINUX_PIN_H

#include <snapwalk/status.h>

#include <stdbool.h>

enum { SW_OS_FOUND_BYTES = 32 };

/*
 * find: what a name leads to, without opening it. follows: also over a symbolic link at its end. open_found: opens that
 * for reading, when it was looked at; `found` stays open. Both: a descriptor; -1, and errno. Not signal safe.
 */
int sw_os_find(const char *root, const char *name, bool follows);
int sw_os_open_found(int found);

/*
 * Finds a regular file by a name that a target chose, without opening what else the name may lead to: opening a device
 * or a FIFO may do something, or wait.
 *
 * root     The folder that `name` is resolved in, as if it were /, symbolic links too; null: the file system's.
 * pin      Receives a path that opens this very file. unpin invalidates it.
 *
 * Returns  SW_OK; SW_E_GONE, SW_E_PERMISSION, SW_E_OS; SW_E_UNSUPPORTED (not a regular file). Not signal safe.
 */
struct sw_os_pin {
    int file;
    char path[SW_OS_FOUND_BYTES];
};
enum sw_status sw_os_pin_file(const char *root, const char *name, struct sw_os_pin *pin);
void sw_os_unpin(struct sw_os_pin *pin);

/* Opens a regular file for reading; what is none is not opened. Returns  As pin_file. */
enum sw_status sw_os_open_regular(const char *name, int *file);

#endif
