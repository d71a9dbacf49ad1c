// Methods whose names and threads a profile must show as they are written here.

using System.Runtime.CompilerServices;

namespace Profiled;

static class Busy
{
    public class Nested<T>
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Spin<U>(long millions, (int, string) pair) where U : struct
        {
            long mixed = pair.Item1;
            for (long turn = 0; turn < millions * 1_000_000; turn++)
                mixed = mixed * 6364136223846793005 + turn;
            return mixed;
        }
    }

    static async Task<long> SpinLater(long millions)
    {
        await Task.Yield();
        return Nested<string>.Spin<int>(millions, (1, ""));
    }

    static IEnumerable<long> SpinOften(int times)
    {
        for (int i = 0; i < times; i++)
            yield return Nested<string>.Spin<int>(30, (1, ""));
    }

    public static int Names(int value)
    {
        long turns = 0;
        var thread = new Thread(() => turns = Nested<string>.Spin<int>(60, (1, ""))) { Name = "a thread with a long name" };
        thread.Start();
        thread.Join();
        turns ^= SpinLater(60).GetAwaiter().GetResult();
        turns ^= SpinOften(3).Aggregate((a, b) => a ^ b);
        return value + (turns != 0 ? 3 : 0);
    }

    /// <summary>400 threads that do nothing, and one that works.</summary>
    public static int Sleepers(int value)
    {
        using var end = new ManualResetEventSlim();
        Thread[] threads = [.. Enumerable.Range(0, 400).Select(_ => new Thread(() => end.Wait()))];
        foreach (Thread thread in threads)
            thread.Start();
        long turns = Nested<string>.Spin<int>(500, (1, ""));
        end.Set();
        foreach (Thread thread in threads)
            thread.Join();
        return value + (turns != 0 ? 3 : 0);
    }

    /// <summary>Says that it is ready, and works until its standard input ends.</summary>
    public static int Ready(int value)
    {
        Console.WriteLine($"ready {Environment.ProcessId}");
        Task<int> end = Task.Run(Console.Read);
        while (!end.IsCompleted)
            Nested<string>.Spin<int>(20, (1, ""));
        return value + 3;
    }

    public static int Child()
    {
        Nested<string>.Spin<int>(60, (1, ""));
        Console.WriteLine("child: right");
        return 3;
    }
}
