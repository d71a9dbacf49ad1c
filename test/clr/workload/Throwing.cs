// What the themes with exceptions have in common: an exception of their own, and ways to come to one.

namespace Workload;

sealed class Oops(int depth = 0) : Exception
{
    public int Depth => depth;
}

static class Throwing
{
    public static readonly int[]? Nothing = null;

    public static int Throw() => throw new Oops();

    public static int Deep(int depth) => depth > 0 ? Deep(depth - 1) + 1 : Throw();

    // Faults of the processor, which the runtime makes exceptions of.
    public static int NullReference() => Nothing!.Length;

    public static int Divide() => 7 / (Nothing?.Length ?? 0);
}
