// A program that is at the same places in every run, so that two runs can be compared. One thread after the other is
// started and parked; the vendor's profiler, whose library is also called from here, then looks at all of them.
namespace Target;

using System.Runtime.InteropServices;

static unsafe class Program
{
    static readonly IntPtr Vendor = NativeLibrary.Load(Environment.GetEnvironmentVariable("VENDOR_LIB")!);
    static readonly delegate* unmanaged<int, void> NameThread = (delegate* unmanaged<int, void>)Export("vendor_name");
    static readonly delegate* unmanaged<int, void> LookHere = (delegate* unmanaged<int, void>)Export("vendor_here");
    static readonly delegate* unmanaged<void> LookAtAll = (delegate* unmanaged<void>)Export("vendor_round");
    static readonly delegate* unmanaged<int, void> LookForAWhile = (delegate* unmanaged<int, void>)Export("vendor_busy");

    static readonly delegate* unmanaged<void> Detach = (delegate* unmanaged<void>)Export("vendor_detach");

    public static IntPtr Export(string name) => NativeLibrary.GetExport(Vendor, name);

    public static void Here(int occasion) => LookHere(occasion);

    // Threads are background threads: the process ends with Main.
    static void Park(int number, ThreadStart place, int stack = 0)
    {
        using var named = new ManualResetEventSlim();
        var thread = new Thread(() =>
        {
            NameThread(number);
            named.Set();
            place();
        }, stack) { IsBackground = true, Name = "parked " + number };
        thread.Start();
        named.Wait();
        Thread.Sleep(40);
    }

    static int Main(string[] arguments)
    {
        int busyMilliseconds = arguments.Length > 0 ? int.Parse(arguments[0]) : 1000;
        bool attach = Environment.GetEnvironmentVariable("TARGET_ATTACH") != null;
        if (attach)
            Attach.Self();
        NameThread(0);
        for (int i = 0; i < Places.All.Length; i++)
            Park(i + 1, Places.All[i], i == Places.Deepest ? 64 << 20 : 0);
        OwnThread.All();
        Thread.Sleep(100);
        LookAtAll();
        Work.Start();
        LookForAWhile(busyMilliseconds);
        Work.Stop();
        if (attach)
            Detach();
        Console.WriteLine("target: done");
        return 0;
    }
}
