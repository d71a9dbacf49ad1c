// Exceptions in flight: threads that are inside a filter, a catch or a finally block while the stack of the
// code that threw is (filter, finally) or is no longer (catch) of use.

using System.Runtime.CompilerServices;

namespace Sample;

static class Exceptions
{
    public static readonly State[] All =
    [
        new("filter", () => Filter(Throw)),
        new("catch", () => Catch(Throw)),
        new("finally", () => Finally(Throw)),
        new("finally-normal", () => Finally(() => 0)),
        new("fault-iterator", () => { try { foreach (int _ in Faulting()) { } } catch (Oops) { } }),
        new("catch-in-catch", () => CatchInCatch()),
        new("finally-catch", () => FinallyInCatch()),
        new("filter-finally", () => FilterInFinally()),
        new("filter-deep", () => Filter(() => Deep(5))),
        new("finally-deep", () => Deep(3, () => Finally(() => Deep(5)))),
        new("rethrow", () => Rethrow()),
        new("null-catch", () => Catch(NullReference)),
        new("null-filter", () => Filter(NullReference)),
        new("null-at-entry", () => Catch(() => AtEntry(nothing!))),
        new("null-after-push", () => Filter(() => AfterPush(nothing!))),
        new("divide-finally", () => Finally(Divide)),
        new("framework-throw", () => Catch(() => int.Parse("not a number"))),
        new("async-catch", () => AsyncCatch().Wait()),
    ];

    sealed class Oops : Exception;

    static int Throw() => throw new Oops();

    static int Deep(int depth, Func<int>? last = null) =>
        depth > 0 ? Deep(depth - 1, last) + 1 : last != null ? last() : Throw();

    static int HoldValue()
    {
        Stage.Hold();
        return 0;
    }

    static bool HoldInFilter(string reason)
    {
        Stage.Hold();
        return reason.Length > 0;
    }

    static int Filter(Func<int> thrower)
    {
        int value = 1;
        try
        {
            value = thrower();
        }
        catch (Exception e) when (HoldInFilter(e.Message + value))
        {
            value++;
        }
        return value;
    }

    static int Catch(Func<int> thrower)
    {
        int value = 1;
        try
        {
            value = thrower();
        }
        catch (Exception e)
        {
            value = HoldValue() + e.Message.Length;
        }
        return value;
    }

    static int Finally(Func<int> thrower)
    {
        int value = 1;
        try
        {
            value = InFinally(thrower, value);
        }
        catch (Exception)
        {
            value++;
        }
        return value;
    }

    static int InFinally(Func<int> thrower, int value)
    {
        try
        {
            value += thrower();
        }
        finally
        {
            value += HoldValue();
        }
        return value;
    }

    static IEnumerable<int> Faulting()
    {
        try
        {
            yield return 1;
            yield return Throw();
        }
        finally
        {
            HoldValue();
        }
    }

    static int CatchInCatch()
    {
        try
        {
            return Throw();
        }
        catch (Oops)
        {
            try
            {
                return Deep(2);
            }
            catch (Oops)
            {
                return Catch(Throw);
            }
        }
    }

    static int FinallyInCatch()
    {
        try
        {
            return Throw();
        }
        catch (Oops)
        {
            try
            {
                return InFinally(() => Deep(2), 1);
            }
            catch (Oops)
            {
                return 0;
            }
        }
    }

    static int FilterInFinally()
    {
        try
        {
            try
            {
                return Throw();
            }
            finally
            {
                Filter(Throw);
            }
        }
        catch (Oops)
        {
            return 0;
        }
    }

    static int Rethrow()
    {
        try
        {
            try
            {
                return Throw();
            }
            catch (Oops)
            {
                throw;
            }
        }
        catch (Oops)
        {
            return HoldValue();
        }
    }

    sealed class Node
    {
        public int Value = 1;
    }

    static readonly Node? nothing = null;
    static readonly int zero = 0;

    static int NullReference() => nothing!.Value + 1;

    // Optimised, the first faults at its first instruction, the second behind a push that makes its frame.
    const MethodImplOptions Fast = MethodImplOptions.AggressiveOptimization | MethodImplOptions.NoInlining;

    [MethodImpl(Fast)]
    static int AtEntry(Node node) => node.Value + 1;

    [MethodImpl(Fast)]
    static int AfterPush(Node node) => Seven(node.Value) + 1;

    [MethodImpl(Fast)]
    static int Seven(int value) => value * 7;

    static int Divide() => 1 / zero;

    static async Task<int> AsyncCatch()
    {
        try
        {
            return await Task.FromException<int>(new Oops());
        }
        catch (Oops)
        {
            return HoldValue();
        }
    }
}
