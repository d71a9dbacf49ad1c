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
                break;
        }
        return 3;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Work()
    {
        var time = System.Diagnostics.Stopwatch.StartNew();
        while (time.ElapsedMilliseconds < 200)
            Thread.SpinWait(100);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Deeper(int depth) => depth == 0 ? 0 : Deeper(depth + 1) + 1;
}
