// What --overhead does: units of computation, all alike, without probes, waits and allocation, so that the
// time they take tells what something beside them costs.

using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Workload;

static class Work
{
    // For the runtime to compile everything for good before anything is counted.
    static readonly TimeSpan warmUp = TimeSpan.FromSeconds(1.5);

    // Under the work: as deep as a program of some size.
    const int Frames = 25;

    // Short beside everything that comes and goes on a machine, long beside a sample.
    static readonly TimeSpan turn = TimeSpan.FromMilliseconds(20);

    /// <summary>
    /// Computes for so many seconds, after a warm-up, in pairs of turns: switch off, switch on, or the other way about.
    /// Answers, for each pair, how much longer a unit took with the switch on: 0.01 is 1 %.
    /// </summary>
    public static double[] Turns(double seconds, Action<bool> sample)
    {
        var costs = new List<double>();
        sample(true);
        Units(warmUp, Frames);
        for (var watch = Stopwatch.StartNew(); watch.Elapsed.TotalSeconds < seconds;)
        {
            bool first = (costs.Count & 1) == 0;
            double before = Unit(first, sample), after = Unit(!first, sample);
            costs.Add(first ? before / after - 1 : after / before - 1);
        }
        return [.. costs];
    }

    // Seconds that a unit takes.
    static double Unit(bool on, Action<bool> sample)
    {
        sample(on);
        var watch = Stopwatch.StartNew();
        long units = Units(turn, Frames);
        return watch.Elapsed.TotalSeconds / units;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Units(TimeSpan time, int frames)
    {
        long units = frames > 0 ? Units(time, frames - 1) : Units(time);
        return units;
    }

    static long Units(TimeSpan time)
    {
        var worker = new Worker();
        long units = 0;
        for (var watch = Stopwatch.StartNew(); watch.Elapsed < time; units++)
            worker.Unit();
        return units;
    }

    interface IStep { int Next(int value); }

    sealed class Xor : IStep
    {
        public int Next(int value) => value ^ value << 13 ^ (int)((uint)value >> 7);
    }

    sealed class Multiply : IStep
    {
        public int Next(int value) => value * 1_103_515_245 + 12_345;
    }

    sealed class Worker
    {
        readonly IStep[] steps = [new Xor(), new Multiply()];
        readonly int[] values = new int[500];
        readonly Dictionary<int, int> seen = new(1000);
        readonly char[] text = new char[400];
        int state = 1;

        // About 100 microseconds, always the same kind of work.
        public void Unit()
        {
            Fill();
            Array.Sort(values);
            Count();
            if (Fibonacci(14) != 377)
                throw new InvalidOperationException("wrong sum");
            Format();
        }

        void Fill()
        {
            for (int i = 0; i < values.Length; i++)
                values[i] = state = steps[i & 1].Next(state);
        }

        void Count()
        {
            seen.Clear();
            foreach (int value in values)
                seen[value & 255] = seen.GetValueOrDefault(value & 255) + 1;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Fibonacci(int n) => n < 2 ? n : Fibonacci(n - 1) + Fibonacci(n - 2);

        void Format()
        {
            int at = 0;
            for (int i = 0; at < text.Length - 12; i++)
                at += values[i].TryFormat(text.AsSpan(at), out int written) ? written : 0;
            state ^= text.AsSpan().IndexOf('7');
        }
    }
}
