// Children by fork alone, and a program that becomes another one.

using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Profiled;

static unsafe class Forks
{
    static readonly nint libc = NativeLibrary.Load("libc.so.6");

    /* By address: in the child there is nobody who binds or compiles. */
    static readonly delegate* unmanaged<int> fork = (delegate* unmanaged<int>)NativeLibrary.GetExport(libc, "fork");
    static readonly delegate* unmanaged<int, int*, int, int> wait = (delegate* unmanaged<int, int*, int, int>)NativeLibrary.GetExport(libc, "waitpid");
    static readonly delegate* unmanaged<int, void> end = (delegate* unmanaged<int, void>)NativeLibrary.GetExport(libc, "_exit");
    static readonly delegate* unmanaged<uint, uint> alarm = (delegate* unmanaged<uint, uint>)NativeLibrary.GetExport(libc, "alarm");
    static readonly delegate* unmanaged<byte*, int, int> open = (delegate* unmanaged<byte*, int, int>)NativeLibrary.GetExport(libc, "open");
    static readonly delegate* unmanaged<int, byte*, nint, nint> read = (delegate* unmanaged<int, byte*, nint, nint>)NativeLibrary.GetExport(libc, "read");
    static readonly delegate* unmanaged<byte*, byte**, int> execv = (delegate* unmanaged<byte*, byte**, int>)NativeLibrary.GetExport(libc, "execv");

    /// <summary>A child works for some 50 ms, looks for timers, and ends with 5 where it has none.</summary>
    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    static int Child(byte* path, byte* text)
    {
        int child = fork();
        if (child != 0)
            return child;
        alarm(600);
        long mixed = 1;
        for (int turn = 0; turn < 50_000_000; turn++)
            mixed = mixed * 6364136223846793005 + turn;
        end(read(open(path, 0), text, 256) == 0 && mixed != 0 ? 5 : 6);
        return 0;
    }

    public static int Fork(int value)
    {
        byte* text = stackalloc byte[256];
        int status = 0;
        fixed (byte* path = "/proc/self/timers\0"u8)
        {
            int child = Child(path, text);
            while (wait(child, &status, 0) != child)
                ; /* a signal of the runtime's */
        }
        Busy.Nested<string>.Spin<int>(60, (1, ""));
        return value + (status == 5 << 8 ? 3 : status);
    }

    /// <summary>Works, and becomes a program that says "child: right" and ends with 3.</summary>
    public static int Exec(int value)
    {
        Busy.Nested<string>.Spin<int>(60, (1, ""));
        string[] words = [Environment.ProcessPath!, typeof(Forks).Assembly.Location, "child"];
        byte** arguments = stackalloc byte*[words.Length + 1];
        for (int i = 0; i < words.Length; i++)
            arguments[i] = (byte*)Marshal.StringToCoTaskMemUTF8(words[i]);
        arguments[words.Length] = null;
        execv(arguments[0], arguments);
        return value;
    }
}
