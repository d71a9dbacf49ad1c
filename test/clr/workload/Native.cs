// Managed code that calls native code that calls managed code, several deep, by every door that there is between the two.

using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Workload;

static unsafe class Native
{
    public const int Tag = 5000;

    public static readonly Scenario[] All =
    [
        new("pinvoke", () => Times(10, () => Probe.Here(Tag)), 10),
        new("pinvoke-errno", () => Times(5, () => Probe.Errno(Tag)), 5),
        new("pinvoke-marshal", () => Times(5, () => Probe.Text(Tag, "a text of this length")), 5),
        new("pinvoke-cooperative", () => Times(10, () => Probe.Cooperative(Tag)), 10),
        new("pinvoke-pointer", () => Times(5, () => Probe.Pointer(Tag)), 5),
        new("pinvoke-cooperative-pointer", () => Times(5, () => Probe.CooperativePointer(Tag)), 5),
        new("pinvoke-deep", () => Every(30), 30),
        new("callback", () => Probe.Call(&Deeper, 1), 1),
        new("callback-deep", () => Probe.Call(&Deeper, 25), 25),
        new("callback-between", () => Between(20), 20),
        new("callback-delegate", () => Probe.Call(new Callback(Stay), 8), 8),
        new("callback-delegate-deep", () => ByDelegate(10), 10),
        new("callback-delegate-pointer", () => ByPointer(10), 10),
        new("callback-closure", Closure, 21),
        new("callback-multicast", Multicast, 3),
        new("callback-throws-inside", () => Probe.Call(&ThrowsInside, 5), 5),
        new("callback-filter-inside", () => Probe.Call(&FilterInside, 5), 5),
        new("callback-in-catch", InCatch, 4),
        new("callback-in-filter", InFilter, 4),
        new("callback-in-finally", InFinally, 7),
        new("callback-collects", () => Probe.Call(&Collects, 3), 3),
        new("native-thread", () => Probe.OnNativeThread(&Deeper, 3), 3),
        new("native-thread-twice", () => Probe.OnNativeThread(&OnAnother, 2), 2),
        new("native-thread-throws", () => Probe.OnNativeThread(&ThrowsInside, 2), 2),
        new("sort-native", () => SortNative(7), 7),
    ];

    static int Times(int times, Action probe)
    {
        for (int i = 0; i < times; i++)
            probe();
        return times;
    }

    static int Stay(int value)
    {
        Probe.Here(Tag);
        return value;
    }

    // One after the other, each on top of the frames of the former.
    static int Every(int depth)
    {
        switch (depth % 5)
        {
            case 0: Probe.Here(Tag); break;
            case 1: Probe.Errno(Tag); break;
            case 2: Probe.Text(Tag, nameof(Every)); break;
            case 3: Probe.Cooperative(Tag); break;
            default: Probe.Pointer(Tag); break;
        }
        return depth == 0 ? 0 : Every(depth - 1) + 1;
    }

    [UnmanagedCallersOnly]
    static int Deeper(int depth)
    {
        if (depth % 4 == 1)
            Probe.Here(Tag);
        return depth == 1 ? Stay(1) : Probe.Call(&Deeper, depth - 1) + 1;
    }

    // A few managed frames, then native ones, and so on.
    static int Between(int depth) => depth == 0 ? Stay(0) : depth % 4 == 0 ? Probe.Call(&Reenter, depth) : Between(depth - 1) + 1;

    [UnmanagedCallersOnly]
    static int Reenter(int depth)
    {
        Probe.Cooperative(Tag);
        Probe.Errno(Tag);
        return Between(depth - 1) + 1;
    }

    static int ByDelegate(int depth)
    {
        if (depth == 0)
            return Stay(0);
        Callback next = below => ByDelegate(below) + 1;
        int result = Probe.Call(next, depth - 1);
        GC.KeepAlive(next);
        return result;
    }

    static int ByPointer(int depth)
    {
        Probe.Here(Tag);
        if (depth == 0)
            return 0;
        Callback next = ByPointer;
        var pointer = (delegate* unmanaged<int, int>)Marshal.GetFunctionPointerForDelegate(next);
        int result = Probe.Call(pointer, depth - 1) + 1;
        GC.KeepAlive(next);
        return result;
    }

    static int Closure()
    {
        int sum = 0;
        for (int i = 1; i <= 6; i++)
        {
            Callback add = value => sum += Stay(value);
            Probe.Call(add, i);
            GC.KeepAlive(add);
        }
        return sum;
    }

    static int Multicast()
    {
        int calls = 0;
        Callback all = value => calls += Stay(value);
        all += value => calls += Stay(value);
        all += value => calls += Stay(value);
        Probe.Call(all, 1);
        GC.KeepAlive(all);
        return calls;
    }

    static int Throw(int depth) => depth == 0 ? throw new TimeoutException() : Throw(depth - 1) + 1;

    [UnmanagedCallersOnly]
    static int ThrowsInside(int depth)
    {
        try
        {
            return Throw(depth);
        }
        catch (TimeoutException)
        {
            Probe.Here(Tag);
            return depth == 1 ? 1 : Probe.Call(&ThrowsInside, depth - 1) + 1;
        }
        finally
        {
            Probe.Here(Tag);
        }
    }

    [UnmanagedCallersOnly]
    static int FilterInside(int depth)
    {
        try
        {
            return Throw(depth);
        }
        catch (TimeoutException) when (Stay(depth) == 5)
        {
            return depth;
        }
    }

    static int InCatch()
    {
        try
        {
            return Throw(5);
        }
        catch (TimeoutException)
        {
            return Probe.Call(&Deeper, 4);
        }
    }

    static int InFilter()
    {
        try
        {
            return Throw(5);
        }
        catch (TimeoutException) when (Probe.Call(&Deeper, 4) == 4)
        {
            return Probe.Call(&FilterInside, 5) - 1;
        }
    }

    static int InFinally()
    {
        int value = 0;
        try
        {
            try
            {
                Throw(2);
            }
            finally
            {
                value += Probe.Call(&Deeper, 4);
            }
        }
        catch (TimeoutException)
        {
            value += 3;
        }
        return value;
    }

    [UnmanagedCallersOnly]
    static int Collects(int depth)
    {
        string kept = new('x', depth);
        if (depth > 0)
            Probe.Call(&Collects, depth - 1);
        else
            GC.Collect(0);
        Probe.Here(Tag);
        return kept.Length;
    }

    [UnmanagedCallersOnly]
    static int OnAnother(int depth) => depth == 0 ? Stay(0) : Probe.OnNativeThread(&OnAnother, depth - 1) + 1;

    [DllImport("libc", EntryPoint = "qsort")]
    static extern void Sort(int* values, nint count, nint size, delegate* unmanaged<int*, int*, int> compare);

    [UnmanagedCallersOnly]
    static int Compare(int* left, int* right)
    {
        Probe.Here(Tag);
        return left->CompareTo(*right);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int SortNative(int count)
    {
        int* values = stackalloc int[count];
        for (int i = 0; i < count; i++)
            values[i] = count - i;
        Sort(values, count, sizeof(int), &Compare);
        return values[count - 1];
    }
}
