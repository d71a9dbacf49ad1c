// Plain calls of every kind: what a call chain of ordinary C# looks like on the stack.

using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;

namespace Sample;

static class Calls
{
    public static readonly State[] All =
    [
        new("recursion", () => Recurse(200)),
        new("virtual", () => new Derived().Visit(12)),
        new("interface", () => Walk(new Derived(), 12)),
        new("generic-shared", () => Generic<string>.Nest(12, "x")),
        new("generic-value", () => Generic<(int, long)>.Nest(12, (1, 2))),
        new("lambda", () => Curry(3)(4)(5)),
        new("linq", () => Enumerable.Range(0, 9).Where(x => x % 2 == 0).Select(Stay).OrderBy(x => x).ToList()),
        new("iterator", () => { foreach (int _ in Tree(6)) { } }),
        new("delegate-multi", () => Multicast()()),
        new("dynamic-method", () => Emitted()(7)),
        new("reflection", () => typeof(Calls).GetMethod(nameof(Invoked), BindingFlags.Static | BindingFlags.NonPublic)!
                                             .Invoke(null, [1, "two"])),
        new("many-arguments", () => Many(1, 2, 3, 4, 5, 6, 7, 8, 9.0, 10.0, "11", (12, 13L, 14.0))),
        new("stackalloc", () => StackAlloc(500)),
        new("big-frame", () => BigFrame(3)),
        new("small-frames", () => Small.Outer(3)),
        new("static-ctor", () => Later.Touch()),
        new("tail-sort", () => Sorted()),
    ];

    static int Recurse(int depth)
    {
        if (depth == 0)
            Stage.Hold();
        return depth == 0 ? 0 : Recurse(depth - 1) + 1;
    }

    interface IVisitor { int Visit(int depth); }

    abstract class Base : IVisitor
    {
        public abstract int Visit(int depth);
        protected virtual int Next(int depth) => Visit(depth - 1) + 1;
    }

    sealed class Derived : Base
    {
        public override int Visit(int depth)
        {
            if (depth == 0)
                Stage.Hold();
            return depth % 2 == 0 ? Next(depth) : base.Next(depth);
        }
    }

    static int Walk(IVisitor visitor, int depth) => depth > 3 ? Walk(visitor, depth - 1) + 1 : visitor.Visit(depth);

    static class Generic<T>
    {
        public static List<T> Nest(int depth, T value) => depth == 0 ? End(value) : Wrap<List<T>>(depth, value);

        [MethodImpl(MethodImplOptions.NoInlining)]
        static List<T> Wrap<TOther>(int depth, T value) where TOther : new()
        {
            TOther other = new();
            List<T> result = Nest(depth - 1, value);
            GC.KeepAlive(other);
            return result;
        }

        static List<T> End(T value)
        {
            Stage.Hold();
            return [value];
        }
    }

    static Func<int, Func<int, int>> Curry(int a) => b => c => Stay(a + b + c);

    static int Stay(int value)
    {
        Stage.Hold();
        return value;
    }

    static IEnumerable<int> Tree(int depth)
    {
        if (depth == 0)
            yield return Stay(0);
        else
            foreach (int leaf in Tree(depth - 1))
                yield return leaf;
    }

    static Action Multicast()
    {
        Action all = () => { };
        all += () => Stay(1);
        return all;
    }

    static Func<int, int> Emitted()
    {
        if (!RuntimeFeature.IsDynamicCodeSupported) // NativeAOT: there is no compiler to emit for
            return Stay;
        var inner = new DynamicMethod("EmittedInner", typeof(int), [typeof(int)], typeof(Calls).Module, true);
        ILGenerator il = inner.GetILGenerator();
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Call, typeof(Calls).GetMethod(nameof(Stay), BindingFlags.Static | BindingFlags.NonPublic)!);
        il.Emit(OpCodes.Ret);
        return inner.CreateDelegate<Func<int, int>>();
    }

    static int Invoked(int number, string text) => Stay(number + text.Length);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static double Many(int a, long b, int c, long d, int e, long f, int g, long h, double i, double j, string k,
                       (int, long, double) l)
    {
        if (a < 6)
            return Many(a + 1, b, c, d, e, f, g, h, i, j, k, l) + h;
        Stage.Hold();
        return a + b + c + d + e + f + g + h + i + j + k.Length + l.Item1;
    }

    static int StackAlloc(int bytes)
    {
        Span<byte> room = stackalloc byte[bytes];
        room.Fill(1);
        int below = bytes > 100 ? StackAlloc(bytes - 100) : Stay(0);
        return below + room[^1];
    }

    [InlineArray(3000)]
    struct Large { long first; }

    static long BigFrame(int depth)
    {
        Large locals = default; // 24,000 bytes: the prologue has to probe page by page
        locals[depth] = depth == 0 ? Stay(0) : BigFrame(depth - 1);
        return locals[depth] + locals[2999];
    }

    static int Sorted()
    {
        int[] values = [.. Enumerable.Range(0, 100).Select(i => i * 37 % 100)];
        int calls = 0;
        Array.Sort(values, (a, b) =>
        {
            if (++calls == 200)
                Stage.Hold();
            return a.CompareTo(b);
        });
        return values[0];
    }

    static class Later
    {
        static readonly int value = Stay(1);
        static Later() { }
        public static int Touch() => value;
    }

    // Optimised from the start, so small that the JIT gives them no frame pointer.
    static class Small
    {
        const MethodImplOptions Fast = MethodImplOptions.AggressiveOptimization | MethodImplOptions.NoInlining;

        [MethodImpl(Fast)]
        public static int Outer(int x) => Middle(x + 1) + 1;

        [MethodImpl(Fast)]
        static int Middle(int x)
        {
            int y = Inner(x * 3);
            return y + x;
        }

        [MethodImpl(Fast)]
        static int Inner(int x) => Stay(x) ^ 5;
    }
}
