// Threads that walk through the table, each in an order of its own and another one in every round, in which each
// scenario comes twice, until the rounds or the seconds are over or a scenario fails.

using System.Diagnostics;

namespace Workload;

sealed class Runner(Options options)
{
    // Recursion to 5,000 frames and frames of many pages have to fit, whatever `ulimit -s` says.
    public const int StackBytes = 64 << 20;

    readonly Stopwatch time = Stopwatch.StartNew();
    int rounds;
    string? failure;

    public int Rounds => rounds;

    /// <summary>What failed first, and how.</summary>
    public string? Failure => failure;

    public void Run()
    {
        Thread[] threads = [.. Enumerable.Range(0, options.Threads).Select(Start)];
        foreach (Thread thread in threads)
            thread.Join();
    }

    Thread Start(int index)
    {
        var thread = new Thread(() => Walk(index), StackBytes) { Name = $"workload {index}" };
        thread.Start();
        return thread;
    }

    void Walk(int index)
    {
        for (int round = 0; round < options.Rounds; round++)
        {
            Scenario[] order = [.. options.Scenarios, .. options.Scenarios];
            new Random(index * 1_000_003 + round).Shuffle(order);
            foreach (Scenario scenario in order)
                if (Over() || !Passes(scenario))
                    return;
            Interlocked.Increment(ref rounds);
        }
    }

    bool Over() => Volatile.Read(ref failure) != null || options.Seconds > 0 && time.Elapsed.TotalSeconds > options.Seconds;

    /// <summary>Runs it; whatever fails first ends the whole run.</summary>
    public bool Passes(Scenario scenario)
    {
        try
        {
            scenario.Check();
            return true;
        }
        catch (Exception problem)
        {
            Interlocked.CompareExchange(ref failure, $"{scenario.Name}: {problem}", null);
            return false;
        }
    }
}
