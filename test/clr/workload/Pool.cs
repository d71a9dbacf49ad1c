// Work on other threads: threads of our own that start and end, the pool, parallel loops, tasks.

namespace Workload;

static class Pool
{
    public const int Tag = 12000;

    public static readonly Scenario[] All =
    [
        new("thread-start-end", () => Together(6, index => Probe.Here(Tag)), 6),
        new("thread-nested", () => InThreads(4), 4),
        new("thread-small-stack", SmallStack, 1),
        new("thread-throws", ThreadThrows, 3),
        new("thread-interrupt", Interrupted, 2),
        new("pool-queue", () => Queued(8), 8),
        new("pool-local-queue", LocalQueue, 6),
        new("pool-registered-wait", RegisteredWait, 1),
        new("parallel-for", ParallelFor, 496),
        new("parallel-foreach", ParallelForEach, 10),
        new("parallel-async", () => ParallelAsync().GetAwaiter().GetResult(), 15),
        new("parallel-invoke", ParallelInvoke, 3),
        new("parallel-throws", ParallelThrows, 1),
        new("parallel-linq", ParallelLinq, 400),
        new("task-wait-all", TaskWaitAll, 10),
        new("task-inline", () => Task.Run(() => Stay(3)).Result + TaskSynchronously(), 7),
        new("task-continue", () => Then(Then(Task.Run(() => Stay(1)))).Result, 3),
        new("task-children", TaskChildren, 4),
        new("task-long-running", LongRunning, 4),
        new("task-cancelled", Cancelled, 1),
    ];

    static int Stay(int value)
    {
        Probe.Here(Tag);
        return value;
    }

    /// <summary>Runs `action` on so many threads at once, made for this call, and waits for their ends.</summary>
    public static int Together(int count, Action<int> action)
    {
        var threads = new Thread[count];
        for (int i = 0; i < count; i++)
        {
            int index = i;
            threads[i] = new Thread(() => action(index));
            threads[i].Start();
        }
        foreach (Thread thread in threads)
            thread.Join();
        return count;
    }

    static int InThreads(int depth)
    {
        int below = 0;
        if (depth > 0)
            Together(1, _ => below = InThreads(depth - 1) + 1);
        Probe.Here(Tag);
        return below;
    }

    static int SmallStack()
    {
        int result = 0;
        var thread = new Thread(argument => result = Stay((int)argument!), 256 << 10);
        thread.Start(1);
        thread.Join();
        return result;
    }

    static int ThreadThrows()
    {
        int caught = 0;
        Together(3, index =>
        {
            try
            {
                throw new TimeoutException();
            }
            catch (TimeoutException) when (Stay(index) == index)
            {
                Probe.Here(Tag);
                Interlocked.Increment(ref caught);
            }
        });
        return caught;
    }

    static int Interrupted()
    {
        int result = 0;
        using var inside = new ManualResetEventSlim();
        var thread = new Thread(() =>
        {
            try
            {
                inside.Set();
                Thread.Sleep(Timeout.Infinite);
            }
            catch (ThreadInterruptedException)
            {
                result = Stay(2);
            }
        });
        thread.Start();
        inside.Wait();
        thread.Interrupt();
        thread.Join();
        return result;
    }

    static int Queued(int count)
    {
        int done = 0;
        using var all = new CountdownEvent(count);
        for (int i = 0; i < count; i++)
            ThreadPool.QueueUserWorkItem(_ =>
            {
                Interlocked.Add(ref done, Stay(1));
                all.Signal();
            });
        all.Wait();
        return done;
    }

    sealed class Item(CountdownEvent all) : IThreadPoolWorkItem
    {
        public void Execute()
        {
            Probe.Here(Tag);
            all.Signal();
        }
    }

    static int LocalQueue()
    {
        using var all = new CountdownEvent(6);
        ThreadPool.UnsafeQueueUserWorkItem(_ =>
        {
            for (int i = 0; i < 6; i++)
                ThreadPool.UnsafeQueueUserWorkItem(new Item(all), preferLocal: true);
        }, null);
        all.Wait();
        return all.InitialCount;
    }

    static int RegisteredWait()
    {
        using var event_ = new AutoResetEvent(false);
        using var done = new ManualResetEvent(false);
        int result = 0;
        RegisteredWaitHandle wait = ThreadPool.RegisterWaitForSingleObject(event_, (_, timedOut) =>
        {
            result = Stay(timedOut ? 0 : 1);
            done.Set();
        }, null, Timeout.Infinite, executeOnlyOnce: true);
        event_.Set();
        done.WaitOne();
        wait.Unregister(null);
        return result;
    }

    static int ParallelFor()
    {
        int sum = 0;
        Parallel.For(0, 32, i => Interlocked.Add(ref sum, Stay(i)));
        return sum;
    }

    static int ParallelForEach()
    {
        int sum = 0;
        Parallel.ForEach(new[] { 1, 2, 3, 4 }, () => 0, (value, _, local) => local + Stay(value),
                         local => Interlocked.Add(ref sum, local));
        return sum;
    }

    static async Task<int> ParallelAsync()
    {
        int sum = 0;
        await Parallel.ForEachAsync(Enumerable.Range(1, 5), async (value, token) =>
        {
            await Task.Yield();
            Interlocked.Add(ref sum, Stay(value));
        });
        return sum;
    }

    static int ParallelInvoke()
    {
        int sum = 0;
        Parallel.Invoke(() => Interlocked.Add(ref sum, Stay(1)), () => Interlocked.Add(ref sum, Stay(2)));
        return sum;
    }

    static int ParallelThrows()
    {
        try
        {
            Parallel.For(0, 8, i => { if (Stay(i) == 3) throw new TimeoutException(); });
        }
        catch (AggregateException e) when (Stay(1) == 1)
        {
            return Stay(e.InnerExceptions.Count);
        }
        return 0;
    }

    static int ParallelLinq() =>
        Enumerable.Range(0, 40).AsParallel().Where(x => Stay(x) % 2 == 0).Select(x => x + 1).Sum();

    static int TaskWaitAll()
    {
        Task<int>[] tasks = [.. Enumerable.Range(1, 4).Select(i => Task.Run(() => Stay(i)))];
        Task.WaitAll(tasks);
        return tasks.Sum(task => task.Result);
    }

    static int TaskSynchronously()
    {
        var task = new Task<int>(() => Stay(4));
        task.RunSynchronously();
        return task.Result;
    }

    static Task<int> Then(Task<int> task) => task.ContinueWith(before => Stay(before.Result + 1));

    static int TaskChildren()
    {
        int sum = 0;
        Task.Factory.StartNew(() =>
        {
            for (int i = 0; i < 4; i++)
                Task.Factory.StartNew(() => Interlocked.Add(ref sum, Stay(1)), TaskCreationOptions.AttachedToParent);
        }).Wait();
        return sum;
    }

    static int LongRunning() => Task.Factory.StartNew(() => Stay(4), TaskCreationOptions.LongRunning).Result;

    static int Cancelled()
    {
        using var source = new CancellationTokenSource();
        Task task = Task.Run(() =>
        {
            source.Cancel();
            Probe.Here(Tag);
            source.Token.ThrowIfCancellationRequested();
        }, source.Token);
        try
        {
            task.Wait();
        }
        catch (AggregateException)
        {
            Probe.Here(Tag);
        }
        return task.IsCanceled ? 1 : 0;
    }
}
