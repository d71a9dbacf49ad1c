/* What the compiler makes of the structures that bindings declare once more; each binding's test compares. */
#include <snapwalk/snapwalk.h>

#include <stddef.h>
#include <stdio.h>

#define SIZE(type)         printf("%s %zu\n", #type, sizeof(struct type))
#define AT(type, member)   printf("%s.%s %zu\n", #type, #member, offsetof(struct type, member))

int main(void)
{
    SIZE(sw_regs);
    AT(sw_regs, known);
    AT(sw_regs, r);
    SIZE(sw_range);
    AT(sw_range, id);
    AT(sw_range, image);
    AT(sw_range, kind);
    AT(sw_range, flags);
    SIZE(sw_frame);
    AT(sw_frame, code);
    AT(sw_frame, lookup);
    AT(sw_frame, source);
    AT(sw_frame, trust);
    AT(sw_frame, exact);
    SIZE(sw_memory);
    AT(sw_memory, arg);
    AT(sw_memory, window);
    SIZE(sw_walker);
    SIZE(sw_scratch);
    SIZE(sw_image);
    AT(sw_image, bias);
    AT(sw_image, path);
    return 0;
}
