// Stacks of many kinds of methods, all of which end in Spin. It prints the lines of its callers, as the runtime has them, and then
// works, so that samples have the same callers at the same instructions. With a second argument: all of them at once, at rest.

using System.Diagnostics;
using System.Linq.Expressions;
using System.Runtime.CompilerServices;

static class Lines
{
    static double seconds; static bool resting; static int rested;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Spin(int kind)
    {
        StackFrame[] frames = new StackTrace(1, true).GetFrames();
        Console.WriteLine($"{kind} " + string.Join(' ', frames.Where(f => f.GetFileLineNumber() != 0)
            .Select(f => $"{Path.GetFileName(f.GetFileName())}:{f.GetFileLineNumber()}:{f.GetFileColumnNumber()}")));
        return resting ? Rest() : Work(kind);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Work(int kind)
    {
        long mixed = kind;
        var clock = Stopwatch.StartNew();
        while (clock.Elapsed.TotalSeconds < seconds)
            for (int turn = 0; turn < 1000; turn++)
                mixed = mixed * 6364136223846793005 + turn;
        return mixed == 0 ? 1 : 2;
    }

    static int Plain(int kind)
    {
        int before = kind * 3;

        int after = Spin(kind)
            + before;
        return after;
    }

    static int Wrapped(int kind)
    {
        return Math.Max(
            kind,
            Math.Min(
                7,
                Plain(kind)));
    }

    class Box<T>
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public int Open<U>(int kind, T first, U second)
        {
            if (kind < 0)
                throw new ArgumentException(first?.ToString() + second);
            for (int i = 0; i < 1; i++)
            {
                kind += Spin(kind);
            }
            return kind;
        }
    }

    static async Task<int> Later(int kind)
    {
        await Task.Yield();
        int first = Spin(kind);
        await Task.Delay(1);
        return first + Plain(kind);
    }

    static IEnumerable<int> Often(int kind)
    {
        yield return 1;
        yield return Spin(kind);
        yield return 3;
    }

    static int Caught(int kind)
    {
        try
        {
            throw new InvalidOperationException();
        }
        catch (InvalidOperationException) when (kind > 0)
        {
            return Spin(kind);
        }
        finally
        {
            kind = Plain(kind);
        }
    }

    static int Chosen(int kind) => kind switch
    {
        < 0 => 0,
        > 1000 => throw new ArgumentException(),
        _ => Spin(kind) + 1,
    };

    static int Loops(int kind)
    {
        int sum = 0;
        for (int i = 0; i < 200_000; i++)
            sum += i ^ kind;
        // A method that runs long is replaced while it runs.
        return sum + Spin(kind);
    }

    static int Compiled(int kind)
    {
        ParameterExpression number = Expression.Parameter(typeof(int));
        Func<int, int> made = Expression.Lambda<Func<int, int>>(Expression.Call(typeof(Lines), nameof(Plain), null, number),
            number).Compile();
        return made(kind);
    }

    static int Recursive(int kind, int depth)
    {
        if (depth > 0)
            return Recursive(kind, depth - 1) + 1;

        return Spin(kind);
    }

    static int Local(int kind)
    {
        int within = 5;
        return Deeper(kind);

        int Deeper(int more)
        {
            within += Spin(more);
            return within;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Rest()
    {
        if (Interlocked.Increment(ref rested) == all.Length)
            Console.WriteLine($"ready {Environment.ProcessId}");
        Thread.Sleep(TimeSpan.FromSeconds(seconds));
        return 1;
    }

    static readonly Action[] all = {
        () => Plain(1),
        () => Wrapped(2),
        () => new Box<string>().Open(3, "", 1.5),
        () => new Box<(int, long)>().Open(4, (1, 2), ""),
        () => Later(5).GetAwaiter().GetResult(),
        () => Often(6).Sum(),
        () => new[] { 7 }.Select(n => Spin(n)).First(),
        () => Caught(8),
        () => Chosen(9),
        () => Loops(10),
        () => Compiled(11),
        () => Recursive(12, 4),
        () => Local(13),
#line 7000 "Elsewhere.cs"
        () => Plain(14),
#line default
    };

    static void Main(string[] args)
    {
        seconds = double.Parse(args[0]);
        resting = args.Length > 1;
        foreach (Action one in all)
        {
            if (resting)
                new Thread(() => one()).Start();
            else
                one();
        }
        if (!resting)
            foreach (int kind in new[] { 15, 16 })
                new Thread(() => Wrapped(kind)) { Name = "thread" }.Start();
    }
}
