// Code that comes and goes: a copy of this very assembly in a context that can be unloaded, where scenarios of the table
// run again as code that can be collected, with class constructors and module initialiser of its own.

using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;

namespace Workload;

/// <summary>Where the copy is entered.</summary>
public static class Copy
{
    /// <summary>Runs these scenarios; answers how many probes the copy has counted since it is there.</summary>
    public static long Run(string[] names, bool depths)
    {
        Probe.Depths = depths;
        foreach (string name in names)
            Table.Find(name).Check();
        return Probe.Count;
    }
}

static class Loading
{
    public const int Tag = 16000;

    static readonly string[] calls =
    [
        "recursion-mixed", "virtual", "generic-shared", "lambda-closure", "static-abstract",
    ];

    static readonly string[] lambdas =
    [
        "linq-group", "iterator-finally", "iterator-throw", "delegate-multicast", "local-generic",
    ];

    static readonly string[] thrown =
    [
        "filter", "filter-null", "catch-in-catch", "finally-in-catch-in-catch", "rethrow", "using",
    ];

    static readonly string[] first =
    [
        "cctor", "cctor-nested", "module-initialiser", "thread-static", "lazy", "osr-try",
    ];

    static readonly string[] others =
    [
        "async-chain", "async-stream", "dynamic-method-nested", "tail-dispatcher", "collect-deep",
    ];

    static readonly string[] native =
    [
        "callback-deep", "callback-delegate-deep", "pinvoke-deep", "reflection-deep", "frame-64k",
    ];

    public static readonly Scenario[] All =
    [
        new("load-calls", () => FromFile(calls), 1),
        new("load-lambdas", () => FromStream(lambdas), 1),
        new("load-exceptions", () => FromFile(thrown), 1),
        new("load-statics", () => FromStream(first), 1),
        new("load-async-emitted", () => FromFile(others), 1),
        new("load-native", () => FromStream(native), 1),
        new("load-nested", () => FromFile(["load-calls"]), 1),
        new("load-resolving", Resolving, 1),
        new("load-unloading-event", Unloading, 1),
    ];

    // A single-file program has this beside it for these scenarios alone.
    static string Self => Path.Combine(AppContext.BaseDirectory, "workload.dll");

    sealed class Context() : AssemblyLoadContext("copy", isCollectible: true)
    {
        // What the copy emits refers to the copy, and not to the first workload.
        protected override Assembly? Load(AssemblyName name)
        {
            Probe.Here(Tag);
            return Assemblies.FirstOrDefault(assembly => assembly.GetName().Name == name.Name);
        }
    }

    static int FromFile(string[] names) => Loaded(context => context.LoadFromAssemblyPath(Path.GetFullPath(Self)), names);

    static int FromStream(string[] names) => Loaded(context =>
    {
        using FileStream file = File.OpenRead(Self);
        return context.LoadFromStream(file);
    }, names);

    static int Loaded(Func<Context, Assembly> load, string[] names)
    {
        WeakReference context = RunIn(load, names);
        for (int i = 0; i < 3 && context.IsAlive; i++)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        Probe.Here(Tag);
        return 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static WeakReference RunIn(Func<Context, Assembly> load, string[] names)
    {
        var context = new Context();
        try
        {
            MethodInfo run = load(context).GetType(typeof(Copy).FullName!)!.GetMethod(nameof(Copy.Run))!;
            Probe.Add(run.CreateDelegate<Func<string[], bool, long>>()(names, Probe.Depths));
        }
        finally
        {
            context.Unload();
        }
        return new WeakReference(context);
    }

    static int Resolving()
    {
        var context = new AssemblyLoadContext("resolving", isCollectible: true);
        context.Resolving += (_, _) => Probe.Pass<Assembly?>(Tag, null);
        try
        {
            return context.LoadFromAssemblyName(new AssemblyName("no.such.assembly")) is null ? 0 : -1;
        }
        catch (FileNotFoundException) when (Probe.Pass(Tag, true))
        {
            return 1;
        }
        finally
        {
            context.Unload();
        }
    }

    static int Unloading()
    {
        int result = 0;
        var context = new AssemblyLoadContext("unloading", isCollectible: true);
        context.Unloading += _ => result = Probe.Pass(Tag, 1);
        context.Unload();
        return result;
    }
}
