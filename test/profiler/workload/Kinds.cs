// What a round of each kind does. It answers its number and 3.


using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Loader;
using System.Text.Json;
using System.Text.RegularExpressions;
using System.Threading.Channels;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace Profiled;

/// <summary>Where code in a load context is entered.</summary>
public static class Inside
{
    public static int Answer(int value) => value + new[] { 1, 2, 3 }.Length;
}

static class Kinds
{
    public static readonly Dictionary<string, Func<int, int>> All = new()
    {
        ["json"] = Json,
        ["regex"] = Match,
        ["linq"] = Linq,
        ["channels"] = value => Channels(value).GetAwaiter().GetResult(),
        ["exceptions"] = Exceptions,
        ["faults"] = Faults,
        ["threads"] = Threads,
        ["stacks"] = Stacks,
        ["garbage"] = Garbage,
        ["native"] = Native,
        ["contexts"] = Contexts,
        ["processes"] = Processes,
        ["forks"] = Forks.Fork,
        ["exec"] = Forks.Exec,
        ["web"] = value => Web.Get(value).GetAwaiter().GetResult(),
        ["locks"] = Locks,
        ["bursts"] = Bursts,
        ["names"] = Busy.Names,
        ["sleepers"] = Busy.Sleepers,
        ["ready"] = Busy.Ready,
        ["status"] = value => value + 3,
    };

    record Order(int Number, string Name, Dictionary<string, double> Prices);

    static int Json(int value)
    {
        var order = new Order(value, "name", Enumerable.Range(0, 50).ToDictionary(i => $"k{i}", i => i * 1.5));
        Order back = JsonSerializer.Deserialize<Order>(JsonSerializer.Serialize(order))!;
        return back.Number + (back.Prices.Count == 50 ? 3 : 0);
    }

    static readonly Regex words = new(@"(\w+)\s+(?<second>[a-z]+\d*)\b", RegexOptions.Compiled);

    static int Match(int value) => value + words.Matches("one two2 three four4 five six6").Count(match => match.Groups["second"].Success);

    static int Linq(int value) =>
        value + Enumerable.Range(0, 3000).Where(i => i % 3 == 0).Select(i => i * 2L).OrderByDescending(i => i).GroupBy(i => i % 3).Count() * 3;

    static async IAsyncEnumerable<int> Numbers(int count)
    {
        for (int i = 0; i < count; i++)
        {
            await Task.Yield();
            yield return i;
        }
    }

    static async Task<int> Channels(int value)
    {
        Channel<int> channel = Channel.CreateBounded<int>(4);
        Task writer = Task.Run(async () =>
        {
            await foreach (int number in Numbers(200))
                await channel.Writer.WriteAsync(number);
            channel.Writer.Complete();
        });
        int read = 0;
        await foreach (int _ in channel.Reader.ReadAllAsync())
            read++;
        await writer;
        return value + (read == 200 ? 3 : 0);
    }

    static int Exceptions(int value)
    {
        int caught = 0;
        for (int i = 0; i < 100; i++)
            try
            {
                Deep(8, i);
            }
            catch (InvalidOperationException)
            {
                caught++;
            }
        return value + caught - 97;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Deep(int depth, int value) => depth == 0 ? throw new InvalidOperationException($"{value}") : Deep(depth - 1, value) + 1;

    /* A processor's fault each: the runtime's handler of SIGSEGV runs, on an alternate stack. */
    static int Faults(int value)
    {
        int caught = 0;
        Order?[] nothing = new Order[1];
        Parallel.For(0, 300, i =>
        {
            try
            {
                GC.KeepAlive(nothing[0]!.Number);
            }
            catch (NullReferenceException)
            {
                Interlocked.Increment(ref caught);
            }
        });
        return value + caught - 297;
    }

    static int Threads(int value)
    {
        int sum = 0;
        Thread[] threads = [.. Enumerable.Range(0, 30).Select(i => new Thread(() => Interlocked.Increment(ref sum)) { Name = $"storm {i}" })];
        foreach (Thread thread in threads)
            thread.Start();
        foreach (Thread thread in threads)
            thread.Join();
        return value + sum - 27;
    }

    /// <summary>What a thread has mapped goes with it.</summary>
    static int Stacks(int value)
    {
        static int Mapped() => File.ReadLines("/proc/self/maps").Count();
        Threads(value);
        int before = Mapped();
        for (int i = 0; i < 10; i++)
            Threads(value);
        return value + (Mapped() - before < 200 ? 3 : 0);
    }

    static int Garbage(int value)
    {
        var kept = new List<byte[]>();
        Parallel.For(0, 2000, i =>
        {
            var block = new byte[100 + i];
            if (i % 100 == 0)
                lock (kept)
                    kept.Add(block);
        });
        return value + kept.Count - 17;
    }

    [DllImport("libc", EntryPoint = "qsort")]
    static extern unsafe void Sort(int[] values, nint count, nint size, delegate* unmanaged<int*, int*, int> compare);

    [UnmanagedCallersOnly]
    static unsafe int Compare(int* a, int* b) => a->CompareTo(*b);

    static unsafe int Native(int value)
    {
        int[] values = [.. Enumerable.Range(0, 500).Select(i => (i * 7919) % 500)];
        Sort(values, values.Length, sizeof(int), &Compare);
        return value + values[3];
    }

    static int Contexts(int value)
    {
        var context = new AssemblyLoadContext("fresh", isCollectible: true);
        Assembly copy = context.LoadFromAssemblyPath(typeof(Inside).Assembly.Location);
        MethodInfo answer = copy.GetType(typeof(Inside).FullName!)!.GetMethod(nameof(Inside.Answer))!;
        int result = answer.CreateDelegate<Func<int, int>>()(value);
        context.Unload();
        if (value % 20 == 0)
            GC.Collect();
        return result;
    }

    static int Processes(int value)
    {
        var start = new ProcessStartInfo("dotnet") { RedirectStandardOutput = true };
        start.ArgumentList.Add(typeof(Inside).Assembly.Location);
        start.ArgumentList.Add("child");
        using Process child = Process.Start(start)!;
        string said = child.StandardOutput.ReadToEnd();
        child.WaitForExit();
        using Process native = Process.Start("/bin/true");
        native.WaitForExit();
        return value + (said == "child: right\n" ? child.ExitCode : 0);
    }

    static readonly object gate = new();

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Early() => Spin();

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Late() => Spin();

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    static void Spin()
    {
        for (long begun = Stopwatch.GetTimestamp(); Stopwatch.GetElapsedTime(begun).TotalMilliseconds < 1.75;)
            for (uint i = 0; i < 20000; i++)
                Volatile.Write(ref spun, i);
    }

    static uint spun;

    /* Works for less than a tick of the kernel's clock, half of it in either method, and waits. */
    static int Bursts(int value)
    {
        Early();
        Late();
        Thread.Sleep(5);
        return value + 3;
    }

    static int Locks(int value)
    {
        int sum = 0;
        Parallel.For(0, 4, i =>
        {
            for (int turn = 0; turn < 5; turn++)
                lock (gate)
                {
                    Thread.SpinWait(20000);
                    sum++;
                }
        });
        return value + sum - 17;
    }
}
