// Things that happen when their time has come: timers, channels, cancellation.

using System.Threading.Channels;

namespace Workload;

static class Timers
{
    public const int Tag = 19000;

    public static readonly Scenario[] All =
    [
        new("channel", () => Channelled(false).GetAwaiter().GetResult(), 45),
        new("channel-inline", () => Channelled(true).GetAwaiter().GetResult(), 45),
        new("blocking-collection", Blocking, 15),
        new("cancellation-callbacks", Cancellation, 6),
        new("cancellation-linked", () => Linked().GetAwaiter().GetResult(), 3),
        new("cancellation-after", () => After().GetAwaiter().GetResult(), 2),
        new("timer", Ticks, 3),
        new("timer-periodic", () => Periodic().GetAwaiter().GetResult(), 3),
        new("timer-system", SystemTimer, 2),
        new("delay", () => Delayed().GetAwaiter().GetResult(), 3),
    ];

    static int Stay(int value)
    {
        Probe.Here(Tag);
        return value;
    }

    static async Task<int> Channelled(bool inline)
    {
        var channel = Channel.CreateBounded<int>(new BoundedChannelOptions(3) { AllowSynchronousContinuations = inline });
        Task writer = Task.Run(async () =>
        {
            for (int i = 0; i < 10; i++)
                await channel.Writer.WriteAsync(Stay(i));
            channel.Writer.Complete();
        });
        int sum = 0;
        await foreach (int value in channel.Reader.ReadAllAsync())
            sum += Stay(value);
        await writer;
        return sum;
    }

    static int Blocking()
    {
        using var queue = new System.Collections.Concurrent.BlockingCollection<int>(2);
        int sum = 0;
        Pool.Together(2, index =>
        {
            if (index == 0)
            {
                for (int i = 1; i <= 5; i++)
                    queue.Add(Stay(i));
                queue.CompleteAdding();
            }
            else
                foreach (int value in queue.GetConsumingEnumerable())
                    sum += Stay(value);
        });
        return sum;
    }

    static int Cancellation()
    {
        using var source = new CancellationTokenSource();
        int sum = 0;
        for (int i = 1; i <= 3; i++)
            source.Token.Register(value => sum += Stay((int)value!), i);
        source.Cancel();
        return sum;
    }

    static async Task<int> Linked()
    {
        using var outer = new CancellationTokenSource();
        using var inner = CancellationTokenSource.CreateLinkedTokenSource(outer.Token);
        using CancellationTokenRegistration registration = inner.Token.Register(() => Probe.Here(Tag));
        try
        {
            Task waiting = Task.Delay(Timeout.Infinite, inner.Token);
            outer.Cancel();
            await waiting;
            return 0;
        }
        catch (OperationCanceledException)
        {
            return Stay(3);
        }
    }

    static async Task<int> After()
    {
        using var source = new CancellationTokenSource(2);
        try
        {
            await Task.Delay(Timeout.Infinite, source.Token);
            return 0;
        }
        catch (TaskCanceledException) when (Stay(2) == 2)
        {
            return Stay(2);
        }
    }

    static int Ticks()
    {
        int ticks = 0;
        using var done = new ManualResetEventSlim();
        using var gone = new ManualResetEvent(false);
        var timer = new Timer(_ =>
        {
            Probe.Here(Tag);
            if (Interlocked.Increment(ref ticks) == 3)
                done.Set();
        }, null, 1, 1);
        done.Wait();
        timer.Dispose(gone);
        gone.WaitOne(); // for calls that have begun
        return Math.Min(ticks, 3);
    }

    static async Task<int> Periodic()
    {
        using var timer = new PeriodicTimer(TimeSpan.FromMilliseconds(1));
        int ticks = 0;
        while (ticks < 3 && await timer.WaitForNextTickAsync())
            ticks += Stay(1);
        return ticks;
    }

    static int SystemTimer()
    {
        using var timer = new System.Timers.Timer(1) { AutoReset = false };
        using var done = new ManualResetEventSlim();
        int result = 0;
        timer.Elapsed += (_, _) =>
        {
            result = Stay(2);
            done.Set();
        };
        timer.Start();
        done.Wait();
        return result;
    }

    static async Task<int> Delayed()
    {
        int sum = 0;
        for (int i = 0; i < 3; i++)
        {
            await Task.Delay(1);
            sum += Stay(1);
        }
        return sum;
    }
}
