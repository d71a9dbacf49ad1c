// What runs because something is used for the first time: class constructors, module initialisers, lazy values; and
// what each thread has for itself.

using System.Runtime.CompilerServices;

namespace Workload;

static class Statics
{
    public const int Tag = 11000;

    public static readonly Scenario[] All =
    [
        new("cctor", () => Fresh.Call(typeof(Statics), nameof(Touch), 1), 7),
        new("cctor-nested", () => Fresh.Call(typeof(Statics), nameof(TouchOuter), 1), 8),
        new("cctor-throws", () => Fresh.Call(typeof(Statics), nameof(TouchFailing), 1), 5),
        new("cctor-contended", () => Fresh.Call(typeof(Statics), nameof(TouchTogether), 3), 21),
        new("cctor-generic-virtual", () => Fresh.Call(typeof(Statics), nameof(TouchVirtual), 2), 9),
        new("module-initialiser", () => Initialised, 1),
        new("lazy", () => new Lazy<int>(() => Probe.Pass(Tag, 6)).Value, 6),
        new("lazy-contended", LazyContended, 5),
        new("lazy-throws", LazyThrows, 2),
        new("lazy-initializer", LazyInitialised, 3),
        new("thread-static", ThreadStatics, 4),
        new("thread-local", ThreadLocals, 6),
    ];

    static int Initialised { get; set; }

    [ModuleInitializer]
    internal static void Initialise()
    {
        Initialised = 1;
        Probe.Here(Tag);
    }

    static class Later<T>
    {
        public static readonly int Value = Probe.Pass(Tag, 7);
        static Later() => Probe.Here(Tag);
    }

    static int Touch<T>(int times) => Later<T>.Value * times;

    static class Outer<T>
    {
        public static readonly int Value = Later<Wrapped<T>>.Value + 1;
        static Outer() => Probe.Here(Tag);
    }

    record struct Wrapped<T>(T Value);

    static int TouchOuter<T>(int times) => Outer<T>.Value * times;

    static class Failing<T>
    {
        public static int Value { get; }
        static Failing() => Value = Probe.Pass(Tag, 1) == 1 ? throw new TimeoutException() : 0;
    }

    static int TouchFailing<T>(int times)
    {
        try
        {
            return Failing<T>.Value * times;
        }
        catch (TypeInitializationException e) when (Probe.Pass(Tag, e.InnerException is TimeoutException))
        {
            return Probe.Pass(Tag, 5);
        }
    }

    static class Slow<T>
    {
        public static readonly int Value = Wait();

        static Slow() => Probe.Here(Tag);

        static int Wait()
        {
            Thread.Sleep(1);
            return Probe.Pass(Tag, 7);
        }
    }

    // One of the threads runs the constructor, the others wait for it inside the runtime.
    static int TouchTogether<T>(int threads)
    {
        int sum = 0;
        Pool.Together(threads, _ => Interlocked.Add(ref sum, Slow<T>.Value));
        return sum;
    }

    interface IMaker { int Make<T>(int value); }

    sealed class Maker : IMaker
    {
        public int Make<T>(int value) => Later<T[]>.Value + Probe.Pass(Tag, value);
    }

    static int TouchVirtual<T>(int value) => ((IMaker)new Maker()).Make<T>(value);

    static int LazyContended()
    {
        var lazy = new Lazy<int>(() =>
        {
            Thread.Sleep(1);
            return Probe.Pass(Tag, 5);
        });
        int last = 0;
        Pool.Together(3, _ => last = lazy.Value);
        return last;
    }

    static int LazyThrows()
    {
        var lazy = new Lazy<int>(() => Probe.Pass(Tag, 1) == 1 ? throw new TimeoutException() : 0);
        int caught = 0;
        for (int i = 0; i < 2; i++)
            try
            {
                _ = lazy.Value;
            }
            catch (TimeoutException)
            {
                caught++;
                Probe.Here(Tag);
            }
        return caught;
    }

    static int LazyInitialised()
    {
        string? text = null;
        return LazyInitializer.EnsureInitialized(ref text, () => Probe.Pass(Tag, "abc")).Length;
    }

    [ThreadStatic] static int mine;
    [ThreadStatic] static List<string>? texts;

    static int ThreadStatics()
    {
        int sum = 0;
        Pool.Together(4, index =>
        {
            mine += Probe.Pass(Tag, 1);
            (texts ??= []).Add("x");
            Probe.Here(Tag);
            Interlocked.Add(ref sum, mine * texts.Count);
        });
        return sum;
    }

    static int ThreadLocals()
    {
        int next = 0;
        int sum = 0;
        using var local = new ThreadLocal<int>(() => Probe.Pass(Tag, Interlocked.Increment(ref next)));
        Pool.Together(3, _ => Interlocked.Add(ref sum, local.Value));
        return sum;
    }
}
