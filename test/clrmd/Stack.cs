namespace ClrMD;

/// <summary>One managed frame: where it is and, for people, what it is called.</summary>
record struct Frame(ulong Ip, ulong Sp, string Name)
{
    public readonly bool IsAt(Frame other) => Ip == other.Ip && Sp == other.Sp;
    public override readonly string ToString() => $"{Ip:x} {Sp:x} {Name}";
}

/// <summary>One thread: the registers it was stopped with and its managed frames, leaf first.</summary>
class Stack
{
    public string Name = "";
    public ulong Pc;
    public ulong Sp;
    public readonly List<Frame> Managed = [];

    /// <summary>ClrMD only: the thread was in runtime code that had not left managed mode; README.md, "unseen".</summary>
    public bool LeafIsHelper;
}
