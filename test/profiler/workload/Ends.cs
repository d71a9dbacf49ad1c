// Ways in which a program ends that it did not want, behind some work: profiled end WAY [SIGNAL].

using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Profiled;

static class Ends
{
    [DllImport("libc")]
    static extern void abort();

    [DllImport("libc")]
    static extern int raise(int number);

    [DllImport("libc")]
    static extern int kill(int pid, int number);

    [DllImport("libc")]
    static extern nint memset(nint to, int value, nint size);

    public static int Run(string way, int number)
    {
        Work();
        Console.WriteLine("worked");
        switch (way)
        {
            case "throw":
                throw new InvalidOperationException("nobody catches this");
            case "thread":
                var thread = new Thread(() => throw new InvalidOperationException("nobody catches this"));
                thread.Start();
                thread.Join();
                break;
            case "failfast":
                Environment.FailFast("fast");
                break;
            case "abort":
                abort();
                break;
            case "fault":
                memset(0, 1, 8);
                break;
            case "access":
                Marshal.WriteInt32(0x12345678, 3);
                break;
            case "overflow":
                Deeper(1);
                break;
            case "raise":
                raise(number);
                break;
            case "kill":
                kill(Environment.ProcessId, number);
                Thread.Sleep(number == 6 ? 0 : 20000); // another thread may be met, and Main would return first
                break;
        }
        return 3;
    }

    /* Processor time, so that there is a sample of it on a busy machine, too. */
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Work()
    {
        using var self = System.Diagnostics.Process.GetCurrentProcess();
        for (TimeSpan begun = self.TotalProcessorTime; (self.TotalProcessorTime - begun).TotalMilliseconds < 200; self.Refresh())
            Thread.SpinWait(100000);
    }

    /* How deep it gets is printed, and must not depend on when it is compiled again. */
    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    static int Deeper(int depth) => depth == 0 ? 0 : Deeper(depth + 1) + 1;
}
