// Plain calls of every kind, shallow and 5,000 deep: what a chain of ordinary C# calls looks like on the stack.

using System.Runtime.CompilerServices;

namespace Workload;

static unsafe class Calls
{
    public const int Tag = 1000;

    public static readonly Scenario[] All =
    [
        new("recursion", () => Recurse(4999), 4999),
        new("recursion-mutual", () => Even(1000) ? 1 : 0, 1),
        new("recursion-mixed", () => Mixed(600), 600),
        new("recursion-mixed-deep", () => Mixed(4000), 4000),
        new("virtual", () => new Derived().Visit(24), 24),
        new("interface", () => Walk(new Derived(), 24), 24),
        new("interface-default", () => ((IGreets)new Guest()).Greet(5), 5),
        new("interface-struct", () => Walk(new Light(), 12), 12),
        new("interface-generic", () => Ask<string>(new Asked(), "abc") + Ask<object>(new Asked(), 7), 2),
        new("static-abstract", () => Sum<Three>(5) + Sum<Four>(5), 35),
        new("generic-shared", () => Generic<string>.Nest(12, "x").Count, 1),
        new("generic-shared-method", () => Shared<Guest>(6) + Shared<string>(6), 12),
        new("generic-value", () => Generic<(int, long)>.Nest(12, (1, 2)).Count, 1),
        new("generic-virtual", () => new Host().Take<string>(4) + new Host().Take<int>(4), 8),
        new("struct-instance", () => new Light { depth = 3 }.Visit(3), 3),
        new("calli-managed", () => Through(&Pointed, 9), 10),
        new("calli-shared", () => ThroughShared(&Shared<string>, 5), 5),
        new("many-arguments", () => (int)Many(1, 2, 3, 4, 5, 6, 7, 8, 9.0, 10.0, "11", (12, 13L, 14.0)), 88),
        new("small-frames", () => Small.Outer(3), 1 + 4 + 9 + 5 + 1 + 12),
        new("ref-returns", RefReturns, 6),
        new("interpolation", () => $"{Probe.Pass(Tag, 12)}-{new Shown()}".Length, 8),
        new("operators", Operators, 9),
    ];

    static int Recurse(int depth)
    {
        if (depth is 0 or 2500 or 4900)
            Probe.Deep(Tag);
        return depth == 0 ? 0 : Recurse(depth - 1) + 1;
    }

    static bool Even(int value)
    {
        if (value % 250 == 0)
            Probe.Here(Tag);
        bool result = value == 0 || Odd(value - 1);
        return result;
    }

    static bool Odd(int value)
    {
        bool result = value != 0 && Even(value - 1);
        return result;
    }

    // Each level is called in another way: virtual, interface, shared generic, generic over a value type.
    static int Mixed(int depth)
    {
        if (depth == 0)
            Probe.Deep(Tag);
        else if (depth % 200 == 0 && depth < 600)
            Probe.Here(Tag);
        return depth == 0 ? 0 : 1 + (depth % 4) switch
        {
            0 => new Way().Go(depth - 1),
            1 => ((IWay)new Way()).Step(depth - 1),
            2 => Generic<string>.Go(depth - 1, "x", new object()),
            _ => Generic<(long, double)>.Go(depth - 1, (1, 2), 3.0f),
        };
    }

    interface IWay { int Step(int depth); }

    class Ways
    {
        public virtual int Go(int depth) => -1;
    }

