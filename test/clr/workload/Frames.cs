// Frames of all sizes and contents: room that grows as it goes, locals over a page and over 64 KiB, vectors that live
// over calls, structs by value, pinned things.

using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;

namespace Workload;

static unsafe class Frames
{
    public const int Tag = 10000;

    public static readonly Scenario[] All =
    [
        new("stackalloc", () => StackAlloc(900), 9),
        new("stackalloc-page", () => StackAlloc(20_000, 5_000), 4),
        new("stackalloc-loop", () => StackAllocLoop(8), 36),
        new("stackalloc-catch", () => StackAllocCatch(300), 300),
        new("frame-page", () => (int)Page(3), 3 + 2 + 1),
        new("frame-64k", () => (int)Huge(2), 3),
        new("frame-64k-catch", () => HugeCatch(3), 3),
        new("frame-growing", Growing, 4),
        new("vector-256", () => Wide256(5), 5 * 4),
        new("vector-512", () => Wide512(5), 5 * 8),
        new("vector-numerics", () => (int)Rotated(4).X, 16),
        new("double-kept", () => (int)Doubles(6, 1, 2, 3, 4), 70),
        new("struct-by-value", () => ByValue(new Six(1, 0, 0, 0, 0, 2), 5), 15 + 3),
        new("struct-return", () => (int)Returned(4).F, 4),
        new("struct-large-argument", () => (int)Large(new Kilobyte(), 3), 3),
        new("span-ref-struct", () => Sliced([1, 2, 3, 4, 5]), 15),
        new("pinned", () => Pinned([1, 2, 3]), 6),
        new("pinned-handle", PinnedHandle, 3),
        new("many-locals", () => (int)ManyLocals(1), 210),
        new("out-arguments", () => Out(5, out int b, out long c) + b + (int)c, 11),
    ];

    static int Stay(int value)
    {
        Probe.Here(Tag);
        return value;
    }

    static int StackAlloc(int bytes, int step = 100)
    {
        Span<byte> room = stackalloc byte[bytes];
        room.Fill(1);
        int below = bytes > step ? StackAlloc(bytes - step, step) : Stay(0);
        return below + room[^1];
    }

    static int StackAllocLoop(int times)
    {
        int sum = 0;
        for (int i = 1; i <= times; i++)
            sum += OneMore(i * 17);
        return sum;
    }

    static int OneMore(int bytes)
    {
        byte* room = stackalloc byte[bytes];
        room[bytes - 1] = (byte)(bytes / 17);
        Probe.Here(Tag);
        return room[bytes - 1];
    }

    static int StackAllocCatch(int bytes)
    {
        byte* room = stackalloc byte[bytes];
        NativeMemory.Fill(room, (nuint)bytes, 1);
        int sum = 0;
        try
        {
            Overflowing(int.MaxValue, bytes);
        }
        catch (OverflowException)
        {
            Probe.Here(Tag);
            for (int i = 0; i < bytes; i++)
                sum += room[i];
        }
        return sum;
    }

    static int Overflowing(int value, int more)
    {
        double* room = stackalloc double[more];
        room[0] = value;
        return checked(value + more);
    }

    [InlineArray(1000)]
    struct Words1000 { long first; }

    [InlineArray(9000)]
    struct Words9000 { long first; }

    static long Page(int depth)
    {
        Words1000 locals = default; // 8,000 bytes: the prologue has to probe page by page
        locals[depth] = depth;
        locals[999] = depth == 0 ? Stay(0) : Page(depth - 1);
        return locals[depth] + locals[999];
    }

    static long Huge(int depth)
    {
        Words9000 locals = default; // 72,000 bytes: no 16-bit figure tells the frame's size
        locals[depth] = depth;
        locals[8999] = depth == 0 ? Stay(0) : Huge(depth - 1);
        return locals[depth] + locals[8999];
    }

