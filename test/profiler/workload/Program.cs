// Work of one kind, over and over, for so many seconds; what is printed does not depend on how fast it went:
//
//     profiled KIND SECONDS [memory]        profiled list        profiled turns|signals SECONDS        profiled serve
//     profiled end WAY [SIGNAL]
//
// Ends with 0; with 1 where an answer is wrong; with 2 where the kind is unknown.

using Profiled;

if (args is ["list"])
{
    foreach (string name in Kinds.All.Keys)
        Console.WriteLine(name);
    return 0;
}
if (args is ["turns", string length])
    return Turns.Run(double.Parse(length));
if (args is ["signals", string span])
    return Turns.Signals(double.Parse(span));
if (args is ["serve"])
    return Web.Serve().GetAwaiter().GetResult();
if (args is ["end", string way, ..])
    return Ends.Run(way, args.Length > 2 ? int.Parse(args[2]) : 0);
if (args is ["child"])
    return Busy.Child();
bool memory = args is [_, _, "memory"];
if (args.Length != (memory ? 3 : 2) || !Kinds.All.TryGetValue(args[0], out Func<int, int>? kind) || !double.TryParse(args[1], out double seconds))
{
    Console.Error.WriteLine("profiled KIND SECONDS; profiled list");
    return 2;
}
var time = System.Diagnostics.Stopwatch.StartNew();
int round = 0;
for (; round == 0 || args[0] != "ready" && time.Elapsed.TotalSeconds < seconds; round++)
    if (kind(round) != round + 3)
    {
        Console.WriteLine($"{args[0]}: wrong answer in round {round}");
        return 1;
    }
Console.WriteLine($"{args[0]}: right");
if (memory)
    Turns.Memory();
return args[0] == "status" ? 7 : 0;
