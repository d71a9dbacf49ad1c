// A program whose methods have names of all kinds, for test/clr/names.sh: generics over all kinds of arguments, nested
// types, lambdas, local functions, state machines, code made at run time. It runs each of them, prints "ready PID", and
// stands in a few stacks that the test knows until its standard input ends.

using Names;

await Kinds.RunAll();
Emitted.RunAll();
Loaded.RunAll(args.Length > 0 ? args[0] : "");
Standing.Start();
Console.WriteLine($"ready {Environment.ProcessId}");
Console.Out.Flush();
while (Console.Read() != -1) { }
Standing.End();
