// This assembly loaded again, in all the ways there are: its names are then of another module.

using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;

namespace Names;

/// <summary>What the copies run.</summary>
public static class Copied
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Run(int depth) => depth == 0 ? new Thing<long>().Twice(3) : Run(depth - 1);

    public sealed class Thing<T>
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public int Twice(int a) => new[] { a }.Select(x => x * 2).First();
    }
}

static class Loaded
{
    static readonly List<object> kept = [];

    public static void RunAll(string path)
    {
        if (path.Length == 0)
            return; // a single file
        Run(new AssemblyLoadContext("collectible", true).LoadFromAssemblyPath(path));
        Run(new AssemblyLoadContext("plain").LoadFromAssemblyPath(path));
        using (FileStream stream = File.OpenRead(path))
            Run(new AssemblyLoadContext("stream", true).LoadFromStream(stream));
        Run(Assembly.Load(File.ReadAllBytes(path)));
    }

    static void Run(Assembly assembly)
    {
        kept.Add(assembly);
        assembly.GetType("Names.Copied")!.GetMethod("Run")!.Invoke(null, [2]);
    }
}
