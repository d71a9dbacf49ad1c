// The mixed stack of the calling thread, managed and native frames, by libsnapwalk.

using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Snapwalk;

/// <summary>A call that failed, by the name of its status: SW_E_UNSUPPORTED.</summary>
public sealed class SnapwalkException(string status) : Exception(status);

/// <summary>
/// One frame. <see cref="ProgramCounter"/> is a return address. Type is that of a managed method, and null in native code;
/// Name is null where nothing is known.
/// </summary>
public sealed record Frame(ulong ProgramCounter, ulong StackPointer, string? Type, string? Name, string Source, string Trust)
{
    public bool IsManaged => Type != null;

    public override string ToString() => $"0x{ProgramCounter:x16} {(IsManaged ? $"{Type}.{Name}" : Name ?? "?")}";
}

/// <summary>Frames, leaf first, and why the walk ended: "root" and the like, or what has cut it.</summary>
public sealed record Stack(IReadOnlyList<Frame> Frames, string Stop)
{
    public bool IsWhole => Stop.StartsWith("root", StringComparison.Ordinal);
}

/// <summary>Walks this process's stacks and names what it finds. One call at a time.</summary>
public sealed unsafe class Walker : IDisposable
{
    const uint Bare = 2; // SW_CLR_NAMES_BARE
    const int NameBytes = 2048;
    readonly void* images, names;
    List<Frame>? frames;

    public Walker()
    {
        void* made;
        Check(Native.sw_images_create(null, &made));
        images = made;
        Check(Native.sw_images_add_self(images));
        Memory memory = Native.sw_self_memory();
        Check(Native.sw_clr_names_create(null, &memory, 0, &made));
        names = made;
        Image runtime;
        nint export = NativeLibrary.GetExport(NativeLibrary.Load("libcoreclr.so", typeof(object).Assembly, null), "coreclr_initialize");
        Check(Native.sw_images_find(images, (ulong)export, &runtime));
        Check(Native.sw_clr_names_attach(names, runtime.Bias));
    }

    public void Dispose()
    {
        Native.sw_clr_names_destroy(names);
        Native.sw_images_destroy(images);
    }

    public static string Version => Text(Native.sw_version());

    /// <summary>The stack of the calling thread, from the call into the library on.</summary>
    public Stack Here()
    {
        var handle = GCHandle.Alloc(this);
        frames = [];
        Native.sw_clr_names_renew(names); // the runtime has run since
        try
        {
            int stop;
            Check(Native.sw_here(null, &Keep, (void*)GCHandle.ToIntPtr(handle), &stop));
            return new Stack(frames, Text(Native.sw_stop_name(stop)));
        }
        finally
        {
            frames = null;
            handle.Free();
        }
    }

    [UnmanagedCallersOnly]
    static byte Keep(void* arg, RawFrame* frame, byte* name, ulong offset)
    {
        var walker = (Walker)GCHandle.FromIntPtr((nint)arg).Target!;
        walker.frames!.Add(walker.FrameOf(frame, Text(name)));
        return 1;
    }

    // An exception must not pass through the library: nothing here throws.
    Frame FrameOf(RawFrame* frame, string native)
    {
        (string? type, string? name) = Managed(frame->Lookup);
        return new Frame(frame->Regs.ProgramCounter, frame->Regs.StackPointer, type, name ?? (native == "?" ? null : native),
            Text(Native.sw_source_name(frame->Source)), Text(Native.sw_trust_name(frame->Trust)));
    }

    (string?, string?) Managed(ulong lookup)
    {
        byte* buffer = stackalloc byte[NameBytes];
        CodeRange method = default, range;
        MethodName name;
        ulong entry = Native.sw_images_find_method(images, lookup, &method) == 0 ? method.Id : 0;
        if (Native.sw_clr_names_find(names, lookup, entry, &range) != 0)
            return (null, null);
        return Native.sw_clr_names_method(names, range.Id, Bare, buffer, NameBytes, &name) == 0
            ? (Text(name.Type), Text(name.Method))
            : ("?", "?");
    }

    static string Text(byte* from) => Marshal.PtrToStringUTF8((nint)from)!;

    static void Check(int status)
    {
        if (status != 0)
            throw new SnapwalkException(Text(Native.sw_status_name(status)));
    }

    /// <summary>The layout of what is declared once more here, as bindings/layout.c prints it.</summary>
    public static IEnumerable<string> Layout()
    {
        yield return $"sw_regs {Unsafe.SizeOf<Regs>()}";
        yield return $"sw_range {Unsafe.SizeOf<CodeRange>()}";
        yield return $"sw_range.kind {Marshal.OffsetOf<CodeRange>(nameof(CodeRange.Kind))}";
        yield return $"sw_frame {Unsafe.SizeOf<RawFrame>()}";
        yield return $"sw_frame.lookup {Marshal.OffsetOf<RawFrame>(nameof(RawFrame.Lookup))}";
        yield return $"sw_frame.trust {Marshal.OffsetOf<RawFrame>(nameof(RawFrame.Trust))}";
        yield return $"sw_memory {Unsafe.SizeOf<Memory>()}";
        yield return $"sw_image {Unsafe.SizeOf<Image>()}";
        yield return $"sw_image.bias {Marshal.OffsetOf<Image>(nameof(Image.Bias))}";
    }
}
