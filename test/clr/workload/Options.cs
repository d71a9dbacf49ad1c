// The command line as values, and nothing else.

using System.Globalization;

namespace Workload;

sealed class Options
{
    public const string Usage =
        """
        workload [--seconds S] [--rounds N] [--threads N] [--only a,b,c] [--no-probe-depth] [--loads]
        workload --list
        workload --overhead S
        workload --compiling KIND [--pairs N]

          --seconds S        go on for S seconds (with --rounds: whatever is over first)
          --rounds N         rounds of every thread through the table (each scenario twice in a round; default 1, or
                             without end if --seconds is given)
          --threads N        threads that walk through the table, each in its own order (default 2)
          --only a,b,c       these scenarios only
          --no-probe-depth   no probes at the bottom of recursions
          --loads            beside it load and unload assemblies, collect, throw, start and end threads
          --list             the scenarios, by the file and the tag of their probes
          --overhead S       only compute, without probes, for S seconds, in turns with the profiler's sampling on and off:
                             what it costs, a line for each pair of turns
          --compiling KIND   only make dynamic methods, expressions, methods, contexts or threads, in turns with the
                             profiler's feed off and on: microseconds of processor time for one, a line for each pair
          --pairs N          so many pairs of turns (default 100)
        """;

    public double Seconds { get; private set; }
    public int Rounds { get; private set; }
    public int Threads { get; private set; } = 2;
    public double Overhead { get; private set; }
    public string? Compiling { get; private set; }
    public int Pairs { get; private set; } = 100;
    public bool Depths { get; private set; } = true;
    public bool Loads { get; private set; }
    public bool List { get; private set; }
    public Scenario[] Scenarios { get; private set; } = [.. Table.All];

    /// <summary>Throws FormatException or ArgumentException, which say what is wrong.</summary>
    public static Options Parse(string[] arguments)
    {
        var options = new Options();
        var rest = new Queue<string>(arguments);
        while (rest.TryDequeue(out string? name))
            options.Take(name, rest);
        if (options.Rounds == 0)
            options.Rounds = options.Seconds > 0 ? int.MaxValue : 1;
        return options;
    }

    void Take(string name, Queue<string> rest)
    {
        switch (name)
        {
            case "--seconds": Seconds = Number(name, rest, 0.001); break;
            case "--rounds": Rounds = (int)Number(name, rest, 1); break;
            case "--threads": Threads = (int)Number(name, rest, 1); break;
            case "--overhead": Overhead = Number(name, rest, 0.001); break;
            case "--compiling": Compiling = Next(name, rest); break;
            case "--pairs": Pairs = (int)Number(name, rest, 1); break;
            case "--only": Scenarios = [.. Next(name, rest).Split(',').Select(Table.Find)]; break;
            case "--no-probe-depth": Depths = false; break;
            case "--loads": Loads = true; break;
            case "--list": List = true; break;
            default: throw new ArgumentException($"what is {name}?");
        }
    }

    static string Next(string name, Queue<string> rest) =>
        rest.TryDequeue(out string? value) ? value : throw new ArgumentException($"{name} needs a value");

    static double Number(string name, Queue<string> rest, double least)
    {
        string text = Next(name, rest);
        bool good = double.TryParse(text, NumberStyles.Float, CultureInfo.InvariantCulture, out double value);
        return good && value >= least && value <= 1e6 ? value : throw new ArgumentException($"{name} {text}: not possible");
    }
}
