/*
 * A walk from its caller in one call: what snapwalk/image.h, self.h and walk.h do, in their order. Refuses to know how
 * any of it is done.
 */
#include <snapwalk/here.h>

#include <snapwalk/image.h>
#include <snapwalk/self.h>

#include "common/alloc.h"

enum { NAME_SIZE = 512 };

typedef bool frame_sink(void *arg, const struct sw_frame *frame, const char *name, uint64_t offset);

static bool show(const struct sw_images *images, const struct sw_frame *frame, frame_sink *sink, void *arg)
{
    char name[NAME_SIZE];
    const uint64_t pc = sw_regs_pc(&frame->regs);
    uint64_t start = pc;
    if (sw_images_name(images, frame->lookup, name, sizeof name, &start) == SW_OK)
        return sink(arg, frame, name, pc - start);
    return sink(arg, frame, "?", 0);
}

static enum sw_stop walk_from(const struct sw_walker *walker, struct sw_scratch *scratch, const struct sw_regs *from,
                              frame_sink *sink, void *arg)
{
    struct sw_walk walk;
    sw_walk_start(&walk, walker, scratch, from, false);
    if (!sw_walk_next(&walk)) /* the frame of sw_here */
        return walk.stop;
    while (sw_walk_next(&walk))
        if (!show(walker->images, &walk.frame, sink, arg))
            return SW_STOP_ABORTED;
    return walk.stop;
}

/* Not inlined: its frame is the one that is left out. */
__attribute__((noinline)) enum sw_status sw_here(const struct sw_alloc *alloc, frame_sink *sink, void *arg,
                                                 enum sw_stop *stop)
{
    struct sw_regs here;
    struct sw_walker walker;
    struct sw_images *images;
    enum sw_stop ended = SW_STOP_NONE;
    sw_self_capture(&here);
    if (!sink || !sw_alloc_usable(alloc))
        return SW_E_ARGUMENT;
    const struct sw_alloc from = sw_alloc_resolve(alloc);
    enum sw_status status = sw_images_create(&from, &images);
    if (status != SW_OK)
        return status;
    struct sw_scratch *scratch = from.get(from.arg, sizeof *scratch);
    if (!scratch)
        status = SW_E_NO_MEMORY;
    if (status == SW_OK)
        status = sw_images_add_self(images);
    if (status == SW_OK)
        status = sw_self_walker(&walker, NULL, images);
    if (status == SW_OK) {
        walker.budget = SW_WALK_BUDGET_UNLIMITED;
        ended = walk_from(&walker, scratch, &here, sink, arg);
    }
    if (scratch)
        from.put(from.arg, scratch, sizeof *scratch);
    sw_images_destroy(images);
    if (stop)
        *stop = ended;
    return status;
}
