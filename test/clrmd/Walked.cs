// Reads what `snapstacks --plain` writes: "thread TID NAME", then "frame IP SP KIND SOURCE TRUST NAME" leaf first.

using System.Globalization;

namespace ClrMD;

static class Walked
{
    public static SortedDictionary<uint, Stack> Read(string path)
    {
        var stacks = new SortedDictionary<uint, Stack>();
        Stack? current = null;
        foreach (string line in File.ReadLines(path))
        {
            string[] words = line.Split(' ', 7, StringSplitOptions.RemoveEmptyEntries);
            if (words is ["thread", var tid, ..])
                stacks[uint.Parse(tid)] = current = new Stack { Name = string.Join(' ', words[2..]) };
            else if (words is ["frame", var ip, var sp, var kind, ..])
                Add(current ?? throw new InvalidDataException("frame without thread: " + line), Hex(ip), Hex(sp), kind,
                    words.Length > 6 ? words[6] : "?");
        }
        return stacks;
    }

    static void Add(Stack stack, ulong ip, ulong sp, string kind, string name)
    {
        if (stack.Pc == 0)
            (stack.Pc, stack.Sp) = (ip, sp);
        if (kind is "jit" or "ngen")
            stack.Managed.Add(new Frame(ip, sp, name));
    }

    static ulong Hex(string text) => ulong.Parse(text.StartsWith("0x") ? text[2..] : text, NumberStyles.HexNumber);
}
