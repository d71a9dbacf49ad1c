// Where threads are parked. The number of a place is its index plus one.
namespace Target;

using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

static class Places
{
    public const int Deepest = 5;
    public static readonly ThreadStart[] All =
    {
        Sleeping, Blocked, Waiting, WaitingForEvent, Joining, () => Deep(3000), InNative, InNativeAndBack, Spinning,
        SpinningDeep, InCatch, InFinally, InFilter, InDynamicMethod, InClassConstructor, () => Generic("generic"),
        () => Virtual(new Derived()), () => Iterating(), () => Linq(), () => OnThePool(), () => Reflecting(),
        () => Multicast(), InNestedHandlers, () => AsyncBody().Wait(), Reading,
    };

    static readonly object Taken = new();
    static volatile int laps;

    static void Forever() => Thread.Sleep(Timeout.Infinite);

    static void Sleeping() => Forever();

    static void Blocked()
    {
        using var taken = new ManualResetEventSlim();
        var owner = new Thread(() =>
        {
            lock (Taken)
            {
                taken.Set();
                Forever();
            }
        }) { IsBackground = true };
        owner.Start();
        taken.Wait();
        lock (Taken)
            Forever();
    }

    static void Waiting()
    {
        var own = new object();
        lock (own)
            Monitor.Wait(own);
    }

    static void WaitingForEvent()
    {
        using var never = new ManualResetEvent(false);
        never.WaitOne();
    }

    static void Joining()
    {
        var other = new Thread(Forever) { IsBackground = true };
        other.Start();
        other.Join();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Deep(int depth)
    {
        if (depth == 0)
            Forever();
        return Deep(depth - 1) + 1;
    }

    static unsafe void InNative() => ((delegate* unmanaged<void>)Program.Export("vendor_block"))();

    [UnmanagedCallersOnly]
    static void Back() => Forever();

    static unsafe void InNativeAndBack()
    {
        var call = (delegate* unmanaged<delegate* unmanaged<void>, int>)Program.Export("vendor_call");
        call(&Back);
    }

    // No call, no allocation: only the runtime's own means stop it.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Spin()
    {
        while (laps >= 0)
            laps = (laps + 1) & 0xffff;
    }

    static void Spinning() => Spin();

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int SpinAt(int depth)
    {
        if (depth == 0)
            Spin();
        return SpinAt(depth - 1) + 1;
    }

    static void SpinningDeep() => SpinAt(200);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Throw() => throw new InvalidOperationException("expected");

    static void InCatch()
    {
        try
        {
            Throw();
        }
        catch (InvalidOperationException)
        {
            Forever();
        }
    }

    static void Finally()
    {
        try
        {
            Throw();
        }
        finally
        {
            Forever();
        }
    }

    static void InFinally()
    {
        try
        {
            Finally();
        }
        catch (InvalidOperationException)
        {
        }
    }

    static bool Filter()
    {
        Forever();
        return true;
    }

    static void InFilter()
    {
        try
        {
            Throw();
        }
        catch (InvalidOperationException) when (Filter())
        {
        }
    }

    static void InNestedHandlers()
    {
        try
        {
            Throw();
        }
        catch (InvalidOperationException)
        {
            try
            {
                Finally();
            }
            catch (InvalidOperationException)
            {
            }
        }
    }

    static void InDynamicMethod()
    {
        var method = new DynamicMethod("made", null, null, typeof(Places).Module, true);
        var il = method.GetILGenerator();
        il.Emit(OpCodes.Call, ((Action)Forever).Method);
        il.Emit(OpCodes.Ret);
        ((Action)method.CreateDelegate(typeof(Action)))();
    }

    static class Constructed
    {
        public static readonly int Value = Make();

        static int Make()
        {
            Forever();
            return 1;
        }

        static Constructed()
        {
        }
    }

    static void InClassConstructor() => GC.KeepAlive(Constructed.Value);

    class Base
    {
        public virtual void Stay() => Forever();
    }

    sealed class Derived : Base
    {
        public override void Stay() => base.Stay();
    }

    static void Virtual(Base of) => of.Stay();

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Generic<T>(T value)
    {
        if (value is string text)
            Generic(text.Length);
        else
            Forever();
    }

    static IEnumerable<int> Iterator()
    {
        yield return 1;
        Forever();
    }

    static void Iterating()
    {
        foreach (int i in Iterator())
            GC.KeepAlive(i);
    }

    static void Linq() => Enumerable.Range(0, 10).Select(i =>
    {
        if (i == 5)
            Forever();
        return i;
    }).Where(i => i > 7).ToList();

    static void OnThePool() => Task.Run(Forever).Wait();

    static void Reflecting() => typeof(Places).GetMethod(nameof(Forever), System.Reflection.BindingFlags.Static |
        System.Reflection.BindingFlags.NonPublic)!.Invoke(null, null);

    static void Multicast()
    {
        Action all = () => GC.KeepAlive(null);
        all += Forever;
        all();
    }

    static async Task AsyncBody()
    {
        await Task.Yield();
        Forever();
    }

    static void Reading()
    {
        using var pipe = new System.IO.Pipes.AnonymousPipeServerStream(System.IO.Pipes.PipeDirection.In);
        GC.KeepAlive(pipe.ReadByte());
    }
}
