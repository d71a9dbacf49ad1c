/* Registers PE images in the set, for the files that find them. put_module,
 * refresh and take_spans are called under the set's writer lock. */
#ifndef SW_TARGET_WINDOWS_IMAGES_H
#define SW_TARGET_WINDOWS_IMAGES_H

#include "code/images.h"

#include <windows.h>

/*
 * A module of a process.
 *
 * stamp     What its header says of its file, so that another file at the same address is another image; 0: unreadable.
 * path      As Windows names it.
 * lasts     It is of this process, and is never unloaded.
 */
struct sw_windows_module {
    uint64_t begin;
    uint64_t size;
    uint64_t stamp;
    const WCHAR *path;
    bool lasts;
};

/* ntdll as it is mapped, which is for ever. Returns  SW_OK; SW_E_OS. */
enum sw_status sw_windows_open_ntdll(struct sw_pe *pe);

uint64_t sw_windows_stamp(const struct sw_memory *memory, uint64_t begin);

/*
 * Registers a module. One that lasts is used where it is mapped. Of others, file: the file at the path, if it is the
 * one that is mapped; else what is mapped, copied through `memory`.
 *
 * Returns  As sw_images_add_memory.
 */
enum sw_status sw_windows_put_module(struct sw_images *images, const struct sw_windows_module *module,
                                     const void *origin, const struct sw_memory *memory, bool file);

/*
 * Makes the images of an origin those modules: drops what is gone, first, so that what came in its place has room, and
 * registers what is new. An image that cannot be registered is left out.
 *
 * Returns  SW_OK; SW_E_NO_MEMORY.
 */
enum sw_status sw_windows_refresh(struct sw_images *images, const struct sw_windows_module *modules, size_t count,
                                  const void *origin, const struct sw_memory *memory, bool file);

/*
 * Asks for the target's memory, piece by piece of equal rights: of `process`, from VirtualQueryEx. Notes what is
 * executable, and what of its images is not (sw_images_span).
 *
 * Returns  SW_OK; SW_E_NO_MEMORY.
 */
enum sw_status sw_windows_take_spans(struct sw_images *images, HANDLE process);

#endif
