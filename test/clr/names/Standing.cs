// Threads that stand somewhere until the end, so that a stack has frames of each kind.

using System.Runtime.CompilerServices;

namespace Names;

static class Standing
{
    static readonly SemaphoreSlim end = new(0);
    static readonly CountdownEvent there = new(4);
    static readonly List<Thread> threads = [];
    static readonly TaskCompletionSource never = new();

    public static void Start()
    {
        Begin(() => new Waiter<Guid>().Stay("s", 3));
        Begin(() => Iterate().First());
        Begin(() => Blocked(1).Wait());
        Begin(() => new[] { 1 }.Select(one => { Here(); return one; }).ToList());
        there.Wait();
    }

    public static void End() => end.Release(threads.Count);

    static void Begin(Action body)
    {
        var thread = new Thread(() => body()) { IsBackground = true };
        threads.Add(thread);
        thread.Start();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Here()
    {
        there.Signal();
        end.Wait();
    }

    static IEnumerable<int> Iterate() { Here(); yield return 1; }

    static async Task<int> Blocked(int value)
    {
        Here();
        await never.Task;
        return value;
    }

    sealed class Waiter<T>
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public int Stay<V>(V value, int depth) { if (depth > 0) return Stay(value, depth - 1); Here(); return depth; }
    }
}
