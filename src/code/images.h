/*
 * The set of images, internal interface: what a walk finds at an address, and how the files for an operating system
 * register images.
 */
#ifndef SW_CODE_IMAGES_H
#define SW_CODE_IMAGES_H

#include "cfi/cfi.h"
#include "clr/clr.h"
#include "common/reclaim.h"
#include "pe/pe.h"
#include "sframe/sframe.h"

#include <snapwalk/image.h>

#include <stdatomic.h>

struct sw_elf;
struct sw_image_original;

/*
 * One image with its tables. Readers use the members above the line, and change nothing.
 *
 * beside         The table that cfi.beside points to, if it does.
 * cfi, sframe, pe, clr  Valid where has_ says so. clr: a PE image with ReadyToRun code; pe: any PE image.
 * exceptions     Of a PE image: its exception directory, where exceptions_status is SW_OK (see sw_pe_exceptions). Not
 *                looked for with has_clr: it is the table of clr.
 * start          Where the program begins, in an image that is one; else 0.
 * code_begin, code_end  Of an ELF image: around its executable segments.
 * code           In this process: the code of an image that is never unmapped, where it is; else empty.
 *
 * original       What the tables belong to, if several mappings of a file share them (originals.h); else null.
 * origin         Who registered the image (a refresh forgets its own images only); null: registered by hand.
 * next           Of one that was dropped: another one.
 * seen           Set by the refresh in progress.
 * identity       The file's inode, 0 for none: another file at the same address is another image.
 * elf            For names; also holds tables that come from a file. no_names: opening it failed before. has_names: its
 *                symbols are in order, and nothing of it changes any more, so that readers may use it.
 * held           Memory that the tables lie in; `release` frees it.
 */
