// What --compiling does: the same small thing over and over, each of which makes the runtime tell a profiler something:
// dynamic methods, expression trees, methods, load contexts, threads. Without probes.

using System.Diagnostics;
using System.Linq.Expressions;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;

namespace Workload;

/// <summary>Where code in a load context is entered.</summary>
public static class Inside
{
    public static int Answer(int value) => value + new[] { 1, 2, 3 }.Length;
}

static class Compiling
{
    // To compile for good what makes the things, before anything is counted.
    const int WarmUp = 30;

    static readonly Dictionary<string, (Func<int, int> Make, int Turn)> kinds = new()
    {
        ["dynamic"] = (Dynamic, 50),
        ["expressions"] = (Expressions, 20),
        ["methods"] = (value => Fresh.Call(typeof(Compiling), nameof(Generic), value), 20),
        ["contexts"] = (InContext, 5),
        ["threads"] = (OnThread, 50),
    };

    /// <summary>The names of the kinds, for the usage.</summary>
    public static string Kinds => string.Join(", ", kinds.Keys);

    /// <summary>
    /// Makes things of a kind in pairs of turns: `feed` off, on, or the other way about. Answers, for each pair, the
    /// processor time of the process for one thing in microseconds, with it off and with it on.
    /// </summary>
    public static IEnumerable<(double Off, double On)> Turns(string kind, int pairs, Action<bool> feed)
    {
        if (!kinds.TryGetValue(kind, out (Func<int, int> Make, int Turn) one))
            throw new ArgumentException($"what is {kind}? There are {Kinds}");
        feed(true);
        Turn(one.Make, WarmUp);
        for (int pair = 0; pair < pairs; pair++)
        {
            bool first = (pair & 1) == 0;
            double before = Turn(one, first, feed), after = Turn(one, !first, feed);
            yield return first ? (after, before) : (before, after);
        }
    }

    static double Turn((Func<int, int> Make, int Turn) one, bool on, Action<bool> feed)
    {
        feed(on);
        return Turn(one.Make, one.Turn);
    }

    // Processor time, because other programs may be running; all threads', because some of it is on threads of the runtime.
    static double Turn(Func<int, int> make, int count)
    {
        TimeSpan begun = ProcessorTime();
        for (int value = 0; value < count; value++)
            if (make(value) != value + 3)
                throw new InvalidOperationException("wrong answer");
        return (ProcessorTime() - begun).TotalMicroseconds / count;
    }

    static TimeSpan ProcessorTime()
    {
        using var self = System.Diagnostics.Process.GetCurrentProcess();
        return self.TotalProcessorTime;
    }

    static int Dynamic(int value)
    {
        DynamicMethod method = Emitted.New("Fresh", typeof(int));
        ILGenerator il = method.GetILGenerator();
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Ldc_I4_3);
        il.Emit(OpCodes.Add);
        il.Emit(OpCodes.Ret);
        return method.CreateDelegate<Func<int, int>>()(value);
    }

    static int Expressions(int value)
    {
        int[] three = [1, 2, 3];
        Expression<Func<int, int>> expression = number => number + three.Length;
        return expression.Compile()(value);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Generic<T>(int value) => value + (default(T) is null ? 0 : 3);

    static int InContext(int value)
    {
        var context = new AssemblyLoadContext("fresh", isCollectible: true);
        Assembly copy = context.LoadFromAssemblyPath(Path.GetFullPath(Environment.GetCommandLineArgs()[0]));
        MethodInfo answer = copy.GetType(typeof(Inside).FullName!)!.GetMethod(nameof(Inside.Answer))!;
        int result = answer.CreateDelegate<Func<int, int>>()(value);
        context.Unload();
        return result;
    }

    static int OnThread(int value)
    {
        int result = 0;
        var thread = new Thread(() => result = value + 3);
        thread.Start();
        thread.Join();
        return result;
    }
}
