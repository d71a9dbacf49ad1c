/*
 * The set of images from the inside: what a walk finds at an address, and how the files that know an operating system
 * put images in.
 */
#ifndef SW_IMAGES_H
#define SW_IMAGES_H

#include "cfi/cfi.h"
#include "clr/clr.h"
#include "pe/pe.h"

#include <snapwalk/image.h>

#include <stdatomic.h>

struct sw_elf;

/*
 * One image with its tables. Readers use what stands above the line; they never change anything.
 *
 * beside   The table that cfi.beside points to, if it does.
 * cfi, pe, clr   Valid where has_ says so. clr: a PE image with ReadyToRun code; pe: any PE image.
 * exceptions     Of a PE image: its exception directory, where exceptions_status is SW_OK (see sw_pe_exceptions).
 *
 * code     This process' own: its code where it is mapped, to be read as its tables are; else empty.
 *
 * origin   Who registered it (a refresh forgets its own images only): null for by hand. seen: by the refresh going on.
 * identity The file's inode, 0 where there is none: another file at the same place is another image.
 * elf      For names, and where tables come from a file for those. no_names: opening it failed before.
 * held     Memory the tables lie in: given back by `release`.
 */
struct sw_image_entry {
    struct sw_image info;
    bool has_cfi;
    bool has_pe;
    bool has_clr;
    struct sw_cfi cfi;
    struct sw_cfi beside;
    struct sw_pe pe;
    struct sw_clr_image clr;
    struct sw_bytes code;
    struct sw_bytes exceptions;
    enum sw_status exceptions_status;
    /* ---- */
    const void *origin;
    uint64_t identity;
    bool seen;
    bool no_names;
    struct sw_elf *elf;
    void *held;
    size_t held_size;
    struct sw_image_index {
        void *block;
        size_t size;
    } index[2]; /* of cfi, of beside: what their index or pieces point to */
    void (*release)(struct sw_image_entry *entry, const struct sw_alloc *alloc);
    size_t size; /* of this block, with the path behind it */
};

/*
 * A reader section: entries stay valid between enter and leave, also those that are removed meanwhile. Sections nest.
 * enter and entry answer 0 and null for null images. Wait-free, signal safe.
 */
uint32_t sw_images_enter(const struct sw_images *images);
void sw_images_leave(const struct sw_images *images, uint32_t ticket);
const struct sw_image_entry *sw_images_entry(const struct sw_images *images, uint64_t address);

/* Where the generation stands that sw_images_generation reads; a number that never changes for null images. */
const _Atomic uint64_t *sw_images_clock(const struct sw_images *images);

/*
 * The writer's side: everything below is called between lock and unlock.
 *
 * Returns  SW_OK; SW_E_BUSY (another writer is inside).
 */
enum sw_status sw_images_lock(struct sw_images *images);
void sw_images_unlock(struct sw_images *images);

/* The allocator of the set. */
const struct sw_alloc *sw_images_alloc(const struct sw_images *images);

/* An empty entry with a copy of the path, or null; gives back one that was not inserted, and what it holds. */
struct sw_image_entry *sw_images_make(struct sw_images *images, const char *path);
void sw_images_discard(struct sw_images *images, struct sw_image_entry *entry);

/*
 * Takes an entry over, by info.begin and info.end; removes the one that begins at `begin`.
 *
 * Returns  SW_OK; SW_E_EMPTY; SW_E_WRAPS; SW_E_OVERLAP; SW_E_NO_MEMORY (the entry is still the caller's).
 *          drop: SW_OK; SW_E_NOT_FOUND; SW_E_NO_MEMORY (nothing changed).
 */
enum sw_status sw_images_insert(struct sw_images *images, struct sw_image_entry *entry);
enum sw_status sw_images_drop(struct sw_images *images, uint64_t begin);

/* The entries by number, ascending; null past the last. For the writer, until the next change. */
struct sw_image_entry *sw_images_at(const struct sw_images *images, size_t number);

#endif
