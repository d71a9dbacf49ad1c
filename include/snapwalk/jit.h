/*
 * Unwind data that a compiler brings for code that it has written itself: call frame information, or one frame that
 * holds throughout. Windows unwind data: sw_images_add_functions (follow.h).
 */
#ifndef SNAPWALK_JIT_H
#define SNAPWALK_JIT_H

#include <snapwalk/image.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Call frame information: what a compiler gives to __register_frame.
 *
 * begin      The code, up to end.
 * eh_frame   Records as in .eh_frame, in the order of the machine. A terminator may end them. size: in bytes.
 * address    Where they lie in the target; what is relative to pc in them counts from there.
 */
#define SW_CFI_BYTES_MAX (64 << 20)
struct sw_cfi_table {
    enum sw_machine machine; /* X64 or ARM64 */
    uint64_t begin;
    uint64_t end;
    const void *eh_frame;
    size_t size;
    uint64_t address;
};

/*
 * Registers such code as an image from begin to end, of which walks know the frames exactly. Give one call the code of
 * many functions: a code heap, say. Ranges of the code map may lie in it, with SW_UNWIND_AUTO. When functions are added
 * or freed, remove the image and register it again.
 *
 * name     Copied. For people.
 * table    Copied.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY; SW_E_BUSY; SW_E_OVERLAP (with another image); SW_E_MALFORMED (no
 *          record in it says anything of code).
 * Memory   The records, 32 bytes a function, a kilobyte. Threads  One writer; walks go on. Signals  Not safe.
 * Source   LSB, "Exception Frames"; DWARF 5 section 6.4.
 */
SW_API SW_NODISCARD enum sw_status sw_images_add_cfi(struct sw_images *images, const char *name,
                                                     const struct sw_cfi_table *table);

/*
 * A register that the code has saved: its number in regs.h, and how many bytes above the value of `base`; a multiple of
 * 8, in the frame.
 */
struct sw_saved {
    uint32_t reg;
    uint32_t at;
};

/*
 * Code with one and the same frame at each instruction: an interpreter's loop, a stub, a body without its prologue.
 *
 * base     The register that the frame is found by: sp, or one that the code leaves alone.
 * size     The value of base + size is the caller's stack pointer. A multiple of 8, up to SW_FIXED_FRAME_MAX. x64: at
 *          least 8, and the return address lies in the 8 bytes below the caller's stack pointer.
 * saved    Registers that were saved. Others count as unchanged. ARM64: lr, or the return address is still in it.
 * lost     Bit n: register n was overwritten and not saved.
 */
#define SW_FIXED_FRAME_MAX (1 << 30)
struct sw_fixed_frame {
    enum sw_machine machine; /* X64 or ARM64 */
    uint64_t begin;
    uint64_t end;
    uint32_t base;
    uint32_t size;
    const struct sw_saved *saved;
    size_t saved_count;
    uint64_t lost;
};

/*
 * Registers such code as an image from begin to end: as sw_images_add_cfi. Where another instruction is executing than
 * the frame is true for, in a prologue say, and the code at it shows so, the walk goes by the code.
 *
 * Returns  As sw_images_add_cfi, but for SW_E_MALFORMED. SW_E_ARGUMENT: also a register that the machine does not have,
 *          sp or pc among `saved`, a place outside of the frame.
 * Memory   A kilobyte or two. Threads  One writer; walks go on. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_images_add_frame(struct sw_images *images, const char *name,
                                                       const struct sw_fixed_frame *frame);

#ifdef __cplusplus
}
#endif

#endif
