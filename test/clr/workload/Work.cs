// What --cpu does: units of computation, all alike, without probes, waits and allocation, so that the
// units done in a time tell what something beside it costs.

using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Workload;

static class Work
{
    // For the runtime to compile everything for good before anything is counted.
    static readonly TimeSpan warmUp = TimeSpan.FromSeconds(1.5);

    // Under the work: as deep as a program of some size.
    const int Frames = 25;

    /// <summary>
    /// Computes on so many threads for so many seconds, after a warm-up. Answers the units done, and the CPU time that
    /// the process, all of it, took meanwhile: on a machine that others use too, units by CPU time are what compares.
    /// </summary>
    public static (long Units, TimeSpan Cpu) Run(int threads, double seconds)
    {
        long units = 0;
        TimeSpan before = default;
        using var start = new Barrier(threads, _ => before = Environment.CpuUsage.TotalTime);
        Pool.Together(threads, _ =>
        {
            Units(warmUp, Frames);
            start.SignalAndWait();
            Interlocked.Add(ref units, Units(TimeSpan.FromSeconds(seconds), Frames));
        });
        return (units, Environment.CpuUsage.TotalTime - before);
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
