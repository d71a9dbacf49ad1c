// The garbage collector at work: collections on top of deep stacks, allocation without end, finalizers, handles.

using System.Runtime;
using System.Runtime.CompilerServices;

namespace Workload;

static class Memory
{
    public const int Tag = 15000;

    public static readonly Scenario[] All =
    [
        new("collect-deep", () => CollectDeep(700, 0), 700),
        new("collect-deep-compacting", () => CollectDeep(300, 2), 300),
        new("collect-in-finally", CollectInFinally, 3),
        new("allocate-small", () => Storm(20_000), 20_000),
        new("allocate-large", () => Large(12), 12),
        new("allocate-pinned", AllocatePinned, 100),
        new("allocate-together", AllocateTogether, 3),
        new("allocate-strings", () => Texts(3_000), 12_000),
        new("finalizer", Finalizers, 1),
        new("finalizer-throws-inside", FinalizersThatThrow, 1),
        new("finalizer-resurrects", Resurrects, 1),
        new("weak-reference", Weak, 1),
        new("dependent-handle", Dependent, 1),
        new("conditional-weak-table", WeakTable, 4),
        new("array-pool", () => Rented(8), 8),
        new("boxing", () => Boxed(2_000), 2_000),
    ];

    static int Stay(int value)
    {
        Probe.Here(Tag);
        return value;
    }

    // Every frame holds something that the collector has to find and, compacting, to move.
    static int CollectDeep(int depth, int generation)
    {
        string kept = new('x', depth % 50);
        int below = depth == 0 ? Collect(generation) : CollectDeep(depth - 1, generation) + 1;
        return kept.Length == depth % 50 ? below : -1;
    }

    static int Collect(int generation)
    {
        GC.Collect(generation, GCCollectionMode.Forced, true, generation == 2);
        Probe.Deep(Tag);
        return 0;
    }

    static int CollectInFinally()
    {
        int value = 0;
        try
        {
            try
            {
                value = CollectDeep(3, 0);
                throw new TimeoutException();
            }
            finally
            {
                GC.Collect(1);
                Probe.Here(Tag);
            }
        }
        catch (TimeoutException)
        {
            GC.Collect(0);
            Probe.Here(Tag);
        }
        return value;
    }

    static int Storm(int count)
    {
        object?[] kept = new object?[64];
        for (int i = 0; i < count; i++)
        {
            kept[i % 64] = new byte[i % 200];
            if (i % 5_000 == 4_999)
                Probe.Here(Tag);
        }
        return kept[^1] is byte[] ? count : 0;
    }

    static int Large(int count)
    {
        int made = 0;
        for (int i = 0; i < count; i++)
            made += new byte[100_000 + i].Length > 0 ? Stay(1) : 0;
        return made;
    }

    static int AllocatePinned()
    {
        byte[] bytes = GC.AllocateUninitializedArray<byte>(100, pinned: true);
        GC.Collect(0);
        return Stay(bytes.Length);
    }

    static int AllocateTogether() => Pool.Together(3, index => Stay(Storm(5_000 * (index + 1))));

    static int Texts(int count)
    {
        var kept = new List<string>();
        for (int i = 0; i < count; i++)
            kept.Add(i % 1_000 == 0 ? Probe.Pass(Tag, "0000") : i.ToString("d4"));
        return string.Concat(kept).Length;
    }

    sealed class Finalized(Action action)
    {
        ~Finalized() => action();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Drop(Action action)
    {
        for (int i = 0; i < 4; i++)
            GC.KeepAlive(new Finalized(action));
    }

    // The finalizer thread's stack is looked at. That it comes to all of them at once is not promised.
    static int RunFinalizers(Action action)
    {
        int ran = 0;
        Drop(() =>
        {
            action();
            Interlocked.Increment(ref ran);
        });
        for (int i = 0; i < 20 && Volatile.Read(ref ran) == 0; i++)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        return ran > 0 ? 1 : 0;
    }

    static int Finalizers() => RunFinalizers(() => Probe.Here(Tag));

    static int FinalizersThatThrow() => RunFinalizers(() =>
    {
        try
        {
            throw new TimeoutException();
        }
        catch (TimeoutException) when (Stay(1) == 1)
        {
            Probe.Here(Tag);
        }
    });

    sealed class Returning(List<object> saved)
    {
        ~Returning()
        {
            Probe.Here(Tag);
            lock (saved)
                saved.Add(this);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void DropReturning(List<object> saved) => GC.KeepAlive(new Returning(saved));

    static int Resurrects()
    {
        var saved = new List<object>();
        for (int i = 0; i < 20; i++)
        {
            DropReturning(saved);
            GC.Collect(0);
            GC.WaitForPendingFinalizers();
            lock (saved)
                if (saved.Count > 0)
                    return 1;
        }
        return 0;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static WeakReference<object> NewWeak() => new(new object());

    // By itself: what it finds would stay alive in the frame of a caller that is not optimised.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static bool Lives(WeakReference<object> weak) => weak.TryGetTarget(out _);

    static int Weak()
    {
        WeakReference<object> weak = NewWeak();
        for (int i = 0; i < 20 && Lives(weak); i++)
            GC.Collect();
        return Stay(Lives(weak) ? 0 : 1);
    }

    static int Dependent()
    {
        object target = new();
        using var handle = new DependentHandle(target, new byte[10]);
        GC.Collect(0);
        int found = handle.Dependent is byte[] ? Stay(1) : 0;
        GC.KeepAlive(target);
        return found;
    }

    static int WeakTable()
    {
        var table = new ConditionalWeakTable<object, string>();
        object key = new();
        int length = table.GetValue(key, _ => Probe.Pass(Tag, "abcd")).Length;
        GC.KeepAlive(key);
        return length;
    }

    static int Rented(int depth)
    {
        byte[] room = System.Buffers.ArrayPool<byte>.Shared.Rent(1000 + depth);
        int below = depth == 0 ? Stay(0) : Rented(depth - 1) + 1;
        System.Buffers.ArrayPool<byte>.Shared.Return(room);
        return below;
    }

    static int Boxed(int count)
    {
        object value = 0;
        for (int i = 1; i <= count; i++)
        {
            value = (int)value + 1;
            if (i % 1_000 == 0)
                Probe.Here(Tag);
        }
        return (int)value;
    }
}
