// A .NET program that is on all kinds of stacks, over and over, and has the native library CLRTEST_LIBRARY look at them
// from the inside. Options.Usage says how to run it. Ends with 0, or with 1 and the scenario that failed.

using Workload;

Options options;
try
{
    options = Options.Parse(args);
}
catch (ArgumentException problem)
{
    Console.Error.WriteLine($"workload: {problem.Message}\n\n{Options.Usage}");
    return 2;
}

if (options.List)
{
    foreach ((string file, int tag, Scenario[] scenarios) in Table.Themes)
        foreach (Scenario scenario in scenarios)
            Console.WriteLine($"{scenario.Name,-28} {file + ".cs",-16} {tag}");
    return 0;
}

if (options.Overhead > 0)
{
    double[] costs = Work.Turns(options.Overhead, Probe.Sampling(Environment.GetEnvironmentVariable("CORECLR_PROFILER_PATH")));
    foreach (double cost in costs)
        Console.WriteLine($"pair {cost:f6}");
    return 0;
}

if (options.Compiling != null)
{
    foreach ((double off, double on) in Compiling.Turns(options.Compiling, options.Pairs, Probe.Feeding()))
        Console.WriteLine($"pair {off:f3} {on:f3}");
    foreach (string line in File.ReadLines("/proc/self/status").Where(line => line.StartsWith("Rss") || line.StartsWith("VmRSS")))
        Console.WriteLine($"memory {line}");
    return 0;
}

Probe.Depths = options.Depths;
var runner = new Runner(options);
using (options.Loads ? new Background(runner) : null)
    runner.Run();
if (runner.Failure != null)
{
    Console.Error.WriteLine($"workload: {runner.Failure}");
    return 1;
}
Console.WriteLine($"workload: {runner.Rounds} rounds, {Probe.Count} probes");
return 0;
