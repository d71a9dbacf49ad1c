// What the scenarios of examples/clr-in-a-tube play, for real: the same names, the same stacks.
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Demo;

public static class Program
{
    private static volatile bool done;

    public static void Main(string[] args)
    {
        ConfigureSampling();
        var worker = new Thread(Worker.Loop);
        worker.Start();
        for (var end = DateTime.UtcNow.AddMilliseconds(args.Length > 0 ? int.Parse(args[0]) : 1000); DateTime.UtcNow < end;)
            Thread.Sleep(10);
        done = true;
        worker.Join();
        Console.WriteLine("done");
    }

    // As a program does that wants stacks of its profiler: examples/clr-in-a-tube/profilers/latemask.c.
    private static void ConfigureSampling()
    {
        string? path = Environment.GetEnvironmentVariable("CORECLR_PROFILER_PATH");
        if (path != null && NativeLibrary.TryGetExport(NativeLibrary.Load(path), "ConfigureSampling", out nint export))
            Marshal.GetDelegateForFunctionPointer<Configure>(export)(0);
    }

    private delegate void Configure(nint unused);

    private static class Worker
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Loop()
        {
            while (!done)
                Wait();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Wait()
        {
            var text = new string('x', 10) + DateTime.UtcNow.Ticks;
            Thread.Sleep(text.Length > 100 ? 1 : 2);
        }
    }
}
