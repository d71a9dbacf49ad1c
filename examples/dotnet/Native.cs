// Managed code that calls native code that calls managed code: libc's qsort with a managed comparer, and a thread
// that native code has made.

using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Sample;

static unsafe partial class Native
{
    public static readonly State[] All =
    [
        new("pinvoke", () => { Stage.Arrive(); Pause(); }),
        new("pinvoke-errno", () => { Stage.Arrive(); PauseWithErrno(); }),
        new("callback", () => SortThrough(1)),
        new("callback-deep", () => SortThrough(5)),
        new("callback-deleg", () => SortByDelegate()),
        new("callback-catch", () => SortAndCatch()),
        new("native-owner", () => { Stage.Await("native-thread"); Stage.Arrive(); ForeignThread(); Thread.Sleep(Timeout.Infinite); }),
    ];

    [DllImport("libc", EntryPoint = "pause")]
    static extern int Pause();

    [DllImport("libc", EntryPoint = "pause", SetLastError = true)]
    static extern int PauseWithErrno();

    [DllImport("libc", EntryPoint = "qsort")]
    static extern void Sort(int* values, nint count, nint size, delegate* unmanaged<int*, int*, int> compare);

    delegate int Comparer(ref int left, ref int right);

    [DllImport("libc", EntryPoint = "qsort")]
    static extern void Sort(int[] values, nint count, nint size, Comparer compare);

    [DllImport("libc", EntryPoint = "pthread_create")]
    static extern int CreateThread(nint* thread, nint attributes, delegate* unmanaged<nint, nint> start, nint argument);

    static void SortThrough(int levels)
    {
        int* values = stackalloc int[] { levels, levels };
        Sort(values, 2, sizeof(int), &CompareDeeper);
    }

    [UnmanagedCallersOnly]
    static int CompareDeeper(int* left, int* right)
    {
        if (*left > 0)
            SortThrough(*left - 1);
        else
            Stage.Hold();
        return 0;
    }

    static void SortByDelegate()
    {
        Comparer compare = (ref int left, ref int right) =>
        {
            Stage.Hold();
            return left - right;
        };
        Sort([2, 1], 2, sizeof(int), compare);
    }

    static void SortAndCatch()
    {
        int* values = stackalloc int[] { 1, 1 };
        Sort(values, 2, sizeof(int), &CompareAndCatch);
    }

    [UnmanagedCallersOnly]
    static int CompareAndCatch(int* left, int* right)
    {
        try
        {
            return ThrowIf(*left == *right);
        }
        catch (InvalidOperationException)
        {
            Stage.Hold();
            return 0;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int ThrowIf(bool condition) => condition ? throw new InvalidOperationException() : 0;

    static void ForeignThread()
    {
        nint thread;
        if (CreateThread(&thread, 0, &ForeignMain, 42) != 0)
            throw new InvalidOperationException("pthread_create failed");
    }

    [UnmanagedCallersOnly]
    static nint ForeignMain(nint argument)
    {
        Stage.HoldAs("native-thread");
        return argument;
    }
}
