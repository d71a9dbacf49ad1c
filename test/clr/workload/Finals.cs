// Exceptions while the second pass runs: finally and fault blocks, which also run when nothing has been thrown.

using static Workload.Throwing;

namespace Workload;

static class Finals
{
    public const int Tag = 18000;

    public static readonly Scenario[] All =
    [
        new("finally-normal", () => Finally(() => 4), 114),
        new("finally-thrown", () => Catch(() => Finally(() => Deep(8))), 2),
        new("finally-every-frame", () => Catch(() => EveryFrame(40)), 2),
        new("finally-nested", () => NestedFinally(0), 7),
        new("finally-nested-thrown", () => Catch(() => NestedFinally(1)), 2),
        new("finally-in-catch-in-catch", FinallyInCatchInCatch, 9),
        new("finally-catches", () => Catch(() => FinallyCatches(4)), 2),
        new("finally-replaces", Replaces, 3),
        new("finally-return", () => Returning(3), 3),
        new("fault-iterator", FaultingIterator, 1),
        new("using", () => Catch(Used), 2),
        new("lock-thrown", () => Catch(() => { lock (new object()) return Deep(3); }), 2),
    ];

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

    static int Finally(Func<int> thrower)
    {
        int value = 100;
        try
        {
            value += thrower();
        }
        finally
        {
            Probe.Here(Tag);
            value += 10;
        }
        return value;
    }

    static int EveryFrame(int depth)
    {
        try
        {
            return depth == 0 ? Throw() : EveryFrame(depth - 1) + 1;
        }
        finally
        {
            if (depth % 8 == 0)
                Probe.Here(Tag);
        }
    }

    static int NestedFinally(int divisor)
    {
        int value = 1;
        try
        {
            try
            {
                value += divisor == 0 ? 0 : Throw();
            }
            finally
            {
                try
                {
                    Probe.Here(Tag);
                    value += 2;
                }
                finally
                {
                    Probe.Here(Tag);
                    value += 4;
                }
            }
        }
        finally
        {
            Probe.Here(Tag);
        }
        return value;
    }

    static int FinallyInCatchInCatch()
    {
        int value = 0;
        try
        {
            Throw();
        }
        catch (Oops)
        {
            try
            {
                Deep(2);
            }
            catch (Oops)
            {
                try
                {
                    Finally(() => Catch(Throw));
                    Deep(1);
                }
                catch (Oops)
                {
                    value += 5;
                }
                finally
                {
                    Probe.Here(Tag);
                    value += 4;
                }
            }
        }
        return value;
    }

    static int FinallyCatches(int depth)
    {
        try
        {
            return Deep(3);
        }
        finally
        {
            Catch(() => depth > 0 ? FinallyCatches(depth - 1) : Throw());
            Probe.Here(Tag);
        }
    }

    static int Replaces()
    {
        try
        {
            try
            {
                return Throw();
            }
            finally
            {
                Probe.Here(Tag);
                if (Nothing == null)
                    throw new TimeoutException();
            }
        }
        catch (TimeoutException)
        {
            Probe.Here(Tag);
            return 3;
        }
    }

    static int Returning(int depth)
    {
        try
        {
            try
            {
                return depth;
            }
            finally
            {
                Probe.Here(Tag);
            }
        }
        finally
        {
            Catch(Throw);
        }
    }

    static IEnumerable<int> Faulting()
    {
        try
        {
            yield return 1;
            Deep(3);
            yield return 2;
        }
        finally
        {
            Probe.Here(Tag);
        }
    }

    static int FaultingIterator()
    {
        int last = 0;
        try
        {
            foreach (int value in Faulting())
                last = value;
        }
        catch (Oops)
        {
            Probe.Here(Tag);
        }
        return last;
    }

    sealed class Disposable : IDisposable
    {
        public void Dispose() => Probe.Here(Tag);
    }

    static int Used()
    {
        using var outer = new Disposable();
        using (new Disposable())
            return Deep(2);
    }
}
