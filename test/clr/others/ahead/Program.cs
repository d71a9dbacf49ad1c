// What NativeAOT makes of names: a method, a generic one of a value type, and a boxed value's, which a stub unboxes for.
// Prints "ready" at the bottom of them and waits there.

namespace Ahead;

readonly record struct Point(int X) : IComparable
{
    public int CompareTo(object? other)
    {
        int below = Program.Wait(X);
        return below - (other is Point point ? point.X : 0);
    }
}

static class Program
{
    static volatile int never;

    public static int Wait(int depth)
    {
        Console.WriteLine("ready");
        Console.Out.Flush();
        Thread.Sleep(600000);
        return depth + never;
    }

    [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
    static int Through<T>(T value, IComparable[] others)
        where T : notnull
    {
        int below = others[0].CompareTo(value);
        return below + never;
    }

    static void Main(string[] arguments) => never = Through(new Point(arguments.Length), [new Point(1)]);
}
