// Loops that are replaced on the stack while they run: begun as plain code, gone on with as optimised code in a frame
// that lies on the first one. Each method is generic, and called for a fresh type, because that happens once a method.

using System.Runtime.CompilerServices;

namespace Workload;

static class Loops
{
    public const int Tag = 9000;

    // The runtime replaces a loop after some thousands of rounds, and in the background.
    const int Rounds = 60_000;
    const int Probes = 6;

    public static readonly Scenario[] All =
    [
        new("osr", () => Fresh.Call(typeof(Loops), nameof(Plain), Rounds), Rounds),
        new("osr-try", () => Fresh.Call(typeof(Loops), nameof(Try), Rounds), Rounds),
        new("osr-catch", () => Fresh.Call(typeof(Loops), nameof(Catch), Rounds), Rounds),
        new("osr-localloc", () => Fresh.Call(typeof(Loops), nameof(LocalLoc), Rounds), Rounds),
        new("osr-nested", () => Fresh.Call(typeof(Loops), nameof(Nested), 300), 300 * 300),
        new("osr-recursive", () => Fresh.Call(typeof(Loops), nameof(Recursive), 4), 4),
        new("osr-many-arguments", () => Fresh.Call(typeof(Loops), nameof(ManyArguments), Rounds), Rounds),
        new("osr-big-frame", () => Fresh.Call(typeof(Loops), nameof(BigFrame), Rounds), Rounds),
        new("osr-instance", () => Fresh.Call(typeof(Loops), nameof(Instance), Rounds), Rounds),
        new("osr-iterator", () => Fresh.Call(typeof(Loops), nameof(Iterate), 20_000), 20_000),
        new("osr-callback", () => Fresh.Call(typeof(Loops), nameof(CallBack), Rounds), Rounds),
        new("osr-throws-out", () => Fresh.Call(typeof(Loops), nameof(ThrowOut), Rounds), Rounds),
        new("loop-of-calls", () => Calling(20_000), 20_000),
    ];

    static bool Due(int round) => round % (Rounds / Probes) == Rounds / Probes - 1;

    static int Plain<T>(int rounds)
    {
        int sum = 0;
        for (int i = 0; i < rounds; i++)
        {
            if (Due(i))
                Probe.Here(Tag);
            sum += 1;
        }
        return sum;
    }

    static int Try<T>(int rounds)
    {
        int sum = 0;
        for (int i = 0; i < rounds; i++)
            try
            {
                if (Due(i))
                    Probe.Here(Tag);
            }
            finally
            {
                sum++;
                if (Due(i))
                    Probe.Here(Tag);
            }
        return sum;
    }

    static int Catch<T>(int rounds)
    {
        int sum = 0;
        for (int i = 0; i < rounds; i++)
            try
            {
                if (Due(i))
                    throw new TimeoutException();
                sum++;
            }
            catch (TimeoutException) when (Probe.Pass(Tag, i > 0))
            {
                Probe.Here(Tag);
                sum++;
            }
        return sum;
    }

    static unsafe int LocalLoc<T>(int rounds)
    {
        int* room = stackalloc int[16 + rounds % 7];
        room[3] = 0;
        for (int i = 0; i < rounds; i++)
        {
            room[3]++;
            if (Due(i))
                Probe.Here(Tag);
        }
        return room[3];
    }

    static int Nested<T>(int side)
    {
        int sum = 0;
        for (int i = 0; i < side; i++)
        {
            for (int j = 0; j < side; j++)
                sum++;
            if (i % 60 == 59)
                Probe.Here(Tag);
        }
        return sum;
    }

    // Several frames of one method, each of them begun as plain code.
    static int Recursive<T>(int depth)
    {
        int sum = 0;
        for (int i = 0; i < 20_000; i++)
            if (i == 15_000)
            {
                Probe.Here(Tag);
                sum += depth == 0 ? 0 : Recursive<T>(depth - 1) + 1;
                Probe.Here(Tag);
            }
        return sum;
    }

    static int ManyArguments<T>(int rounds) => Wide<T>(rounds, 2, 3, 4, 5, 6, "7", 8.0, (9, 10L, 11));

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Wide<T>(int a, long b, int c, long d, int e, long f, string g, double h, (int, long, int) i)
    {
        int sum = 0;
        for (int round = 0; round < a; round++)
        {
            sum += (int)(b + c + d + e + f + g.Length + h + i.Item1 + i.Item2 + i.Item3 - 58);
            if (Due(round))
                Probe.Here(Tag);
        }
        return sum;
    }

    [InlineArray(1500)]
    struct Large { long first; }

    static int BigFrame<T>(int rounds)
    {
        Large room = default; // 12,000 bytes: the frame of the plain code stays under that of the optimised code
        for (int i = 0; i < rounds; i++)
        {
            room[i % 1500] = i;
            room[0] = i + 1;
            if (Due(i))
                Probe.Here(Tag);
        }
        return (int)room[0];
    }

    sealed class Holder<T>
    {
        int total;

        public int Run(int rounds)
        {
            for (int i = 0; i < rounds; i++)
            {
                total++;
                if (Due(i))
                    Probe.Here(Tag);
            }
            return total;
        }
    }

    static int Instance<T>(int rounds) => new Holder<T>().Run(rounds);

    static IEnumerable<int> Counting<T>(int limit)
    {
        for (int i = 0; i < limit; i++)
            yield return i % 5_000 == 4_999 ? Probe.Pass(Tag, i) : i;
    }

    static int Iterate<T>(int limit)
    {
        int sum = 0;
        foreach (int _ in Counting<T>(limit))
            sum++;
        return sum;
    }

    static int CallBack<T>(int rounds)
    {
        int sum = 0;
        for (int i = 0; i < rounds; i++)
        {
            sum++;
            if (Due(i))
                Probe.Call(_ => Probe.Pass(Tag, 0), i);
        }
        return sum;
    }

    static int ThrowOut<T>(int rounds)
    {
        int reached = 0;
        try
        {
            Until<T>(rounds, ref reached);
        }
        catch (TimeoutException)
        {
            Probe.Here(Tag);
        }
        return reached;
    }

    static void Until<T>(int rounds, ref int reached)
    {
        try
        {
            while (true)
                if (++reached == rounds)
                    throw new TimeoutException();
        }
        finally
        {
            Probe.Here(Tag);
        }
    }

    // Called so often that it climbs through the tiers as a whole.
    static int Calling(int times)
    {
        int sum = 0;
        for (int i = 0; i < times; i++)
            sum += Small(i);
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Small(int round)
    {
        if (round % 2_000 == 0)
            Probe.Here(Tag);
        return 1;
    }
}
