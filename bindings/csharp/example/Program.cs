// Walks itself through methods, lambdas, generics and a callback from native code, and compares with StackTrace: the
// managed frames of both are the same methods in the same order.

using System.Diagnostics;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Snapwalk;

if (args is ["layout"])
{
    foreach (string line in Walker.Layout())
        Console.WriteLine(line);
    return 0;
}
return Compare.Run();

static class Compare
{
    static readonly Walker walker = new();
    static int right, all;

    // Methods that StackTrace shows: not the runtime's own, which it hides, nor what stands above the call.
    static List<string> BySnapwalk(Stack stack) =>
        [.. stack.Frames.Where(frame => frame.IsManaged && frame.Type!.StartsWith(nameof(Compare), StringComparison.Ordinal))
            .Select(frame => frame.Name!.Split('<', '.')[0])]; // "Run.{lambda#12_1}", "Generic<int>"

    static List<string> ByRuntime(StackTrace trace) =>
        [.. trace.GetFrames().Select(frame => frame.GetMethod()!)
            .Where(method => method.DeclaringType?.FullName?.StartsWith(nameof(Compare), StringComparison.Ordinal) == true)
            .Where(HasCode)
            .Select(Written)];

    // StackTrace shows a P/Invoke by its declaration, which has no frame of its own here.
    static bool HasCode(MethodBase method) => !method.Attributes.HasFlag(MethodAttributes.PinvokeImpl);

    // Of a lambda, "<Run>b__0": the method that it was written in.
    static string Written(MethodBase method) =>
        method.Name.StartsWith('<') ? method.Name[1..method.Name.IndexOf('>')] : method.Name;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Look(int value)
    {
        Stack stack = walker.Here();
        List<string> ours = BySnapwalk(stack), theirs = ByRuntime(new StackTrace());
        bool same = stack.IsWhole && ours.SequenceEqual(theirs);
        all++;
        right += same ? 1 : 0;
        if (!same || Environment.GetEnvironmentVariable("SHOW") != null)
            Console.WriteLine($"{stack.Stop}\n  ours:   {string.Join(" < ", ours)}\n  theirs: {string.Join(" < ", theirs)}\n" +
                string.Join("\n", stack.Frames));
        return value;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Deep(int depth) => depth == 0 ? Look(0) : Deep(depth - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static T Generic<T>(T value, Func<T, T> call) => call(value);

    [DllImport("libc")]
    static extern unsafe void qsort(int* items, nuint count, nuint size, delegate* unmanaged<int*, int*, int> compare);

    [UnmanagedCallersOnly]
    static unsafe int FromNative(int* a, int* b) => Look(*a - *b);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static unsafe void ThroughNative()
    {
        int* items = stackalloc int[] { 3, 1, 2 };
        qsort(items, 3, sizeof(int), &FromNative);
    }

    public static int Run()
    {
        for (int depth = 0; depth < 200; depth++)
            Deep(depth);
        Generic(1, Look);
        Generic("text", text => text + Look(1));
        ThroughNative();
        new[] { 3, 1, 2 }.OrderBy(Look).ToList();
        var thread = new Thread(() => Deep(5));
        thread.Start();
        thread.Join();
        Task.Run(() => Look(1)).Wait();
        Console.WriteLine($"csharp: {right} of {all} stacks as StackTrace has them");
        return right == all ? 0 : 1;
    }
}
