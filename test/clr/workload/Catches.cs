// Exceptions that have been caught: catch blocks, nested, in other exceptions' flight, rethrown.

using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;

using static Workload.Throwing;

namespace Workload;

static class Catches
{
    public const int Tag = 4000;

    public static readonly Scenario[] All =
    [
        new("catch", () => Catch(Throw), 2),
        new("catch-deep", () => Catch(() => Deep(60)), 2),
        new("catch-very-deep", () => Catch(() => Deep(2000)), 2),
        new("catch-in-catch", () => CatchInCatch(6), 6),
        new("catch-null", () => Catch(NullReference), 2),
        new("catch-divide", () => Catch(Divide), 2),
        new("catch-overflow", () => Catch(() => Overflow(int.MaxValue)), 2),
        new("catch-cast", () => Catch(() => Cast(new Oops())), 2),
        new("catch-index", () => Catch(Index), 2),
        new("catch-array-store", () => Catch(Store), 2),
        new("catch-framework", () => Catch(() => int.Parse("not a number")), 2),
        new("catch-levels", () => Levels(5), 5),
        new("catch-continue", Continue, 10),
        new("rethrow", () => Rethrow(4), 4),
        new("rethrow-new", () => Renew(4), 4),
        new("rethrow-kept", Kept, 6),
        new("rethrow-cause", Cause, 1),
        new("catch-shared-generic", () => Held<string>.Catch<Oops>(3) + Held<object>.Catch<Exception>(3), 2),
        new("catch-collects", CatchCollects, 1),
        new("throw-many", ThrowMany, 60),
    ];

    static readonly int[] nothings = [];

    static int Catch(Func<int> thrower)
    {
        int value = 1;
        try
        {
            value = thrower();
        }
        catch (Exception e)
        {
            Probe.Here(Tag);
            value += e.Message.Length > 0 ? 1 : 0;
        }
        return value;
    }

    static int CatchInCatch(int depth)
    {
        try
        {
            return Throw();
        }
        catch (Oops)
        {
            Probe.Here(Tag);
            return depth == 1 ? 1 : CatchInCatch(depth - 1) + 1;
        }
    }

    static int Overflow(int value) => checked(value + nothings.Length + 1);

    static int Cast(object value) => ((string)value).Length;

    static int Index() => nothings[3];

    static int Store()
    {
        object[] objects = new string[1];
        objects[0] = new Oops();
        return 0;
    }

    static int Levels(int level)
    {
        try
        {
            try
            {
                try
                {
                    return level == 1 ? Throw() : Levels(level - 1) + Throw();
                }
                catch (InvalidCastException)
                {
                    return -1;
                }
            }
            finally
            {
                Probe.Here(Tag);
            }
        }
        catch (Oops)
        {
            Probe.Here(Tag);
            return level;
        }
    }

    static int Continue()
    {
        int caught = 0;
        for (int i = 0; i < 10; i++)
            try
            {
                Deep(i % 3);
            }
            catch (Oops)
            {
                caught++;
                if (caught % 2 == 0)
                    continue;
                Probe.Here(Tag);
            }
        return caught;
    }

    static int Rethrow(int depth)
    {
        try
        {
            return RethrowFrom(depth);
        }
        catch (Oops)
        {
            Probe.Here(Tag);
            return depth;
        }
    }

    static int RethrowFrom(int depth)
    {
        try
        {
            return depth == 0 ? Throw() : RethrowFrom(depth - 1);
        }
        catch (Oops)
        {
            Probe.Here(Tag);
            throw;
        }
    }

    static int Renew(int depth)
    {
        try
        {
            return depth == 0 ? throw new Oops() : Renew(depth - 1) + 1;
        }
        catch (Oops e) when (depth > 0)
        {
            Probe.Here(Tag);
            return depth == 4 ? e.Depth + 1 : throw new Oops(e.Depth + 1);
        }
    }

    static int Kept()
    {
        ExceptionDispatchInfo? kept = null;
        try
        {
            Deep(6);
        }
        catch (Oops e)
        {
            kept = ExceptionDispatchInfo.Capture(e);
        }
        try
        {
            kept?.Throw();
        }
        catch (Oops e) when (Probe.Pass(Tag, e.StackTrace!.Contains(nameof(Deep))))
        {
            Probe.Here(Tag);
            return 6;
        }
        return 0;
    }

    static int Cause()
    {
        try
        {
            try
            {
                return Throw();
            }
            catch (Oops e)
            {
                throw new InvalidOperationException("outer", e);
            }
        }
        catch (InvalidOperationException e)
        {
            Probe.Here(Tag);
            return e.InnerException is Oops ? 1 : 0;
        }
    }

    static class Held<T>
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Catch<TException>(int depth) where TException : Exception
        {
            try
            {
                return depth == 0 ? Throw() : Catch<TException>(depth - 1);
            }
            catch (TException e) when (depth == 3)
            {
                Probe.Here(Tag);
                return e is Oops && typeof(T).IsClass ? 1 : 0;
            }
            finally
            {
                Probe.Here(Tag);
            }
        }
    }

    static int CatchCollects()
    {
        try
        {
            return Deep(10);
        }
        catch (Oops)
        {
            GC.Collect(0);
            Probe.Here(Tag);
            return 1;
        }
    }

    static int ThrowMany()
    {
        int caught = 0;
        for (int i = 0; i < 60; i++)
            try
            {
                Deep(i % 7);
            }
            catch (Oops)
            {
                caught++;
            }
        Probe.Here(Tag);
        return caught;
    }
}
