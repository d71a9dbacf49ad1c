// Methods whose names and threads a profile must show as they are written here.

using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Profiled;

static class Busy
{
    public class Nested<T>
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Spin<U>(long until, (int, string) pair) where U : struct
        {
            long turns = pair.Item1;
            while (Stopwatch.GetTimestamp() < until)
                turns++;
            return turns;
        }
    }

    static long In(double seconds) => Stopwatch.GetTimestamp() + (long)(seconds * Stopwatch.Frequency);

    static async Task<long> SpinLater(long until)
    {
        await Task.Yield();
        return Nested<string>.Spin<int>(until, (1, ""));
    }

    static IEnumerable<long> SpinOften(int times)
    {
        for (int i = 0; i < times; i++)
            yield return Nested<string>.Spin<int>(In(0.02), (1, ""));
    }

    public static int Names(int value)
    {
        long turns = 0;
        var thread = new Thread(() => turns = Nested<string>.Spin<int>(In(0.1), (1, ""))) { Name = "a thread with a long name" };
        thread.Start();
        thread.Join();
        turns += SpinLater(In(0.1)).GetAwaiter().GetResult();
        turns += SpinOften(3).Sum();
        return value + (turns > 0 ? 3 : 0);
    }

    /// <summary>400 threads that do nothing, and one that works.</summary>
    public static int Sleepers(int value)
    {
        using var end = new ManualResetEventSlim();
        Thread[] threads = [.. Enumerable.Range(0, 400).Select(_ => new Thread(() => end.Wait()))];
        foreach (Thread thread in threads)
            thread.Start();
        long turns = Nested<string>.Spin<int>(In(1), (1, ""));
        end.Set();
        foreach (Thread thread in threads)
            thread.Join();
        return value + (turns > 0 ? 3 : 0);
    }

    /// <summary>Says that it is ready, and works until its standard input ends.</summary>
    public static int Ready(int value)
    {
        Console.WriteLine($"ready {Environment.ProcessId}");
        Task<int> end = Task.Run(Console.Read);
        while (!end.IsCompleted)
            Nested<string>.Spin<int>(In(0.05), (1, ""));
        return value + 3;
    }

    public static int Child()
    {
        Nested<string>.Spin<int>(In(0.2), (1, ""));
        Console.WriteLine("child: right");
        return 3;
    }
}
