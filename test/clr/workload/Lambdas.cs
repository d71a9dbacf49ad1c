// Code that the compiler takes apart: lambdas, local functions, LINQ chains, iterators; and delegates of all kinds.

namespace Workload;

static class Lambdas
{
    public const int Tag = 2000;

    public static readonly Scenario[] All =
    [
        new("lambda-curry", () => Curry(3)(4)(5), 12),
        new("lambda-closure", () => Closure(4), 10),
        new("lambda-recursive", () => Fix<int>(self => n => n == 0 ? Stay(0) : self(n - 1) + n)(8), 36),
        new("lambda-static", () => Apply(static x => Stay(x) + 1, 6), 7),
        new("delegate-multicast", () => Multicast(5), 5),
        new("delegate-open", () => Open()(new Counter { total = 4 }, 5), 9),
        new("delegate-closed", () => Closed(new Counter { total = 2 })(5), 7),
        new("delegate-shared-generic", () => Made<string>()("abc") + Made<object>()("x"), 2),
        new("delegate-virtual", () => Virtual(new Doubling())(5), 10),
        new("local-function", () => Local(10), 55),
        new("local-generic", () => LocalGeneric("abc") + LocalGeneric(5), 4),
        new("linq", () => Enumerable.Range(0, 9).Where(x => x % 2 == 0).Select(Stay).OrderBy(x => -x).First(), 8),
        new("linq-group", Grouped, 26),
        new("linq-join", Joined, 5),
        new("linq-aggregate", () => Enumerable.Range(1, 5).Aggregate(0, (sum, x) => Stay(sum + x)), 15),
        new("linq-nested", () => Nested(4).Count(), 1),
        new("iterator-tree", () => Tree(6).Sum(), 64),
        new("iterator-finally", () => Early(Guarded(), 2), 3),
        new("iterator-throw", () => Early(Guarded(), 99), 8),
        new("comparer-linq", () => new[] { 5, 3, 9, 1 }.OrderBy(x => x, Comparer<int>.Create(Compared)).Last(), 9),
        new("pattern", () => new object[] { 1, "two", 3.0, new Counter() }.Sum(Matched), 111),
        new("query-lazy", () => Lazily().Skip(3).Take(2).Sum(), 7),
    ];

    static int Stay(int value)
    {
        Probe.Here(Tag);
        return value;
    }

    static int Compared(int left, int right)
    {
        Probe.Here(Tag);
        return left.CompareTo(right);
    }

    static Func<int, Func<int, int>> Curry(int a) => b => c => Stay(a + b + c);

    static int Closure(int times)
    {
        int total = 0;
        var actions = new List<Action>();
        for (int i = 1; i <= times; i++)
        {
            int mine = i;
            actions.Add(() => total += Stay(mine));
        }
        actions.ForEach(action => action());
        return total;
    }

    static Func<T, T> Fix<T>(Func<Func<T, T>, Func<T, T>> f) => value => f(Fix(f))(value);

    static int Apply(Func<int, int> f, int value) => f(value);

    static int Multicast(int times)
    {
        int calls = 0;
        Action all = () => { };
        for (int i = 0; i < times; i++)
            all += () => calls += Stay(1);
        all();
        return calls;
    }

    sealed class Counter
    {
        public int total;
        public int Plus(int value) => Stay(total + value);
    }

    static Func<Counter, int, int> Open() =>
        typeof(Counter).GetMethod(nameof(Counter.Plus))!.CreateDelegate<Func<Counter, int, int>>();

    static Func<int, int> Closed(Counter counter) => counter.Plus;

    static int Generic<T>(T value) => value is null ? 0 : Stay(1);

    static Func<T, int> Made<T>() => Generic;

    class Plain
    {
        public virtual int Of(int value) => value;
    }

    sealed class Doubling : Plain
    {
        public override int Of(int value) => Stay(base.Of(value) * 2);
    }

    static Func<int, int> Virtual(Plain plain) => plain.Of;

    static int Local(int limit)
    {
        int total = 0;
        Add(limit);
        return total;

        void Add(int value)
        {
            if (value == 0)
                Probe.Here(Tag);
            else
                Add(value - 1);
            total += value;
        }
    }

    static int LocalGeneric<T>(T value)
    {
        return Inner<List<T>>([value]) + 1;

        static int Inner<TInner>(TInner inner) where TInner : List<T> => Stay(inner.Count);
    }

    static int Grouped()
    {
        var groups = Enumerable.Range(0, 12).GroupBy(x => Stay(x) % 3).ToDictionary(group => group.Key);
        return groups[2].Sum(Stay);
    }

    static int Joined()
    {
        var left = Enumerable.Range(0, 5);
        var right = Enumerable.Range(0, 10);
        return left.Join(right, x => Stay(x * 2), y => y, (x, y) => Stay(x + y)).Count();
    }

    static IEnumerable<int> Nested(int depth) =>
        depth == 0 ? [Stay(1)] : Enumerable.Repeat(depth, 1).SelectMany(d => Nested(d - 1)).Where(x => Stay(x) > 0);

    static IEnumerable<int> Tree(int depth)
    {
        if (depth == 0)
            yield return 1;
        else
            foreach (int side in (int[])[0, 1])
                foreach (int leaf in Tree(depth - 1))
                    yield return depth == 6 ? Probe.Pass(Tag, leaf) : leaf + side - side;
    }

    static IEnumerable<int> Guarded()
    {
        try
        {
            yield return Stay(1);
            yield return Stay(2);
            yield return Stay(5);
            throw new TimeoutException();
        }
        finally
        {
            Probe.Here(Tag);
        }
    }

    static int Early(IEnumerable<int> numbers, int limit)
    {
        int sum = 0;
        try
        {
            foreach (int number in numbers)
            {
                sum += number;
                if (number == limit)
                    break;
            }
        }
        catch (TimeoutException)
        {
            Probe.Here(Tag);
        }
        return sum;
    }

    static int Matched(object value) => value switch
    {
        int number when Stay(number) == 1 => 1,
        string { Length: > 2 } text => Stay(text.Length) + 7,
        double real => Stay((int)real) - 3,
        _ => Stay(100),
    };

    static IEnumerable<int> Lazily()
    {
        for (int i = 0; ; i++)
            yield return Stay(i);
    }
}
