// Threads blocked by the runtime and by the framework's precompiled code: sleep, locks, IO, tasks, timers, finalizer.

using System.IO.Pipes;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Text.RegularExpressions;

namespace Sample;

static class Waits
{
    static readonly object taken = new();
    static readonly ManualResetEventSlim never = new();

    public static readonly State[] All =
    [
        new("sleep", () => { Stage.Arrive(); Thread.Sleep(Timeout.Infinite); }),
        new("lock-owner", () => { lock (taken) Stage.Hold(); }),
        new("lock-waiter", LockWaiter),
        new("monitor-wait", MonitorWait),
        new("join", Join),
        new("event-slim", () => { Stage.Arrive(); never.Wait(); }),
        new("semaphore", () => { Stage.Arrive(); new Semaphore(0, 1).WaitOne(); }),
        new("pipe-read", PipeRead),
        new("socket-accept", SocketAccept),
        new("socket-receive", SocketReceive),
        new("task-wait", TaskWait),
        new("await-owner", () => { Stage.Await("await-chain"); Stage.Arrive(); AwaitLevel(8).Wait(); }),
        new("parallel-for", () => Parallel.For(0, 2, new ParallelOptions { MaxDegreeOfParallelism = 1 }, _ => Stage.Hold())),
        new("lazy", () => _ = new Lazy<int>(() => { Stage.Hold(); return 1; }).Value),
        new("regex", RegexReplace),
        new("timer-owner", KeepTimer),
        new("garbage-owner", CollectGarbage),
    ];

    static void LockWaiter()
    {
        while (!Monitor.IsEntered(taken) && Monitor.TryEnter(taken))
        {
            Monitor.Exit(taken); // the owner has not come yet
            Thread.Sleep(10);
        }
        Stage.Arrive();
        lock (taken) { }
    }

    static void MonitorWait()
    {
        var mine = new object();
        lock (mine)
        {
            Stage.Arrive();
            Monitor.Wait(mine);
        }
    }

    static void Join()
    {
        var other = new Thread(() => Thread.Sleep(Timeout.Infinite)) { Name = "joined", IsBackground = true };
        other.Start();
        Stage.Arrive();
        other.Join();
    }

    static void PipeRead()
    {
        using var server = new AnonymousPipeServerStream(PipeDirection.Out);
        using var client = new AnonymousPipeClientStream(PipeDirection.In, server.ClientSafePipeHandle);
        Stage.Arrive();
        client.ReadByte();
    }

    static void SocketAccept()
    {
        using Socket listener = Listen();
        Stage.Arrive();
        listener.Accept();
    }

    static void SocketReceive()
    {
        using Socket listener = Listen();
        using var client = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        client.Connect(listener.LocalEndPoint!);
        Stage.Arrive();
        client.Receive(new byte[1]);
    }

    static Socket Listen()
    {
        var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        return listener;
    }

    static void TaskWait()
    {
        var source = new TaskCompletionSource<int>();
        Stage.Arrive();
        _ = source.Task.Result;
    }

    // The innermost level goes on in a pool thread; each level then runs the next outer one from its own end.
    static async Task<int> AwaitLevel(int level)
    {
        if (level == 0)
            await Task.Delay(50);
        int below = level == 0 ? 0 : await AwaitLevel(level - 1);
        if (level == 8)
            Stage.HoldAs("await-chain");
        return below + 1;
    }

    static void RegexReplace()
    {
        var words = new Regex(@"(\w+)\s(\w+)");
        words.Replace("some words to replace", match =>
        {
            Stage.Hold();
            return match.Value;
        });
    }

    static void KeepTimer()
    {
        Stage.Await("timer");
        Stage.Arrive();
        using var timer = new Timer(_ => Stage.HoldAs("timer"), null, 0, Timeout.Infinite);
        Thread.Sleep(Timeout.Infinite);
    }

    sealed class Finalizable
    {
        ~Finalizable() => Stage.HoldAs("finalizer");
    }

    static void CollectGarbage()
    {
        Stage.Await("finalizer");
        Stage.Arrive();
        MakeGarbage();
        GC.Collect();
        Thread.Sleep(Timeout.Infinite);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void MakeGarbage() => _ = new Finalizable();
}
