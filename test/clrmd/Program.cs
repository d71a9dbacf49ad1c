// What ClrMD, through the runtime's own debugging library, says about the stacks of a stopped .NET process.
//
//     clrmd PID             prints it: "thread TID", "frame IP SP NAME" for each managed frame, leaf first
//     clrmd PID FILE        compares it with what `snapstacks --plain PID` has written to FILE
//     clrmd PID --time N    reads them N times and prints "look MS" for each
//
// The process must have been stopped with SIGSTOP, so that both tools see the same instant: ClrMD attaches with ptrace
// to read registers and detaches again, and the threads stay stopped. README.md says what is compared.

using ClrMD;

if (args.Length is < 1 or > 3 || !int.TryParse(args[0], out int pid))
{
    Console.Error.WriteLine("usage: clrmd PID [FILE | --time N]");
    return 2;
}
if (args is [_, "--time", var looks])
{
    for (int i = 0; i < int.Parse(looks); i++)
    {
        var watch = System.Diagnostics.Stopwatch.StartNew();
        Referee.Read(pid);
        Console.WriteLine(FormattableString.Invariant($"look {watch.Elapsed.TotalMilliseconds:f3}"));
    }
    return 0;
}
SortedDictionary<uint, Stack> referee = Referee.Read(pid);
if (args.Length == 2)
    return Comparison.Print(referee, Walked.Read(args[1])) ? 0 : 1;

foreach ((uint tid, Stack stack) in referee)
{
    Console.WriteLine($"thread {tid}");
    foreach (Frame frame in stack.Managed)
        Console.WriteLine($"frame {frame}");
}
return 0;
