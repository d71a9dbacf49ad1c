// What --loads adds: threads that, for as long as the workload runs, load and unload assemblies, emit and drop code,
// collect, throw, and start and end threads, so that all of it happens while others are in the middle of something.

namespace Workload;

sealed class Background : IDisposable
{
    static readonly string[][] loads =
    [
        ["load-exceptions", "load-lambdas", "emitted-type", "emitted-cctor"],
        ["dynamic-method-nested", "expression-try", "tail-mutual", "osr", "cctor-contended"],
        ["collect-deep", "allocate-together", "finalizer", "catch-collects"],
        ["throw-many", "catch-very-deep", "filter-in-filter", "finally-catches"],
        ["thread-start-end", "native-thread", "thread-nested", "thread-throws"],
    ];

    readonly List<Thread> threads = [];
    volatile bool over;

    public Background(Runner runner)
    {
        foreach (string[] names in loads)
        {
            Scenario[] scenarios = [.. names.Select(Table.Find)];
            var thread = new Thread(() => Repeat(runner, scenarios), Runner.StackBytes) { Name = $"loads {names[0]}" };
            thread.Start();
            threads.Add(thread);
        }
    }

    void Repeat(Runner runner, Scenario[] scenarios)
    {
        while (!over && Array.TrueForAll(scenarios, runner.Passes))
            Thread.Sleep(1); // the workers are to come to something beside it
    }

    public void Dispose()
    {
        over = true;
        foreach (Thread thread in threads)
            thread.Join();
    }
}
