// The C calls. Structures are declared as in the headers; the tests compare their layout.

using System.Runtime.InteropServices;

namespace Snapwalk;

[StructLayout(LayoutKind.Sequential)]
unsafe struct Regs
{
    public uint Machine, Reserved;
    public ulong Known;
    public fixed ulong R[33];

    public readonly ulong ProgramCounter => R[Machine == 2 ? 32 : 16];
    public readonly ulong StackPointer => R[Machine == 2 ? 31 : 4];
}

[StructLayout(LayoutKind.Sequential)]
struct CodeRange
{
    public ulong Begin, End, Id;
    public uint Image;
    public byte Kind, Unwind;
    public ushort Flags;
}

[StructLayout(LayoutKind.Sequential)]
struct RawFrame
{
    public Regs Regs;
    public CodeRange Code;
    public ulong Lookup;
    public byte Source, Trust, Exact;
}

[StructLayout(LayoutKind.Sequential)]
unsafe struct Memory
{
    public void* Read, Arg;
    public ulong WindowBegin, WindowEnd;
    public byte* WindowBytes;
}

[StructLayout(LayoutKind.Sequential)]
unsafe struct Image
{
    public ulong Begin, End, Bias;
    public byte* Path;
    public uint Machine;
    public byte IsPe, IsReadyToRun;
}

[StructLayout(LayoutKind.Sequential)]
unsafe struct MethodName
{
    public byte* Module, Type, Method, Parameters, Result;
    public byte IsDynamic, IsResumed, IsCut;
}

static unsafe partial class Native
{
    const string Library = "libsnapwalk.so.0";

    [LibraryImport(Library)] public static partial byte* sw_version();
    [LibraryImport(Library)] public static partial byte* sw_status_name(int status);
    [LibraryImport(Library)] public static partial byte* sw_stop_name(int stop);
    [LibraryImport(Library)] public static partial byte* sw_source_name(int source);
    [LibraryImport(Library)] public static partial byte* sw_trust_name(int trust);

    [LibraryImport(Library)]
    public static partial int sw_here(void* alloc, delegate* unmanaged<void*, RawFrame*, byte*, ulong, byte> sink, void* arg, int* stop);

    [LibraryImport(Library)] public static partial int sw_images_create(void* alloc, void** images);
    [LibraryImport(Library)] public static partial void sw_images_destroy(void* images);
    [LibraryImport(Library)] public static partial int sw_images_add_self(void* images);
    [LibraryImport(Library)] public static partial int sw_images_find(void* images, ulong address, Image* image);
    [LibraryImport(Library)] public static partial int sw_images_find_method(void* images, ulong address, CodeRange* method);
    [LibraryImport(Library)] public static partial Memory sw_self_memory();
    [LibraryImport(Library)] public static partial int sw_clr_names_create(void* alloc, Memory* memory, nuint bytes, void** names);
    [LibraryImport(Library)] public static partial void sw_clr_names_destroy(void* names);
    [LibraryImport(Library)] public static partial int sw_clr_names_attach(void* names, ulong address);
    [LibraryImport(Library)] public static partial void sw_clr_names_renew(void* names);
    [LibraryImport(Library)] public static partial int sw_clr_names_find(void* names, ulong pc, ulong entry, CodeRange* range);

    [LibraryImport(Library)]
    public static partial int sw_clr_names_method(void* names, ulong method, uint flags, byte* buffer, nuint size, MethodName* name);
}
