// The same work in turns: not sampled, with the timer alone, sampled. What each turn takes is the thread's own processor time,
// so that other programs on the machine do not count.

using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Profiled;

static class Turns
{
    const int Off = 0, Sampled = 1, TimerAlone = 2, Stored = 3, Again = 4, SignalKinds = 5;
    const int ThreadClock = 3 /* CLOCK_THREAD_CPUTIME_ID */;
    const int UnitsATurn = 3000; // some 25 ms: long beside a sample, short beside what comes and goes
    const int UnitsASignal = 240; // some 2 ms
    const int Depth = 25; // under the work: as deep as a program of some size

    struct Time
    {
        public long Seconds, Nanoseconds;
    }

    [DllImport("libc", EntryPoint = "clock_gettime")]
    static extern int Clock(int clock, out Time time);

    static double Seconds()
    {
        _ = Clock(ThreadClock, out Time time);
        return time.Seconds + time.Nanoseconds * 1e-9;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Deep(int frames, Func<int, int> work, int units) => frames > 0 ? Deep(frames - 1, work, units) + 0 : Units(work, units);

    static int Units(Func<int, int> work, int units)
    {
        int right = 0;
        for (int unit = 0; unit < units; unit++)
            right += work(unit) - unit;
        return right;
    }

    static double Turn(Action<int> sample, int how)
    {
        sample(how);
        double begun = Seconds();
        if (Deep(Depth, Kinds.All["json"], UnitsATurn) != 3 * UnitsATurn)
            throw new InvalidOperationException("wrong answer");
        return Seconds() - begun;
    }

    // Nanoseconds of processor time of the profiler's own threads.
    static long Own() => Directory.GetDirectories("/proc/self/task")
        .Where(task => File.ReadAllText($"{task}/comm").StartsWith("snapwalk", StringComparison.Ordinal))
        .Sum(task => long.Parse(File.ReadAllText($"{task}/schedstat").Split(' ')[0]));

    /// <summary>Lines "turns OFF TIMER SAMPLED" of seconds; at the end "handler SAMPLES NS INTERRUPTED"
    /// of the sampled turns, and what the profiler's own threads took, and how long all took.</summary>
    public static unsafe int Run(double seconds)
    {
        string library = Environment.GetEnvironmentVariable("CORECLR_PROFILER_PATH") ?? throw new ArgumentException("no profiler");
        nint loaded = NativeLibrary.Load(library);
        var export = (delegate* unmanaged<int, void>)NativeLibrary.GetExport(loaded, "snapwalk_profiler_sample");
        var times = (delegate* unmanaged<ulong*, void>)NativeLibrary.GetExport(loaded, "snapwalk_profiler_times");
        ulong* before = stackalloc ulong[3], after = stackalloc ulong[3];
        Action<int> sample = how => export(how);
        for (int i = 0; i < 40; i++)
            Turn(sample, Sampled);
        long own = Own();
        times(before);
        var watch = System.Diagnostics.Stopwatch.StartNew();
        var took = new double[3];
        for (int round = 0; watch.Elapsed.TotalSeconds < seconds; round++)
        {
            for (int i = 0; i < 3; i++)
            {
                int how = (round + (round % 2 == 0 ? i : 2 - i)) % 3;
                took[how] = Turn(sample, how);
            }
            Console.WriteLine($"turns {took[Off]:e6} {took[TimerAlone]:e6} {took[Sampled]:e6}");
        }
        times(after);
        Console.WriteLine($"handler {after[0] - before[0]} {after[1] - before[1]} {after[2] - before[2]}");
        Console.WriteLine($"own {Own() - own} {watch.ElapsedMilliseconds}");
        return 0;
    }

    /// <summary>Lines "signal NOTHING ALONE STORED SAMPLED AGAIN" of nanoseconds: what one signal costs the thread behind 2 ms of
    /// the work, which have driven the handler out of the caches (AGAIN: behind another sample). The timer stands still.</summary>
    public static unsafe int Signals(double seconds)
    {
        nint loaded = NativeLibrary.Load(Environment.GetEnvironmentVariable("CORECLR_PROFILER_PATH") ?? throw new ArgumentException("no profiler"));
        var sample = (delegate* unmanaged<int, void>)NativeLibrary.GetExport(loaded, "snapwalk_profiler_sample");
        var signal = (delegate* unmanaged<int, ulong>)NativeLibrary.GetExport(loaded, "snapwalk_profiler_signal");
        Func<int, int> json = Kinds.All["json"];
        int how = Off;
        ulong took = 0;
        Func<int, int> work = unit =>
        {
            int answer = json(unit);
            if (unit == UnitsASignal - 1)
                took = signal(how);
            return answer;
        };
        for (int i = 0; i < 40; i++)
            Turn(how => sample(how), Sampled);
        sample(Off);
        var watch = System.Diagnostics.Stopwatch.StartNew();
        var times = new ulong[SignalKinds];
        for (int round = 0; watch.Elapsed.TotalSeconds < seconds; round++)
        {
            for (int i = 0; i < SignalKinds; i++)
            {
                how = (round + (round % 2 == 0 ? i : SignalKinds - 1 - i)) % SignalKinds;
                if (Deep(Depth, work, UnitsASignal) != 3 * UnitsASignal)
                    throw new InvalidOperationException("wrong answer");
                times[how] = took;
            }
            Console.WriteLine($"signal {times[Off]} {times[TimerAlone]} {times[Stored]} {times[Sampled]} {times[Again]}");
        }
        return 0;
    }

    /// <summary>What the process has in memory.</summary>
    public static void Memory()
    {
        foreach (string line in File.ReadLines("/proc/self/status").Where(line => line.StartsWith("RssAnon") || line.StartsWith("VmRSS")))
            Console.WriteLine($"memory {line}");
    }
}
