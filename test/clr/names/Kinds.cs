// Methods by kind of name, each called at least once and not inlined.

using System.Collections;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Names
{
    interface IShape
    {
        int Sides { get; }
        int Default() => Sides + Helper();
        private int Helper() => 1;
        static abstract int Count(int a);
    }

    struct Square : IShape
    {
        public int Sides { [MethodImpl(MethodImplOptions.NoInlining)] get => 4; }
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Count(int a) => a + 4;
    }

    class Outer<T> where T : notnull
    {
        public class Inner<U>
        {
            public struct Deep
            {
                public T First = default!;
                public U Second = default!;
                public Deep() { }
                [MethodImpl(MethodImplOptions.NoInlining)]
                public readonly (T, U) Both<V>(V more, List<Dictionary<T, U[]>>? lists) => (First, Second);
            }

            [MethodImpl(MethodImplOptions.NoInlining)]
            public U Pick<V>(T a, U b, V c) where V : struct => b;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public virtual string Virtual<V>(V[] rows, T[,] grid, ref V by, out T last) { last = default!; return $"{rows.Length}{grid.Length}"; }

        public T this[int at] { [MethodImpl(MethodImplOptions.NoInlining)] get => default!; [MethodImpl(MethodImplOptions.NoInlining)] set { } }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static Outer<T> operator +(Outer<T> a, Outer<T> b) => a;
    }

    abstract class Explicit : IComparable<int>, IEnumerable<string>
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        int IComparable<int>.CompareTo(int other) => other;
        IEnumerator<string> IEnumerable<string>.GetEnumerator() { yield return "a"; yield return "b"; }
        IEnumerator IEnumerable.GetEnumerator() => ((IEnumerable<string>)this).GetEnumerator();
        ~Explicit() { }
    }

    sealed class ExplicitOne : Explicit { }

    record Person(string Name, int Age);

    record struct Pair<A, B>(A One, B Two);

    enum Colour : byte { Red, Green }

    delegate int Transform<T>(T value, in int other);

    file sealed class OnlyHere
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public int Answer() => 42;
    }

    static class Extending
    {
        extension(string text)
        {
            public int Doubled { [MethodImpl(MethodImplOptions.NoInlining)] get => text.Length * 2; }
            [MethodImpl(MethodImplOptions.NoInlining)]
            public int Plus(int more) => text.Length + more;
        }
    }

    static class Kinds
    {
        static int sink;

        public static async Task RunAll()
        {
            Generics();
            Pointers();
            Closures(3);
            OfTypes();
            await Async();
            await AsyncOf<int>(5);
            await AsyncOf("text");
            await foreach (int one in Stream(3))
                sink += one;
            foreach (int one in Iterate(3))
                sink += one;
            foreach (var one in IterateOf(new[] { "x" }))
                sink += one.Length;
            await Overloaded(1);
            await Overloaded("one");
            await Overloaded(1, 2.0);
            Func<int, Task<int>> lambda = async x => { await Task.Yield(); return x + sink; };
            await lambda(4);
            async ValueTask<int> Local<T>(T value) { await Task.Yield(); return value!.GetHashCode() + sink; }
            await Local(7);
            await Local("seven");
            await new Machine<DateTime>().Work(DateTime.UnixEpoch, 3);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Generics()
        {
            var deep = new Outer<int>.Inner<string>.Deep();
            deep.Both(1.5, null);
            deep.Both("s", null);
            deep.Both(deep, null);
            new Outer<string>.Inner<int>().Pick("a", 1, 2L);
            new Outer<Guid>.Inner<object>().Pick(Guid.Empty, "b", Colour.Red);
            new Outer<(int, string)>.Inner<int[]>().Pick((1, "x"), [1], new Pair<int, Person>(1, new("n", 2)));
            Virtually(new Outer<int>(), "text");
            Virtually(new Outer<Person>(), 4);
            Virtually(new Outer<List<int>[]>(), new int[1][]);
            var sum = new Outer<byte>() + new Outer<byte>();
            sum[3] = sum[4];
            Count<Square>(3);
            sink += ((IShape)new Square()).Default();
            var explicitly = new ExplicitOne();
            sink += ((IComparable<int>)explicitly).CompareTo(1);
            foreach (string s in (IEnumerable<string>)explicitly)
                sink += s.Length;
            var person = new Person("n", 3) with { Age = 4 };
            sink += person.ToString().Length + person.GetHashCode() + new Pair<int, Person>(1, person).GetHashCode();
            sink += new { A = 1, B = "two" }.ToString()!.Length;
            sink += new OnlyHere().Answer() + "text".Doubled + "text".Plus(3);
            int[,,] cube = new int[2, 2, 2];
            cube[1, 1, 1] = 3;
            Jagged(cube, new string[1][,], new List<int>?[2]);
            sink += new[] { 3, 1, 2 }.OrderBy(x => -x).Select(x => new Pair<int, long>(x, x)).Sum(p => p.One);
            Optional(null, Colour.Green, default, 'c', true, 1.5f, 2.5, 3m, nint.Zero, nuint.Zero, sbyte.MaxValue, 1, 2, 3, 4);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Count<T>(int a) where T : IShape => T.Count(a);

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Virtually<T, V>(Outer<T> outer, V value) where T : notnull
        {
            V by = value;
            outer.Virtual(new V[2], new T[1, 1], ref by, out T _);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Jagged(int[,,] cube, string[][,] mixed, List<int>?[] lists) => sink += cube.Length + mixed.Length + lists.Length;

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Optional(int? none, Colour colour, DateTime when, char c, bool b, float f, double d, decimal m, nint i, nuint u,
                             sbyte s, short h, ushort uh, uint ui, ulong ul) => sink += none ?? (int)colour;

        [MethodImpl(MethodImplOptions.NoInlining)]
        static unsafe int ByPointer(int* one, void** two, delegate*<int, ref long, void> three, delegate* unmanaged<byte*, int> four) => *one;

        [MethodImpl(MethodImplOptions.NoInlining)]
        static ref readonly int ByReference(in int one, ref Span<byte> two, TypedReference three) => ref one;

        static void Managed(int a, ref long b) => b += a;

        [UnmanagedCallersOnly]
        static int Reverse(int a) => a + sink;

        [DllImport("libc", EntryPoint = "abs")]
        static extern int Absolute(int value);

        [DllImport("libc", SetLastError = true)]
        static extern int toupper(int value);

        [MethodImpl(MethodImplOptions.NoInlining)]
        static unsafe void Pointers()
        {
            int one = -3;
            byte[] bytes = new byte[4];
            Span<byte> two = bytes;
            ByPointer(&one, null, &Managed, null);
            sink += ByReference(one, ref two, __makeref(one));
            delegate* unmanaged<int, int> back = &Reverse;
            sink += back(3) + Absolute(one) + toupper('a');
            int*[] rows = new int*[1];
            new Outer<nint[]>().Virtual(new int*[1][], new nint[0, 0][], ref rows, out _);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Closures(int captured)
        {
            Func<int, int> alone = x => x * 2;
            Func<int, int> captures = x => x * captured;
            Transform<string> nested = (string value, in int other) =>
            {
                Func<int> inner = () => value.Length + captured;
                return inner() + other;
            };
            int Local(int a) => a + 1;
            int Capturing(int a) => a + captured;
            static T Generic<T>(T a) => a;
            sink += alone(1) + captures(2) + nested("a", 3) + Local(3) + Capturing(4) + Generic(5) + Generic("x").Length;
            Action many = () => { };
            many += () => { };
            many();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void OfTypes()
        {
            try { Throwing(2); }
            catch (InvalidOperationException e) when (Filter(e)) { sink++; }
            finally { sink++; }
            object boxed = new Square();
            sink += boxed.GetHashCode() + ((IShape)boxed).Sides;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static bool Filter(Exception e) => e.Message.Length > 0;

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Throwing(int depth)
        {
            if (depth == 0)
                throw new InvalidOperationException("thrown");
            Throwing(depth - 1);
        }

        static async Task Async() { await Task.Delay(1); sink++; }
        static async Task<T> AsyncOf<T>(T value) { await Task.Yield(); return value; }
        static async IAsyncEnumerable<int> Stream(int count) { for (int i = 0; i < count; i++) { await Task.Yield(); yield return i; } }
        static IEnumerable<int> Iterate(int count) { for (int i = 0; i < count; i++) yield return i; }
        static IEnumerable<T> IterateOf<T>(IEnumerable<T> of) { foreach (T one in of) yield return one; }
        static async Task Overloaded(int a) { await Task.Yield(); sink += a; }
        static async Task Overloaded(string a) { await Task.Yield(); sink += a.Length; }
        static async Task Overloaded<T>(int a, T b) { await Task.Yield(); sink += a + b!.GetHashCode(); }
    }

    interface IWork<T> { Task<T> Work(T value, int times); }

    class Machine<T> : IWork<T>
    {
        public Task<T> Work(T value, int times) => ((IWork<T>)this).Work(value, times);
        async Task<T> IWork<T>.Work(T value, int times)
        {
            for (int i = 0; i < times; i++)
                await Task.Yield();
            return value;
        }
    }
}

namespace Ünï_ç.Ñame
{
    static class Größe
    {
        [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
        public static int Mé_日本(int x) => x;
    }
}

/// <summary>Outside of any namespace.</summary>
static class Bare
{
    [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
    public static int Method() => Ünï_ç.Ñame.Größe.Mé_日本(3);
}
