// Exceptions, for frames.c: thrown some frames deep, caught further out.
extern "C" void throw_some(unsigned seed);

static void __attribute__((noinline)) thrower(unsigned depth)
{
    struct counter {
        volatile unsigned n;
        ~counter() { n = 0; }
    } local = { depth };
    if (depth == 0)
        throw 1;
    thrower(depth - 1);
    local.n = 2;
}

extern "C" void throw_some(unsigned seed)
{
    try {
        thrower(seed % 9);
    } catch (int) {
    }
}
