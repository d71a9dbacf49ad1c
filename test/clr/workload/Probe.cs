// The places where the native library looks at the stack, in every way to get there. Without the library (environment
// variable CLRTEST_LIBRARY names it) probes count, and calls into native code become calls in managed code. Knows
// nothing of what is compared.

using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Workload;

delegate int Callback(int argument);

static unsafe class Probe
{
    static readonly nint library = Open();
    static readonly delegate* unmanaged<int, void> here = (delegate* unmanaged<int, void>)Export("clrtest_here");
    static readonly delegate* unmanaged[SuppressGCTransition]<int, void> cooperative =
        (delegate* unmanaged[SuppressGCTransition]<int, void>)Export("clrtest_here_cooperative");
    static long count;

    public static long Count => Interlocked.Read(ref count);

    /// <summary>What the copy of this assembly that a collectible context has run counted for itself.</summary>
    public static void Add(long probes) => Interlocked.Add(ref count, probes);

    /// <summary>The plain probe. `tag` is the theme's.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static void Here(int tag, [CallerLineNumber] int line = 0)
    {
        Interlocked.Increment(ref count);
        if (library != 0)
            clrtest_here(tag + line);
    }

    /// <summary>The plain probe, for expressions: answers `value`.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static T Pass<T>(int tag, T value, [CallerLineNumber] int line = 0)
    {
        Here(tag, line);
        return value;
    }

    /// <summary>The plain probe at the bottom of a deep stack: --no-probe-depth leaves it out.</summary>
    public static void Deep(int tag, [CallerLineNumber] int line = 0)
    {
        if (Depths)
            Here(tag, line);
    }

    public static bool Depths { get; set; } = true;

    /// <summary>What turns sampling of the calling thread on and off, in the profiler of this process.</summary>
    public static Action<bool> Sampling(string? profiler)
    {
        nint export = NativeLibrary.GetExport(NativeLibrary.Load(profiler ?? "no profiler"), "snapwalk_profiler_sample");
        return on => ((delegate* unmanaged<int, void>)export)(on ? 1 : 0);
    }

    /// <summary>What turns the feed of the probe library on and off; does nothing where the library is not there.</summary>
    public static Action<bool> Feeding()
    {
        var export = (delegate* unmanaged<int, void>)(library == 0 ? 0 : Export("clrtest_feed"));
        return on =>
        {
            if (export != null)
                export(on ? 1 : 0);
        };
    }

    /// <summary>Without a change of the thread's mode.</summary>
    public static void Cooperative(int tag, [CallerLineNumber] int line = 0)
    {
        Interlocked.Increment(ref count);
        if (library != 0)
            CooperativeCall(tag + line);
    }

    // By itself, because such a P/Invoke is resolved when its caller is compiled.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void CooperativeCall(int tag) => clrtest_here_cooperative(tag);

    public static void CooperativePointer(int tag, [CallerLineNumber] int line = 0)
    {
        Interlocked.Increment(ref count);
        if (library != 0)
            cooperative(tag + line);
    }

    /// <summary>Through calli instead of a declared P/Invoke.</summary>
    public static void Pointer(int tag, [CallerLineNumber] int line = 0)
    {
        Interlocked.Increment(ref count);
        if (library != 0)
            here(tag + line);
    }

    /// <summary>Through an IL stub that keeps errno.</summary>
    public static void Errno(int tag, [CallerLineNumber] int line = 0)
    {
        Interlocked.Increment(ref count);
        if (library != 0)
            _ = clrtest_errno(tag + line);
    }

    /// <summary>Through an IL stub that converts a string.</summary>
    public static void Text(int tag, string text, [CallerLineNumber] int line = 0)
    {
        Interlocked.Increment(ref count);
        if (library != 0)
            _ = clrtest_marshal(text, tag + line);
    }

    /// <summary>Managed, native, managed: `f` is a function that native code can call.</summary>
    public static int Call(delegate* unmanaged<int, int> f, int argument) =>
        library != 0 ? clrtest_call(f, argument) : f(argument);

    public static int Call(Callback f, int argument) => library != 0 ? clrtest_call(f, argument) : f(argument);

    /// <summary>`f` starts its thread, of which the runtime knows nothing before.</summary>
    public static int OnNativeThread(delegate* unmanaged<int, int> f, int argument)
    {
        if (library != 0)
            return clrtest_on_native_thread(f, argument);
        int result = 0;
        var thread = new Thread(() => result = f(argument));
        thread.Start();
        thread.Join();
        return result;
    }

    static nint Open()
    {
        string? path = Environment.GetEnvironmentVariable("CLRTEST_LIBRARY");
        if (string.IsNullOrEmpty(path))
            return 0;
        nint handle = AppContext.GetData("clrtest") is nint opened ? opened : NativeLibrary.Load(path);
        AppContext.SetData("clrtest", handle);
        NativeLibrary.SetDllImportResolver(Assembly.GetExecutingAssembly(), (name, _, _) => Find(name, handle));
        return handle;
    }

    static nint Find(string name, nint clrtest) => name switch
    {
        "clrtest" => clrtest,
        "libc" when OperatingSystem.IsWindows() => NativeLibrary.Load("msvcrt"),
        _ => 0
    };

    static nint Export(string name) => library != 0 ? NativeLibrary.GetExport(library, name) : 0;

    [DllImport("clrtest")]
    static extern void clrtest_here(int tag);

    [DllImport("clrtest"), SuppressGCTransition]
    static extern void clrtest_here_cooperative(int tag);

    [DllImport("clrtest", SetLastError = true)]
    static extern int clrtest_errno(int tag);

    [DllImport("clrtest", CharSet = CharSet.Ansi)]
    static extern int clrtest_marshal(string text, int tag);

    [DllImport("clrtest")]
    static extern int clrtest_call(delegate* unmanaged<int, int> f, int argument);

    [DllImport("clrtest")]
    static extern int clrtest_call(Callback f, int argument);

    [DllImport("clrtest")]
    static extern int clrtest_on_native_thread(delegate* unmanaged<int, int> f, int argument);
}
