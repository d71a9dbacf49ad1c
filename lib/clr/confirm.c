/*
 * Whether what is known beforehand of a runtime fits a thread of it, which runs at this moment and has managed callers.
 * Knows what the first words of a thread's object may be; refuses to know versions.
 *
 * Source: clr-frames-by-version.md section 5.
 */
#include "clr/runtime.h"

#include "base/bytes.h"

static bool is_frame(const struct sw_clr_layout *layout, uint64_t word)
{
    for (unsigned i = 0; i < layout->frame_count && i < SW_CLR_FRAME_WORDS; i++)
        if (layout->frames[i].word == word)
            return true;
    return !layout->closed;
}

bool sw_clr_thread_fits(const struct sw_clr_layout *layout, const struct sw_memory *memory, uint64_t thread,
                        uint64_t low, uint64_t high)
{
    uint8_t mode[4];
    uint64_t frame, word;
    if (sw_memory_read(memory, thread + layout->at[SW_CLR_THREAD_MODE], mode, sizeof mode) != sizeof mode ||
        sw_load32(mode) > 1 || !sw_memory_word(memory, thread + layout->at[SW_CLR_THREAD_FRAME], &frame))
        return false;
    if (frame == UINT64_MAX)
        return true;
    return frame >= low && frame < high && frame % 8 == 0 && sw_memory_word(memory, frame, &word) &&
           is_frame(layout, word);
}
