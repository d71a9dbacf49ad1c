// Starts one thread for every state in the table below, waits until all of them are in their states, prints
// "ready PID", and stays until standard input closes or the given number of seconds has passed.
//
//     sample [SECONDS]

using Sample;

State[] states = [.. Calls.All, .. Loops.All, .. Exceptions.All, .. Native.All, .. Waits.All];
foreach (State state in states)
    Stage.Start(state);
if (!Stage.AllArrived(TimeSpan.FromMinutes(10)))
{
    Console.Error.WriteLine("sample: these threads did not reach their state: " + Stage.Missing());
    return 1;
}

Thread.Sleep(1000); // from "about to block" to blocked; time for hot loops to be replaced on the stack
Console.WriteLine($"ready {Environment.ProcessId}");

int limit = args.Length > 0 ? int.Parse(args[0]) : 60;
Task closed = Task.Run(() => Console.In.ReadToEnd());
closed.Wait(TimeSpan.FromSeconds(limit));
Stage.Exit();
return 0;
