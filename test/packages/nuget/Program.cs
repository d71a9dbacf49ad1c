// A user's program: profiles a copy of itself, with and without the overlay, then itself; shows its own stack.
using System.Diagnostics;
using System.Runtime.CompilerServices;

if (args is ["work"])
    return Work.Spin(500, File.ReadAllText("/proc/self/maps").Contains("libsnapwalk-overlay.so") ? 2 : 1);

if (args is ["serve"])
{
    Console.WriteLine("ready");
    Console.Read();
    return Work.Spin(500, 0);
}

string folder = args[0];
int Run(Action<ProcessStartInfo> change)
{
    var start = new ProcessStartInfo(Environment.ProcessPath!, ["exec", typeof(Work).Assembly.Location, "work"]);
    change(start);
    using Process child = Process.Start(start)!;
    child.WaitForExit();
    return child.ExitCode;
}
string Out(string name) => $"SNAPWALK_OUT={folder}/{name}.folded";

Console.WriteLine($"started: {Run(start => Snapwalk.Profiler.AddTo(start, Out("started"), "SNAPWALK_HZ=1000"))}");
int status = Run(start =>
{
    Snapwalk.Profiler.AddTo(start, Out("overlaid"), "SNAPWALK_HZ=1000");
    Snapwalk.Overlay.AddTo(start, Snapwalk.Profiler.ClassId, Snapwalk.Profiler.LibraryPath);
});
Console.WriteLine($"overlaid: {status}");
status = Run(start =>
{
    start.Environment["CORECLR_ENABLE_PROFILING"] = "1";
    start.Environment["CORECLR_PROFILER"] = "{DF63A541-5A33-4611-8829-F4E495985EE3}";
    start.Environment["CORECLR_PROFILER_PATH"] = $"{folder}/other.so";
    Snapwalk.Profiler.AddTo(start, Out("beside"), "SNAPWALK_HZ=1000");
});
Console.WriteLine($"beside: {status}");
Snapwalk.Profiler.Attach(Environment.ProcessId, Out("attached"), "SNAPWALK_HZ=1000");
Work.Spin(500, 0);
try
{
    Snapwalk.Profiler.Attach(Environment.ProcessId, "no setting");
}
catch (ArgumentException)
{
    Console.WriteLine("refused");
}
// Another process, which stands in another folder: the file is this one's.
Directory.SetCurrentDirectory(folder);
using (Process other = Process.Start(new ProcessStartInfo(Environment.ProcessPath!, ["exec", typeof(Work).Assembly.Location, "serve"])
           { WorkingDirectory = "/", RedirectStandardInput = true, RedirectStandardOutput = true })!)
{
    other.StandardOutput.ReadLine();
    Snapwalk.Profiler.Attach(other.Id, "SNAPWALK_OUT=elsewhere.folded", "SNAPWALK_HZ=1000");
    other.StandardInput.Close();
    other.WaitForExit();
    Console.WriteLine($"elsewhere: {File.Exists($"{folder}/elsewhere-{other.Id}.folded")}");
}
Work.Show();
return 0;

static class Work
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Spin(int milliseconds, int result)
    {
        long end = Environment.TickCount64 + milliseconds;
        while (Environment.TickCount64 < end)
            Thread.SpinWait(100);
        return result;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Show()
    {
        using var walker = new Snapwalk.Walker();
        Snapwalk.Stack stack = walker.Here();
        foreach (Snapwalk.Frame frame in stack.Frames)
            Console.WriteLine(frame);
        Console.WriteLine($"whole: {stack.IsWhole}");
    }
}
