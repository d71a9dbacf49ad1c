// Which function of a precompiled image an address is in, by the image's table of functions (PE, exception directory).

using System.Buffers.Binary;
using Microsoft.Diagnostics.Runtime;

namespace ClrMD;

static class Precompiled
{
    // PE32+: where the headers' offset stands, and behind it the exception directory; an entry is begin, end, unwind data.
    const int HeadersAt = 0x3c, DirectoryAt = 0xa0, EntrySize = 12;
    const int Largest = 16 << 20;

    /// <summary>Where the function begins; null when the address is in no function of an image.</summary>
    public static ulong? Function(ClrRuntime runtime, ulong address)
    {
        IDataReader reader = runtime.DataTarget.DataReader;
        foreach (ClrModule module in runtime.EnumerateModules())
            if (module.ImageBase != 0 && address >= module.ImageBase && address - module.ImageBase < uint.MaxValue &&
                FunctionOf(reader, module.ImageBase, (uint)(address - module.ImageBase)) is uint begin)
                return module.ImageBase + begin;
        return null;
    }

    static uint? FunctionOf(IDataReader reader, ulong image, uint offset)
    {
        var directory = new byte[8];
        if (!reader.Read(image + HeadersAt, out uint headers) ||
            reader.Read(image + headers + DirectoryAt, directory) != directory.Length)
            return null;
        uint table = BinaryPrimitives.ReadUInt32LittleEndian(directory), size = BinaryPrimitives.ReadUInt32LittleEndian(directory.AsSpan(4));
        if (size is 0 or > Largest)
            return null;
        var entries = new byte[size];
        if (reader.Read(image + table, entries) != entries.Length)
            return null;
        for (int at = 0; at + EntrySize <= entries.Length; at += EntrySize)
        {
            uint begin = BinaryPrimitives.ReadUInt32LittleEndian(entries.AsSpan(at));
            if (offset >= begin && offset < BinaryPrimitives.ReadUInt32LittleEndian(entries.AsSpan(at + 4)))
                return begin;
        }
        return null;
    }
}
