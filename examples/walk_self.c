/*
 * Walks its own stack and prints the frames. The shortest use of the library: register the images, make a walker for
 * this process, capture the registers, walk.
 */
#include <snapwalk/snapwalk.h>

#include <stdio.h>

static struct sw_scratch scratch;

static int walk_from_here(const struct sw_walker *walker, const struct sw_images *images)
{
    struct sw_regs here;
    struct sw_walk walk;
    sw_self_capture(&here);
    sw_walk_start(&walk, walker, &scratch, &here, false);
    while (sw_walk_next(&walk)) {
        char name[64] = "?";
        const uint64_t pc = sw_regs_pc(&walk.frame.regs);
        uint64_t start = pc;
        (void)!sw_images_name(images, walk.frame.lookup, name, sizeof name, &start);
        printf("#%-2u %016llx  %s+%llu  (%s, %s)\n", walk.depth - 1, (unsigned long long)pc, name,
               (unsigned long long)(pc - start), sw_source_name(walk.frame.source), sw_trust_name(walk.frame.trust));
    }
    printf("ended: %s\n", sw_stop_name(walk.stop));
    return walk.stop >= SW_STOP_ROOT && walk.stop <= SW_STOP_ROOT_BASE ? 0 : 1;
}

/* Makes some frames to see. Not static, so that the compiler keeps them. */
int deeper(int levels, const struct sw_walker *walker, const struct sw_images *images);
int deeper(int levels, const struct sw_walker *walker, const struct sw_images *images)
{
    const int result = levels ? deeper(levels - 1, walker, images) : walk_from_here(walker, images);
    return result + (levels < 0); /* no tail call */
}

int main(void)
{
    struct sw_images *images;
    struct sw_walker walker;
    enum sw_status status = sw_images_create(NULL, &images);
    if (!status)
        status = sw_images_add_self(images);
    if (!status)
        status = sw_self_walker(&walker, NULL, images);
    if (status) {
        fprintf(stderr, "walk_self: %s\n", sw_status_name(status));
        return 1;
    }
    const int result = deeper(3, &walker, images);
    sw_images_destroy(images);
    return result;
}