    sealed class Way : Ways, IWay
    {
        public override int Go(int depth) => Mixed(depth) + (depth & 0);
        public int Step(int depth) => Mixed(depth) + (depth & 0);
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
            if (depth % 6 == 0)
                Probe.Here(Tag);
            return depth == 0 ? 0 : depth % 2 == 0 ? Next(depth) : base.Next(depth);
        }
    }

    struct Light : IVisitor
    {
        public int depth;

        public int Visit(int deeper)
        {
            depth = deeper;
            Probe.Here(Tag);
            return deeper == 0 ? 0 : Visit(deeper - 1) + 1;
        }
    }

    static int Walk(IVisitor visitor, int depth) => depth > 3 ? Walk(visitor, depth - 1) + 1 : visitor.Visit(depth);

    interface IGreets
    {
        int Greet(int times)
        {
            Probe.Here(Tag);
            return times == 0 ? 0 : Greet(times - 1) + 1;
        }
    }

    sealed class Guest : IGreets;

    interface IAsked<in T> { int Answer(T question); }

    sealed class Asked : IAsked<object>, IAsked<string>
    {
        int IAsked<object>.Answer(object question) => Probe.Pass(Tag, 1);
        int IAsked<string>.Answer(string question) => Probe.Pass(Tag, 1);
    }

    static int Ask<T>(IAsked<T> asked, T question) => asked.Answer(question);

    interface INumber { static abstract int Value { get; } }

    struct Three : INumber { public static int Value => Probe.Pass(Tag, 3); }

    sealed class Four : INumber { public static int Value => Probe.Pass(Tag, 4); }

    static int Sum<T>(int times) where T : INumber => times == 0 ? 0 : T.Value + Sum<T>(times - 1);

    static class Generic<T>
    {
        public static int Go<TOther>(int depth, T value, TOther other)
        {
            int below = Mixed(depth);
            return value is null || other is null ? -1 : below;
        }

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
            Probe.Here(Tag);
            return [value];
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Shared<T>(int depth) where T : class
    {
        Probe.Here(Tag);
        return depth == 0 || typeof(T) == typeof(Way) ? 0 : Shared<T>(depth - 1) + 1;
    }

    class Host
    {
        public virtual int Take<T>(int depth)
        {
            Probe.Here(Tag);
            return depth == 0 ? 0 : depth % 2 == 0 ? Take<T>(depth - 1) + 1 : Take<List<T>>(depth - 1) + 1;
        }
    }

    static int Through(delegate*<int, int> f, int value) => f(value) + 1;

    static int Pointed(int value)
    {
        Probe.Here(Tag);
        return value;
    }

    static int ThroughShared(delegate*<int, int> f, int value) => f(value);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static double Many(int a, long b, int c, long d, int e, long f, int g, long h, double i, double j, string k,
                       (int, long, double) l)
    {
        if (a < 6)
            return Many(a + 1, b, c, d, e, f, g, h, i, j, k, l) + h;
        Probe.Here(Tag);
        return a - b + c - d + e - f + g - h + i + j + k.Length + l.Item1 + l.Item3;
    }

    static int RefReturns()
    {
        int[] values = [1, 2, 3];
        Largest(values) += 2;
        Probe.Here(Tag);
        return values[2] + values[0];
    }

    static ref int Largest(int[] values)
    {
        Probe.Here(Tag);
        return ref values[^1];
    }

    sealed class Shown
    {
        public override string ToString() => Probe.Pass(Tag, "shown");
    }

    static int Operators()
    {
        bool more = new Money(2) + new Money(3) > new Money(4);
        bool less = new Money(1) < new Money(2);
        return (more ? 1 : 0) + (less ? 1 : 0) + (int)new Money(7);
    }

    readonly record struct Money(int Amount)
    {
        public static Money operator +(Money a, Money b) => new(Probe.Pass(Tag, a.Amount + b.Amount));
        public static bool operator >(Money a, Money b) => Probe.Pass(Tag, a.Amount > b.Amount);
        public static bool operator <(Money a, Money b) => Probe.Pass(Tag, a.Amount < b.Amount);
        public static explicit operator int(Money money) => Probe.Pass(Tag, money.Amount);
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
            return y + x + 14;
        }

        [MethodImpl(Fast)]
        static int Inner(int x)
        {
            Probe.Here(Tag);
            return x ^ 1;
        }
    }
}
