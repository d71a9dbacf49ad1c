// Places from where the main thread has its own stack looked at.
namespace Target;

using System.Linq.Expressions;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

static unsafe class OwnThread
{
    public static void All()
    {
        Program.Here(1);
        Recurse(100);
        foreach (int i in Iterator())
            GC.KeepAlive(i);
        Catching();
        Expression.Lambda<Action>(Expression.Call(((Action<int>)Program.Here).Method, Expression.Constant(6))).Compile()();
        var call = (delegate* unmanaged<delegate* unmanaged<void>, int>)Program.Export("vendor_call");
        call(&Back);
        new List<int> { 3, 1, 2 }.Sort((a, b) =>
        {
            if (a == 3 || b == 3)
                Program.Here(8);
            return a - b;
        });
        typeof(OwnThread).GetMethod(nameof(Reflected))!.Invoke(null, null);
        GC.KeepAlive(Constructed.Value);
        Generic<string>.Look();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Recurse(int depth)
    {
        if (depth == 0)
            Program.Here(2);
        else
            Recurse(depth - 1);
        return depth;
    }

    static IEnumerable<int> Iterator()
    {
        Program.Here(3);
        yield return 1;
    }

    static bool Look(int occasion)
    {
        Program.Here(occasion);
        return true;
    }

    static void Catching()
    {
        try
        {
            try
            {
                throw new InvalidOperationException("expected");
            }
            finally
            {
                Program.Here(4);
            }
        }
        catch (InvalidOperationException) when (Look(5))
        {
            Program.Here(12);
        }
    }

    [UnmanagedCallersOnly]
    static void Back() => Program.Here(7);

    public static void Reflected() => Program.Here(9);

    static class Constructed
    {
        public static readonly bool Value = Look(10);

        static Constructed()
        {
        }
    }

    static class Generic<T>
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Look()
        {
            Program.Here(11);
            GC.KeepAlive(typeof(T));
        }
    }
}
