// Work in the framework's precompiled code, which calls back into ours: sorting, searching, counting.

using System.Collections.Concurrent;
using System.Collections.Immutable;
using System.Diagnostics.CodeAnalysis;
using System.Diagnostics.Tracing;
using System.Numerics;

namespace Workload;

static class Framework
{
    public const int Tag = 17000;

    public static readonly Scenario[] All =
    [
        new("sort-comparer", () => Sorted(new Reversed()), 39),
        new("sort-comparison", SortedBy, 39),
        new("sort-keys", SortedKeys, 1),
        new("sort-comparable", SortedComparable, 9),
        new("sort-throws", SortThrows, 1),
        new("binary-search", () => new List<int> { 1, 3, 5, 7 }.BinarySearch(5, new Ordered()), 2),
        new("dictionary-comparer", Dictionaries, 20),
        new("dictionary-concurrent", Concurrent, 10),
        new("set-sorted", () => new SortedSet<int>([5, 2, 9, 2], new Ordered()).Count, 3),
        new("set-hash", () => new HashSet<Key>([new(1), new(2), new(1)]).Count, 2),
        new("priority-queue", Prioritised, 1),
        new("immutable", () => ImmutableSortedDictionary.Create<int, int>(new Ordered()).Add(3, 1).Add(1, 2).Keys.First(), 1),
        new("list-callbacks", ListCallbacks, 12),
        new("array-callbacks", () => Array.ConvertAll([1, 2, 3], Stay).Sum() + Array.FindIndex([4, 5], x => Stay(x) == 5), 7),
        new("big-integer", () => (int)(Factorial(40) % 1_000_003), 879_369),
        new("environment-stack", () => Environment.StackTrace.Length > Stay(10) ? 1 : 0, 1),
        new("random-shuffle", () => new Random(5).GetItems([Stay(4)], 6).Sum(), 24),
        new("observer", Observed, 6),
        new("event-source", Listened, 1),
    ];

    static int Stay(int value)
    {
        Probe.Here(Tag);
        return value;
    }

    // Every 16th: what is sorted calls back many times.
    static int Now(ref int calls, int value)
    {
        if (++calls % 16 == 0)
            Probe.Here(Tag);
        return value;
    }

    sealed class Reversed : IComparer<int>
    {
        int calls;
        public int Compare(int x, int y) => Now(ref calls, y.CompareTo(x));
    }

    sealed class Ordered : IComparer<int>
    {
        public int Compare(int x, int y) => Probe.Pass(Tag, x.CompareTo(y));
    }

    static List<int> Mixed(int count) => [.. Enumerable.Range(0, count).Select(i => i * 17 % count)];

    static int Sorted(IComparer<int> comparer)
    {
        List<int> values = Mixed(40);
        values.Sort(comparer);
        return values[0];
    }

    static int SortedBy()
    {
        int calls = 0;
        int[] values = [.. Mixed(40)];
        Array.Sort(values, (x, y) => Now(ref calls, x.CompareTo(y)));
        return values[^1];
    }

    static int SortedKeys()
    {
        string[] keys = ["c", "a", "b"];
        int[] values = [0, 1, 2];
        Array.Sort(keys, values, Comparer<string>.Create((x, y) => Probe.Pass(Tag, string.CompareOrdinal(x, y))));
        return values[0];
    }

    readonly record struct Rank(int Value) : IComparable<Rank>
    {
        public int CompareTo(Rank other) => Probe.Pass(Tag, Value.CompareTo(other.Value));
    }

    static int SortedComparable()
    {
        var values = new List<Rank> { new(4), new(9), new(1) };
        values.Sort();
        return values[^1].Value;
    }

    static int SortThrows()
    {
        try
        {
            Mixed(20).Sort((x, y) => Stay(x) == 17 ? throw new TimeoutException() : x.CompareTo(y));
            return 0;
        }
        catch (InvalidOperationException e) when (Probe.Pass(Tag, e.InnerException is TimeoutException))
        {
            return Stay(1);
        }
    }

    sealed record Key(int Value)
    {
        public bool Equals(Key? other) => Probe.Pass(Tag, other?.Value == Value);
        public override int GetHashCode() => Probe.Pass(Tag, Value);
    }

    sealed class Modulo : IEqualityComparer<int>
    {
        public bool Equals(int x, int y) => Probe.Pass(Tag, x == y);
        public int GetHashCode([DisallowNull] int value) => Probe.Pass(Tag, value % 3);
    }

    static int Dictionaries()
    {
        var map = new Dictionary<int, int>(new Modulo());
        for (int i = 0; i < 5; i++)
            map[i] = i;
        return map.Sum(pair => map[pair.Key] * 2);
    }

    static int Concurrent()
    {
        var map = new ConcurrentDictionary<int, int>();
        Parallel.For(0, 10, i => map.AddOrUpdate(i % 2, key => Stay(1), (key, old) => Stay(old + 1)));
        return map.Values.Sum();
    }

    static int Prioritised()
    {
        var queue = new PriorityQueue<int, int>(new Ordered());
        foreach (int value in (int[])[4, 1, 3])
            queue.Enqueue(value, value);
        return queue.Dequeue();
    }

    static int ListCallbacks()
    {
        int sum = 0;
        List<int> values = [1, 2, 3];
        values.ForEach(value => sum += Stay(value));
        values.RemoveAll(value => Stay(value) == 2);
        return sum + values.ConvertAll(Stay).Sum() + (values.Exists(value => Stay(value) == 3) ? 2 : 0);
    }

    static BigInteger Factorial(int n) => n == 0 ? Stay(1) : n * Factorial(n - 1);

    sealed class Observer : IProgress<int>
    {
        public int Sum { get; private set; }
        public void Report(int value) => Sum += Stay(value);
        public void Also(int value) => Report(value);
    }

    static int Observed()
    {
        var observer = new Observer();
        Action<int>? changed = observer.Report;
        changed += observer.Also;
        changed?.Invoke(3);
        changed -= observer.Report;
        return observer.Sum;
    }

    sealed class Source() : EventSource("workload")
    {
        [Event(1)]
        public void Happened(int value) => WriteEvent(1, value);
    }

    sealed class Listener : EventListener
    {
        public int Heard { get; private set; }
        protected override void OnEventWritten(EventWrittenEventArgs written) => Heard += Stay(written.EventId);
    }

    // Sources and listeners are registered in the process: those of other threads must not be heard.
    static int Listened()
    {
        using var source = new Source();
        using var listener = new Listener();
        listener.EnableEvents(source, EventLevel.Verbose);
        source.Happened(5);
        listener.DisableEvents(source);
        return listener.Heard;
    }
}
