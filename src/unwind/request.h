/*
 * One step of a walk, in pieces: find the code, apply a rule, look at what comes out.
 */
#ifndef SW_UNWIND_REQUEST_H
#define SW_UNWIND_REQUEST_H

#include "arch/arch.h"
#include "code/images.h"
#include "code/map/codemap.h"
#include "unwind/workspace.h"

/* A flag of a walker beside SW_WALK_*, inside the library: whatever stands where a return address is, is one. */
#define SW_WALK_ANY_PC (1u << 31)

/*
 * One question: the frame whose caller is wanted.
 *
 * entry    The image around the pc, held by the asker; null when there is none.
 * is_return  Whether it is known that calls return to a pc, without a look at the code in front of it, which in code of
 *          a JIT is a system call. May be null. known: its argument.
 */
struct sw_unwind_request {
    const struct sw_walker *walker;
    struct sw_workspace *work;
    const struct sw_frame *frame;
    const struct sw_image_entry *entry;
    bool (*is_return)(const void *known, uint64_t pc);
    const void *known;
};

/*
 * Opens the workspace in a reader section: what was found in an earlier one is forgotten, unless the images are as they
 * were. is_new: nothing was found yet; then it may be opened outside of one, too.
 */
static inline void sw_workspace_open(struct sw_workspace *work, const struct sw_walker *walker, bool is_new)
{
    const uint64_t generation = sw_images_generation(walker->images);
    if (is_new) {
        sw_fetch_reset(&work->fetch, &walker->memory, walker->images, &work->meter);
        work->meter = work->outer = (struct sw_meter){ .left = 0 };
    }
    if (!is_new && generation == work->generation)
        return;
    work->generation = generation;
    work->image = NULL;
    work->fetch.direct = (struct sw_bytes){ 0 };
}

/* The image around an address, which mostly is that of the last; as sw_images_entry. Inside a section it is open in. */
static inline const struct sw_image_entry *sw_workspace_image(struct sw_workspace *work, const struct sw_walker *walker,
                                                              uint64_t address)
{
    const struct sw_image_entry *last = work->image;
    if (!last || address < last->info.begin || address >= last->info.end)
        work->image = last = sw_images_entry(walker->images, address);
    return last;
}

/* The same; the frame's own is still at hand afterwards. */
static inline const struct sw_image_entry *sw_request_image(const struct sw_unwind_request *req, uint64_t address)
{
    const struct sw_image_entry *entry = req->entry;
    const bool is_own = entry && address >= entry->info.begin && address < entry->info.end;
    return is_own ? entry : sw_workspace_image(req->work, req->walker, address);
}

/*
 * A reader section over the walker's code map and images: what follows is called inside one.
 */
struct sw_reading {
    struct sw_section codemap;
    struct sw_section images;
};
static inline void sw_reading_enter(const struct sw_walker *walker, struct sw_reading *reading)
{
    if (walker->codemap)
        sw_codemap_enter(walker->codemap, &reading->codemap);
    sw_images_enter(walker->images, &reading->images);
}

static inline void sw_reading_leave(const struct sw_walker *walker, struct sw_reading *reading)
{
    sw_images_leave(walker->images, &reading->images);
    if (walker->codemap)
        sw_codemap_leave(walker->codemap, &reading->codemap);
}

/* Where a machine's code addresses hold signature and tag; null: they have neither. */
static inline const struct sw_pointer_auth *sw_code_bits(const struct sw_walker *walker)
{
    const struct sw_arch *arch = sw_arch_of(walker->machine);
    return arch ? arch->pointer_auth : NULL;
}

/*
 * A code address without signature and tag (pointer_auth.c). Each passes through here where it enters a walk or the
 * contract: a rule's return address, start and seed registers, records, words of the stack that may be return
 * addresses, ips that are asked for. Outside a reader section or inside one. Safe wherever the walker's reader is.
 */
uint64_t sw_strip_code_address(const struct sw_pointer_auth *bits, const struct sw_walker *walker, uint64_t address);
static inline uint64_t sw_code_address(const struct sw_walker *walker, uint64_t address)
{
    const struct sw_pointer_auth *bits = sw_code_bits(walker);
    return bits ? sw_strip_code_address(bits, walker, address) : address;
}

/* The same of any word of the stack, which hardly ever is a code address: so the target is not asked about it. */
uint64_t sw_strip_code_word(const struct sw_pointer_auth *bits, const struct sw_walker *walker, uint64_t word);
static inline uint64_t sw_code_word(const struct sw_walker *walker, uint64_t word)
{
    const struct sw_pointer_auth *bits = sw_code_bits(walker);
    return bits ? sw_strip_code_word(bits, walker, word) : word;
}

/* The pc of registers that came from outside, if it is known, as sw_code_address has it. */
static inline void sw_code_pc(const struct sw_walker *walker, struct sw_regs *regs)
{
    const unsigned pc = sw_regs_pc_number(regs->machine);
    if (sw_regs_has(regs, pc) && regs->machine == walker->machine)
        regs->r[pc] = sw_code_address(walker, regs->r[pc]);
}

/*
 * Applies a candidate's rule to the frame and looks at where it leads: fills caller, stop and unreadable. From then on
 * what the candidate says depends on the stack, unless its source knows better.
 *
 * Returns  candidate->stop.
 */
enum sw_stop sw_candidate_try(const struct sw_unwind_request *req, struct sw_candidate *candidate);

/* The code range around an address: the code map's, else a ReadyToRun image's method, else NATIVE without bounds. */
void sw_find_code(const struct sw_walker *walker, const struct sw_image_entry *entry, uint64_t lookup,
                  struct sw_range *code);

/*
 * What is known of an address: code in a range, in an executable part of an image or of memory; data, which cannot be
 * executed; or nothing. Code and what is not known is readable. Inside a reader section.
 */
enum sw_place { SW_PLACE_DATA = 0, SW_PLACE_UNKNOWN, SW_PLACE_CODE };
enum sw_place sw_place_of(const struct sw_unwind_request *req, uint64_t address);

/* The target's code, to be analysed. False: its machine has no value in lib/arch. */
bool sw_code_of(const struct sw_unwind_request *req, struct sw_code *code);

#endif
