/* A library whose code has no unwind data at all, as of some that are written by hand: see lives.c. */
#define NOTHING __attribute__((noipa, optimize("no-optimize-sibling-calls")))

__declspec(dllexport) unsigned bare_work(volatile unsigned *left, unsigned seed);
NOTHING __declspec(dllexport) unsigned bare_work(volatile unsigned *left, unsigned seed)
{
    volatile char room[72];
    room[0] = (char)seed;
    if (--*left == 0)
        return seed;
    return bare_work(left, seed * 2654435761u) + (unsigned)room[0];
}

int bare_main(void *module, unsigned long reason, void *unused);
int bare_main(void *module, unsigned long reason, void *unused)
{
    (void)module, (void)reason, (void)unused;
    return 1;
}
