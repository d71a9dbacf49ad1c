// What one entry of the table is, and the table: every scenario of every theme. A theme's number times 1000, plus the
// line of its file that a probe stands in, is the tag that the probe hands to the native library.

namespace Workload;

/// <summary>Runs once and answers `Expected`; may run on any number of threads at once, and leaves nothing behind.</summary>
sealed record Scenario(string Name, Func<int> Run, int Expected)
{
    public void Check()
    {
        int result = Run();
        if (result != Expected)
            throw new InvalidOperationException($"{result} instead of {Expected}");
    }
}

static class Table
{
    public static readonly (string File, int Tag, Scenario[] Scenarios)[] Themes =
    [
        ("Calls", Calls.Tag, Calls.All),
        ("Lambdas", Lambdas.Tag, Lambdas.All),
        ("Filters", Filters.Tag, Filters.All),
        ("Catches", Catches.Tag, Catches.All),
        ("Native", Native.Tag, Native.All),
        ("Async", Async.Tag, Async.All),
        ("Emitted", Emitted.Tag, Emitted.All),
        ("Reflected", Reflected.Tag, Reflected.All),
        ("Loops", Loops.Tag, Loops.All),
        ("Frames", Frames.Tag, Frames.All),
        ("Statics", Statics.Tag, Statics.All),
        ("Pool", Pool.Tag, Pool.All),
        ("Waits", Waits.Tag, Waits.All),
        ("Streams", Streams.Tag, Streams.All),
        ("Memory", Memory.Tag, Memory.All),
        ("Loading", Loading.Tag, Loading.All),
        ("Framework", Framework.Tag, Framework.All),
        ("Finals", Finals.Tag, Finals.All),
        ("Timers", Timers.Tag, Timers.All),
        ("Tails", Emitted.Tag, Tails.All),
        ("Texts", Texts.Tag, Texts.All),
    ];

    public static IEnumerable<Scenario> All => Themes.SelectMany(theme => theme.Scenarios);

    public static Scenario Find(string name) =>
        All.FirstOrDefault(scenario => scenario.Name == name) ?? throw new ArgumentException($"no scenario {name}");
}
