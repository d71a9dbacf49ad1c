// Types that no code has been compiled for yet: the runtime compiles generics over value types for each type anew, so
// that first calls, class constructors and replacement on the stack happen again in every round, and not only once in
// the life of the process. There are 32,768 of them, of a few KiB each;
// after that they are old acquaintances.

using System.Reflection;

namespace Workload;

static class Fresh
{
    static readonly Type[] digits =
    [
        typeof(byte), typeof(sbyte), typeof(short), typeof(ushort), typeof(int), typeof(uint), typeof(long), typeof(ulong),
    ];

    static int used;

    static Type Digit(int value, int place) => digits[value >> 3 * place & 7];

    /// <summary>A value type that no other call has given so far.</summary>
    static Type Next()
    {
        int value = Interlocked.Increment(ref used);
        return typeof(ValueTuple<,,,,>).MakeGenericType([.. Enumerable.Range(0, 5).Select(place => Digit(value, place))]);
    }

    /// <summary>Calls the generic static method `name` of `type`, which has one type parameter, for a fresh type.</summary>
    public static int Call(Type type, string name, int argument)
    {
        MethodInfo method = type.GetMethod(name, BindingFlags.Static | BindingFlags.NonPublic | BindingFlags.Public)!;
        return method.MakeGenericMethod(Next()).CreateDelegate<Func<int, int>>()(argument);
    }
}
