// What all states share: a thread that starts one, and the ways to stay in it.

using System.Collections.Concurrent;
using System.Runtime.InteropServices;

namespace Sample;

/// <summary>A named place to be in. `Enter` calls Stage.Hold, or Stage.Arrive and then blocks or spins by itself.</summary>
record State(string Name, Action Enter);

static partial class Stage
{
    static readonly ConcurrentDictionary<string, bool> awaited = new();

    public static void Start(State state)
    {
        awaited[state.Name] = true;
        new Thread(() => state.Enter()) { Name = state.Name, IsBackground = true }.Start();
    }

    /// <summary>Says that the current thread is about to be in the state it is named after.</summary>
    public static void Arrive() => awaited.TryRemove(Thread.CurrentThread.Name ?? "", out _);

    /// <summary>For threads that the state did not start itself: pool, timer, finalizer and native threads.</summary>
    public static void ArriveAs(string name)
    {
        Thread.CurrentThread.Name = name;
        awaited.TryRemove(name, out _);
    }

    public static void Hold()
    {
        Arrive();
        Thread.Sleep(Timeout.Infinite);
    }

    public static void HoldAs(string name)
    {
        ArriveAs(name);
        Thread.Sleep(Timeout.Infinite);
    }

    /// <summary>Announces a state that some other thread than the one started for it will be in.</summary>
    public static void Await(string name) => awaited[name] = true;

    public static bool AllArrived(TimeSpan limit)
    {
        DateTime end = DateTime.UtcNow + limit;
        while (!awaited.IsEmpty && DateTime.UtcNow < end)
            Thread.Sleep(20);
        return awaited.IsEmpty;
    }

    public static string Missing() => string.Join(", ", awaited.Keys);

    /// <summary>Ends the process at once: the threads hold locks, finalizers and constructors for good.</summary>
    public static void Exit() => ExitNow(0);

    [LibraryImport("libc", EntryPoint = "_exit")]
    private static partial void ExitNow(int status);
}