struct sw_image_entry {
    struct sw_image info;
    bool has_cfi;
    bool has_sframe;
    bool has_pe;
    bool has_clr;
    struct sw_cfi cfi;
    struct sw_cfi beside;
    struct sw_sframe sframe;
    struct sw_pe pe;
    struct sw_clr_image clr;
    uint64_t start;
    uint64_t code_begin, code_end;
    struct sw_bytes code;
    struct sw_bytes exceptions;
    enum sw_status exceptions_status;
    /* ---- */
    struct sw_image_original *original;
    const void *origin;
    struct sw_image_entry *next;
    uint64_t identity;
    bool seen;
    bool no_names;
    _Atomic bool has_names;
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
 * A reader section: entries stay valid between enter and leave, even those removed meanwhile. Sections nest. For null
 * images, entry returns null. Wait-free, signal safe.
 */
void sw_images_enter(const struct sw_images *images, struct sw_section *section);
void sw_images_leave(const struct sw_images *images, struct sw_section *section);
const struct sw_image_entry *sw_images_entry(const struct sw_images *images, uint64_t address);

/*
 * An entry may also be kept from one section to a later one, with the generation (sw_images_generation) from before it
 * was found. If that is the same inside the later section, the entry is valid there: the writer counts the generation
 * up before it hands over what it dropped, so it sees this reader before it frees anything.
 */

/* Whether an address of an image is in one of its executable segments or sections. */
bool sw_image_is_code(const struct sw_image_entry *entry, uint64_t address);

/*
 * Registers the image of this process that begins at an address, without a look at the others: a module that .NET has
 * loaded. What sw_images_add_self would do is done, but for the map of the target's memory.
 *
 * lasts    The image stays as it is until the process ends, or is removed by hand: so it is used where it is.
 *
 * Returns  SW_OK (or it is registered); SW_E_NOT_FOUND (no image with code there); SW_E_UNSUPPORTED (its code is in
 *          another image: call sw_images_add_self); as sw_images_add_file.
 * Threads  One writer. Signals  Not safe.
 */
enum sw_status sw_images_add_mapped(struct sw_images *images, uint64_t address, bool lasts);

/*
 * The object of this process around an address stays until the process ends, although the dynamic linker could unmap
 * it: so it, and what it needs, is used where it is, from the next sw_images_add_self on. 0: none. get: the address.
 * Threads  One writer. Signals  Not safe.
 */
void sw_images_set_staying(struct sw_images *images, uint64_t address);
uint64_t sw_images_get_staying(const struct sw_images *images);

/* In the child of fork: forgets all readers. Returns  SW_OK; SW_E_BUSY (fork came in the middle of a change). */
enum sw_status sw_images_after_fork(struct sw_images *images);

/*
 * The target's memory, as its map was when the images were refreshed last: what was executable, and what neither was
 * nor is likely to become so. UNKNOWN: everything else, which may have been made executable since. is_mapped: there is
 * such a map; where there is none all is UNKNOWN. Inside a reader section; images may be null.
 */
enum sw_span_kind { SW_SPAN_UNKNOWN = 0, SW_SPAN_CODE, SW_SPAN_DATA };
struct sw_span {
    uint64_t begin;
    uint64_t end;
    enum sw_span_kind kind;
};
enum sw_span_kind sw_images_span(const struct sw_images *images, uint64_t address, bool *is_mapped);

/*
 * The last change of each piece of the address space: the generation that the change led to, or 0. A piece is 1 MiB.
 * There are few numbers, so pieces share them. What follows from one image, found at generation g, holds until the
 * number of its piece shows a later one.
 *
 * Returns  The numbers, which live as long as the images; for null images, some that never change. Index:
 *          sw_image_piece(address), or SW_IMAGE_PIECES for the generation, which sw_images_generation reads.
 */
enum { SW_IMAGE_PIECE_SHIFT = 20, SW_IMAGE_PIECES = 128 };
const _Atomic uint64_t *sw_images_changes(const struct sw_images *images);

static inline unsigned sw_image_piece(uint64_t address)
{
    return (unsigned)(address >> SW_IMAGE_PIECE_SHIFT) % SW_IMAGE_PIECES;
}

/*
 * The writer's interface: everything below is called between lock and unlock.
 *
 * Returns  SW_OK; SW_E_BUSY (another writer is inside).
 */
enum sw_status sw_images_lock(struct sw_images *images);
void sw_images_unlock(struct sw_images *images);

/* Whether methods are told from their parts: sw_images_skip_methods. */
bool sw_images_has_methods(const struct sw_images *images);

/* The allocator of the set. */
const struct sw_alloc *sw_images_alloc(const struct sw_images *images);

/*
 * make: an empty entry with a copy of the path; null: no memory. discard: frees an entry that is in no set, with
 * everything it holds; null: nothing to do.
 */
struct sw_image_entry *sw_images_make(struct sw_images *images, const char *path);
void sw_images_discard(struct sw_images *images, struct sw_image_entry *entry);

/* Memory that the entry holds from then on: `size` bytes, as entry->held. Null: no memory. */
uint8_t *sw_images_hold(struct sw_images *images, struct sw_image_entry *entry, size_t size);

/*
 * An image that is in no file, under the writer's lock: `fill` makes of an empty entry what `arg` says.
 *
 * Returns  As lock, fill and insert; SW_E_NO_MEMORY.
 */
enum sw_status sw_images_add_filled(struct sw_images *images, const char *name,
                                    enum sw_status (*fill)(struct sw_images *images, struct sw_image_entry *entry,
                                                           const void *arg),
                                    const void *arg);

/*
 * What is made of a file, once for all its mappings. sw_images_original finds the original of a file, or makes an empty
 * one (is_new), whose entry and status are to be filled; it is found again while it has copies, and until unlock. copy:
 * makes an entry that was just made a copy of it, `distance` from it; its status is SW_OK.
 *
 * key      Files with the same are the same, and hold the same. bytes: where it lies, if it is no file on a disk.
 *
 * Returns  Null: no memory.
 */
struct sw_file_key {
    const void *bytes;
    uint64_t device, inode, size;
    uint64_t written_ns, changed_ns;
};
struct sw_image_original *sw_images_original(struct sw_images *images, const struct sw_file_key *key, bool *is_new);
void sw_images_copy(struct sw_image_original *original, uint64_t distance, struct sw_image_entry *entry);

/*
 * insert takes over an entry, at info.begin to info.end. drop removes the entry that begins at `begin`; drop_if at once
 * all that are gone.
 *
 * Returns  SW_OK; SW_E_EMPTY; SW_E_WRAPS; SW_E_OVERLAP; SW_E_NO_MEMORY (the entry is still the caller's).
 *          drop: SW_OK; SW_E_NOT_FOUND; SW_E_NO_MEMORY (nothing changed).
 */
enum sw_status sw_images_insert(struct sw_images *images, struct sw_image_entry *entry);
enum sw_status sw_images_drop(struct sw_images *images, uint64_t begin);
enum sw_status sw_images_drop_if(struct sw_images *images, bool (*is_gone)(const struct sw_image_entry *, const void *),
                                 const void *arg);

/*
 * Replaces the map of the target's memory. spans ascend, do not overlap, and are copied.
 *
 * Returns  SW_OK; SW_E_NO_MEMORY (the old one stays).
 */
enum sw_status sw_images_set_spans(struct sw_images *images, const struct sw_span *spans, size_t count);

/* The entries by number, ascending; null past the last. For the writer; valid until the next change. */
struct sw_image_entry *sw_images_at(const struct sw_images *images, size_t number);

#endif
