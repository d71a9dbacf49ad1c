// Exceptions while the first pass runs: filters, whose code runs on top of the stack of the code that threw.

using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;

using static Workload.Throwing;

namespace Workload;

static class Filters
{
    public const int Tag = 3000;

    public static readonly Scenario[] All =
    [
        new("filter", () => Filter(Throw), 2),
        new("filter-deep", () => Filter(() => Deep(40)), 2),
        new("filter-very-deep", () => Filter(() => Deep(1500)), 2),
        new("filter-false", Refused, 12),
        new("filter-chain", () => Chain(12), 13),
        new("filter-over-finally", () => Filter(() => OverFinally(3)), 2),
        new("filter-throws", FilterThrows, 7),
        new("filter-throws-deep", () => DeepIn(20, FilterThrows), 7),
        new("filter-in-filter", () => FilterInFilter(), 5),
        new("filter-in-catch", FilterInCatch, 3),
        new("filter-in-finally", FilterInFinally, 11),
        new("filter-recursive", () => Recursive(25), 25),
        new("filter-null", () => Filter(NullReference), 2),
        new("filter-null-at-entry", () => Filter(() => AtEntry(Nothing!)), 2),
        new("filter-null-after-push", () => Filter(() => AfterPush(Nothing!)), 2),
        new("filter-divide", () => Filter(Divide), 2),
        new("filter-framework", () => Filter(() => int.Parse("not a number")), 2),
        new("filter-lambda", FilterInLambda, 4),
        new("filter-generic", () => FilterOf<Oops>() + FilterOf<Exception>(), 2),
        new("filter-locals", () => FilterWithLocals(64), 64),
        new("first-chance", FirstChance, 1),
    ];

    static int DeepIn(int depth, Func<int> last)
    {
        int below = depth > 0 ? DeepIn(depth - 1, last) : last();
        return below;
    }

    static bool Says(bool answer)
    {
        Probe.Here(Tag);
        return answer;
    }

    static int Filter(Func<int> thrower)
    {
        int value = 1;
        try
        {
            value = thrower();
        }
        catch (Exception e) when (Says(e.Message.Length + value > 0))
        {
            value++;
        }
        return value;
    }

    // Three filters on the way refuse, one of them in the method that catches in the end.
    static int Refused()
    {
        try
        {
            return Refusing(2);
        }
        catch (Oops) when (Says(false))
        {
            return 0;
        }
        catch (Exception e) when (Says(e is Oops))
        {
            return 12;
        }
    }

    static int Refusing(int depth)
    {
        try
        {
            return depth > 0 ? Refusing(depth - 1) : Throw();
        }
        catch (Oops) when (Says(false))
        {
            return -1;
        }
    }

    static int Chain(int links)
    {
        try
        {
            return links == 0 ? Throw() : Chain(links - 1) + 1;
        }
        catch (Oops) when (Says(links % 2 == 0))
        {
            return 1;
        }
    }

    // The filter further out runs first, then these finally blocks, innermost first.
    static int OverFinally(int depth)
    {
        try
        {
            return depth == 0 ? Throw() : OverFinally(depth - 1);
        }
        finally
        {
            Probe.Here(Tag);
        }
    }

    static bool ThrowingFilter(int depth)
    {
        Probe.Here(Tag);
        return depth == 0 ? throw new TimeoutException() : ThrowingFilter(depth - 1);
    }

    // What a filter throws is swallowed, and the filter has said no.
    static int FilterThrows()
    {
        try
        {
            return Throw();
        }
        catch (Oops) when (ThrowingFilter(3))
        {
            return 0;
        }
        catch (Oops)
        {
            Probe.Here(Tag);
            return 7;
        }
    }

    static int FilterInFilter()
    {
        try
        {
            return Throw();
        }
        catch (Oops) when (Filter(Throw) == 2 && Filter(() => Deep(5)) == 2)
        {
            Probe.Here(Tag);
            return 5;
        }
    }

    static int FilterInCatch()
    {
        try
        {
            return Throw();
        }
        catch (Oops)
        {
            return Filter(() => Deep(3)) + 1;
        }
    }

    static int FilterInFinally()
    {
        int value = 0;
        try
        {
            try
            {
                Deep(2);
            }
            finally
            {
                value += Filter(() => Deep(4));
            }
        }
        catch (Oops) when (Says(value == 0)) // asked before the finally block has run
        {
            value += 9;
        }
        return value;
    }

    static int Recursive(int depth)
    {
        try
        {
            return depth == 0 ? Throw() : Recursive(depth - 1) + 1;
        }
        catch (Oops) when (depth < 3 && Says(depth == 0))
        {
            return 0;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    static int AtEntry(int[] values) => values.Length;

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    static int AfterPush(int[] values)
    {
        int length = values.Length;
        return length + Filter(() => length);
    }

    static int FilterInLambda()
    {
        Func<int, int> guarded = limit =>
        {
            try
            {
                return Deep(limit);
            }
            catch (Oops) when (Says(limit > 0))
            {
                return limit;
            }
        };
        return guarded(4);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int FilterOf<T>() where T : Exception
    {
        try
        {
            return Throw();
        }
        catch (T e) when (Says(e is Oops))
        {
            return 1;
        }
    }

    // The filter reads locals, among them room on the stack that has no fixed place.
    static int FilterWithLocals(int bytes)
    {
        Span<byte> room = stackalloc byte[bytes];
        room.Fill(1);
        int sum = 0;
        try
        {
            Deep(2);
        }
        catch (Oops) when (Says(bytes == 64))
        {
            foreach (byte b in room)
                sum += b;
        }
        return sum;
    }

    // Called before any filter, inside the runtime's dispatch; for what other threads throw meanwhile too.
    static int FirstChance()
    {
        int seen = 0;
        int me = Environment.CurrentManagedThreadId;
        EventHandler<FirstChanceExceptionEventArgs> handler = (_, _) =>
        {
            Probe.Here(Tag);
            seen += Environment.CurrentManagedThreadId == me ? 1 : 0;
        };
        AppDomain.CurrentDomain.FirstChanceException += handler;
        try
        {
            return Deep(5);
        }
        catch (Oops)
        {
            Probe.Here(Tag);
        }
        finally
        {
            AppDomain.CurrentDomain.FirstChanceException -= handler;
        }
        return seen;
    }
}