    static int HugeCatch(int depth)
    {
        Words9000 locals = default;
        locals[8000] = depth;
        try
        {
            Overflowing(int.MaxValue, depth);
        }
        catch (OverflowException) when (Stay(depth) > 0)
        {
            locals[8000] += Stay(0);
        }
        finally
        {
            Probe.Here(Tag);
        }
        return (int)locals[8000];
    }

    static int Growing() => Sized<(long, long)>() + Sized<Words1000>() + Sized<Words9000>() + Sized<Kilobyte>();

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Sized<T>() where T : struct
    {
        T room = default;
        Use(ref room);
        return 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Use<T>(ref T room)
    {
        Probe.Here(Tag);
        GC.KeepAlive(Unsafe.AsPointer(ref room) == null ? new object() : null);
    }

    static int Wide256(int depth)
    {
        Vector256<long> kept = Vector256.Create((long)depth);
        Vector256<double> other = Vector256.Create(0.5 * depth);
        int below = depth == 1 ? Stay(0) : Wide256(depth - 1);
        Vector256<long> sum = kept - kept + Vector256<long>.One + Vector256.ConvertToInt64(other - other);
        return below + (int)Vector256.Sum(sum);
    }

    static int Wide512(int depth)
    {
        Vector512<long> kept = Vector512.Create((long)depth);
        int below = depth == 1 ? Stay(0) : Wide512(depth - 1);
        return below + (int)Vector512.Sum(kept - kept + Vector512<long>.One);
    }

    static System.Numerics.Vector4 Rotated(int depth)
    {
        var here = new System.Numerics.Vector4(4, 3, 2, 1);
        if (depth == 1)
            Probe.Here(Tag);
        return depth == 1 ? here : here + Rotated(depth - 1);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static double Doubles(int depth, double a, double b, double c, double d)
    {
        double below = depth == 0 ? Stay(0) : Doubles(depth - 1, a, b, c, d);
        return below + a + b + c + d;
    }

    record struct Six(long A, long B, long C, long D, long E, long F);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int ByValue(Six six, int depth)
    {
        int below = depth == 0 ? Stay((int)(six.A + six.F)) : ByValue(six, depth - 1);
        return below + depth;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static Six Returned(int depth)
    {
        if (depth == 0)
            Probe.Here(Tag);
        Six six = depth == 0 ? default : Returned(depth - 1);
        six.F += depth == 0 ? 0 : 1;
        return six;
    }

    [InlineArray(128)]
    struct Kilobyte { long first; }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Large(Kilobyte argument, int depth)
    {
        argument[5]++;
        if (depth == 0)
            Probe.Here(Tag);
        return depth == 0 ? argument[5] - 1 : Large(argument, depth - 1);
    }

    ref struct Cursor(ReadOnlySpan<int> rest)
    {
        readonly ReadOnlySpan<int> rest = rest;

        public readonly int Sum()
        {
            Probe.Here(Tag);
            return rest.IsEmpty ? 0 : rest[0] + new Cursor(rest[1..]).Sum();
        }
    }

    static int Sliced(ReadOnlySpan<int> values) => new Cursor(values).Sum();

    static int Pinned(int[] values)
    {
        fixed (int* first = values)
        {
            GC.Collect(0);
            Probe.Here(Tag);
            return first[0] + first[1] + first[2];
        }
    }

    static int PinnedHandle()
    {
        GCHandle handle = GCHandle.Alloc(new byte[3], GCHandleType.Pinned);
        try
        {
            return Stay(((byte[])handle.Target!).Length);
        }
        finally
        {
            handle.Free();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long ManyLocals(long x)
    {
        long a = x, b = a + x, c = b + x, d = c + x, e = d + x, f = e + x, g = f + x, h = g + x, i = h + x, j = i + x;
        long k = j + x, l = k + x, m = l + x, n = m + x, o = n + x, p = o + x, q = p + x, r = q + x, s = r + x, t = s + x;
        Probe.Here(Tag);
        return a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p + q + r + s + t;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Out(int a, out int b, out long c)
    {
        Probe.Here(Tag);
        b = a - 1;
        c = b - 1;
        return b;
    }
}
