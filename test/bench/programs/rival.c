/* A rival in a process of its own: the same stacks, its turns beside the chase's. */
#include "rival.h"

#include <stdio.h>
#include <stdlib.h>

int rival_main(int argc, char **argv, const struct way *way)
{
    const struct way ways[] = { { "chase", walk_by_chase, NULL, 200000 }, *way };
    struct timed timed[2];
    struct stacks s;
    if (argc != 5) {
        fprintf(stderr, "usage: %s CODE DEPTH PCS ORDER\n", argv[0]);
        return 2;
    }
    const struct scene scene = { &codes[atoi(argv[1]) % CODES], (unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]),
                                 (enum order)atoi(argv[4]) };
    must(scene.depth > 0 && scene.depth <= DEEPEST && scene.pcs > 0 && scene.pcs <= FUNCTIONS, "reading arguments");
    stacks_make(&s, &scene);
    take_turns(ways, 2, NULL, &s, timed);
    stacks_free(&s);
    printf("%g %g\n", timed[1].ns, timed[1].ratio);
    return 0;
}
