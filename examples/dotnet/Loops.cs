// Threads that burn the processor in code of each tier. They are few: every one of them is always running.

using System.Runtime.CompilerServices;

namespace Sample;

static class Loops
{
    public static readonly State[] All =
    [
        new("loop-minopts", () => Unoptimised()),
        new("loop-osr", () => ReplacedOnStack(1)),
        new("loop-optimised", () => Optimised(1)),
        new("loop-calls", () => CallsInLoop()),
        new("loop-barrier", () => StoresInLoop(new object[8])),
        new("osr-then-hold", () => HoldAfterReplacement(3)),
        new("tier1-hold", () => HoldInTier1()),
    ];

    static volatile int sink;

    [MethodImpl(MethodImplOptions.NoOptimization)]
    static void Unoptimised()
    {
        Stage.Arrive();
        for (int i = 0;; i++)
            sink = i;
    }

    static int ReplacedOnStack(int step)
    {
        Stage.Arrive();
        int sum = 0;
        while (sink != -1)
            sum += step;
        return sum;
    }

    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    static int Optimised(int step)
    {
        Stage.Arrive();
        int sum = 0;
        while (sink != -1)
            sum = sum * 31 + step;
        return sum;
    }

    static int CallsInLoop()
    {
        Stage.Arrive();
        int sum = 0;
        while (sink != -1)
            sum += Leaf(sum) + Framed(sum);
        return sum;
    }

    // Each store calls a helper that checks the type, and that jumps to the write barrier, which is no managed code.
    static void StoresInLoop(object[] room)
    {
        Stage.Arrive();
        for (int i = 0;; i++)
            room[i & 7] = room;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Leaf(int x) => x * x;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Framed(int x) => Leaf(x + 1) + Leaf(x + 2);

    static int HoldAfterReplacement(int depth)
    {
        int sum = 0;
        for (int i = 0; i < 2_000_000; i++)
            sum += i ^ sink;
        if (depth == 0)
            Stage.Hold();
        return depth == 0 ? sum : HoldAfterReplacement(depth - 1) + sum;
    }

    static void HoldInTier1()
    {
        for (int round = 0; round < 10; round++)
        {
            for (int i = 0; i < 1000; i++)
                Promoted(3, false);
            Thread.Sleep(60);
        }
        Promoted(3, true);
    }

    static int Promoted(int depth, bool hold)
    {
        if (depth > 0)
            return Promoted(depth - 1, hold) * 3 + 1;
        if (hold)
            Stage.Hold();
        return depth;
    }
}
