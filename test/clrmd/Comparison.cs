// The rule of comparison; README.md gives its reasons.

namespace ClrMD;

static class Comparison
{
    const string Equal = "equal", Different = "different", Unseen = "unseen";

    /// <summary>Prints a line for each thread and the sum. True when all are identical.</summary>
    public static bool Print(SortedDictionary<uint, Stack> referee, SortedDictionary<uint, Stack> walked)
    {
        uint[] tids = [.. referee.Keys.Union(walked.Keys).Order()];
        int equal = 0;
        foreach (uint tid in tids)
        {
            Stack theirs = referee.GetValueOrDefault(tid, new Stack()), ours = walked.GetValueOrDefault(tid, new Stack());
            (string verdict, string reason) = Compare(theirs, ours);
            Console.WriteLine($"{tid} {verdict} {ours.Managed.Count} {ours.Name}{reason}");
            equal += verdict == Equal ? 1 : 0;
        }
        Console.WriteLine($"clrmd: {equal} of {tids.Length} threads identical");
        return tids.Length > 0 && equal == tids.Length;
    }

    static (string, string) Compare(Stack theirs, Stack ours)
    {
        if (theirs.Pc != ours.Pc || theirs.Sp != ours.Sp)
            return (Different, $"\n    not the same instant: ClrMD at {theirs.Pc:x} {theirs.Sp:x}, " +
                               $"stacks at {ours.Pc:x} {ours.Sp:x}");
        // From a helper ClrMD goes straight to the next record of the runtime: it may miss frames at the leaf.
        int missed = theirs.LeafIsHelper ? Math.Max(0, ours.Managed.Count - theirs.Managed.Count) : 0;
        int same = 0;
        while (same < theirs.Managed.Count && missed + same < ours.Managed.Count &&
               theirs.Managed[same].IsAt(ours.Managed[missed + same]))
            same++;
        if (same == theirs.Managed.Count && missed + same == ours.Managed.Count)
            return (missed > 0 ? Unseen : Equal, "");
        return (Different, $"\n    after {same} equal frames, of {theirs.Managed.Count} and {ours.Managed.Count}:\n" +
                           $"    ClrMD  {FrameAt(theirs, same)}\n    stacks {FrameAt(ours, missed + same)}");
    }

    static string FrameAt(Stack stack, int index) =>
        index < stack.Managed.Count ? stack.Managed[index].ToString() : "(no more)";
}
