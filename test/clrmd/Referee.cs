// Knows ClrMD; refuses to know what its answers are compared with.

using System.Buffers.Binary;
using Microsoft.Diagnostics.Runtime;

namespace ClrMD;

static class Referee
{
    // Win32 CONTEXT of x64: its size, and where it holds rsp and rip.
    const int ContextSize = 1232, RspAt = 0x98, RipAt = 0xf8;
    const uint ContextControl = 0x100001;

    public static SortedDictionary<uint, Stack> Read(int pid)
    {
        using DataTarget target = DataTarget.AttachToProcess(pid, suspend: true);
        using ClrRuntime runtime = target.ClrVersions.Single().CreateRuntime();
        var stacks = new SortedDictionary<uint, Stack>();
        foreach (string task in Directory.GetDirectories($"/proc/{pid}/task"))
        {
            uint tid = uint.Parse(Path.GetFileName(task));
            stacks[tid] = ReadRegisters(target.DataReader, tid);
        }
        foreach (ClrThread thread in runtime.Threads.Where(t => t.IsAlive && stacks.ContainsKey(t.OSThreadId)))
            ReadFrames(thread, stacks[thread.OSThreadId]);
        return stacks;
    }

    static Stack ReadRegisters(IDataReader reader, uint tid)
    {
        var context = new byte[ContextSize];
        if (!reader.GetThreadContext(tid, ContextControl, context))
            throw new InvalidDataException($"no registers of thread {tid}");
        return new Stack
        {
            Sp = BinaryPrimitives.ReadUInt64LittleEndian(context.AsSpan(RspAt)),
            Pc = BinaryPrimitives.ReadUInt64LittleEndian(context.AsSpan(RipAt)),
        };
    }

    static void ReadFrames(ClrThread thread, Stack stack)
    {
        stack.LeafIsHelper = thread.GCMode == GCMode.Cooperative && thread.Runtime.GetMethodByInstructionPointer(stack.Pc) == null;
        bool fromRecord = false;
        foreach (ClrStackFrame frame in thread.EnumerateStackTrace())
        {
            if (frame.Kind == ClrStackFrameKind.ManagedMethod && frame.InstructionPointer != 0)
            {
                ulong ip = fromRecord ? ReturnAddress(thread.Runtime, frame) : frame.InstructionPointer;
                stack.Managed.Add(new Frame(ip, frame.StackPointer, NameOf(frame)));
            }
            fromRecord = frame.FrameName == "InlinedCallFrame";
        }
    }

    // Where the runtime's walk resumes from the record of a platform invoke, its ip is the one that the record holds.
    // In precompiled code that is where the record was made, some instructions before the call; where the call returns
    // to stands on the stack below the frame, and must be in the same method. Where the runtime knows no method at either,
    // the image's own table of functions says whether they are one function's.
    static ulong ReturnAddress(ClrRuntime runtime, ClrStackFrame frame)
    {
        ulong word = runtime.DataTarget.DataReader.ReadPointer(frame.StackPointer - 8);
        ClrMethod? method = runtime.GetMethodByInstructionPointer(word - 1);
        bool same = method != null || frame.Method != null
            ? method != null && method.MethodDesc == frame.Method?.MethodDesc
            : Precompiled.Function(runtime, word - 1) is ulong begin && Precompiled.Function(runtime, frame.InstructionPointer) == begin;
        return same ? word : frame.InstructionPointer;
    }

    static string NameOf(ClrStackFrame frame) => frame.Method?.Signature ?? frame.FrameName ?? "?";
}
