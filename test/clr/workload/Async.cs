// Code that goes on later, elsewhere: async methods, value tasks, async iterators, and their exceptions.

using System.Runtime.CompilerServices;

namespace Workload;

static class Async
{
    public const int Tag = 6000;

    public static readonly Scenario[] All =
    [
        new("async-chain", () => Chain(12).GetAwaiter().GetResult(), 12),
        new("async-chain-done", () => Done(40).GetAwaiter().GetResult(), 40),
        new("async-value-task", () => Value(10).AsTask().GetAwaiter().GetResult(), 10),
        new("async-value-source", () => Pooled(6).AsTask().GetAwaiter().GetResult(), 6),
        new("async-configure-await", () => Configured(6).GetAwaiter().GetResult(), 6),
        new("async-stream", () => Drain(Stream(6)).GetAwaiter().GetResult(), 21),
        new("async-stream-nested", () => Drain(Nested(4)).GetAwaiter().GetResult(), 15),
        new("async-stream-cancelled", () => Cancelled().GetAwaiter().GetResult(), 3),
        new("async-dispose", () => Disposing().GetAwaiter().GetResult(), 2),
        new("async-when-all", () => Task.WhenAll(Enumerable.Range(1, 6).Select(Chain)).GetAwaiter().GetResult().Sum(), 21),
        new("async-when-any", () => Any().GetAwaiter().GetResult(), 3),
        new("async-exception", () => Failing(6).GetAwaiter().GetResult(), 1),
        new("async-filter", () => Filtered(5).GetAwaiter().GetResult(), 5),
        new("async-finally", () => Finally(4).GetAwaiter().GetResult(), 11),
        new("async-completion", Completion, 8),
        new("async-completion-inline", Inline, 3),
        new("async-local", () => Local().GetAwaiter().GetResult(), 7),
        new("async-generic", () => Generic("abc").GetAwaiter().GetResult() + Generic(4).GetAwaiter().GetResult(), 2),
        new("async-lambda", () => ((Func<Task<int>>)(async () => { await Task.Yield(); return Stay(5); }))().Result, 5),
        new("async-context", Context, 4),
    ];

    static int Stay(int value)
    {
        Probe.Here(Tag);
        return value;
    }

    static async Task<int> Chain(int depth)
    {
        if (depth == 0)
        {
            await Task.Yield();
            return Stay(0);
        }
        int below = await Chain(depth - 1);
        if (depth % 4 == 0)
            Probe.Here(Tag); // as a continuation of the level below
        return below + 1;
    }

    // Nothing is ever waited for: one plain stack of state machines.
    static async Task<int> Done(int depth) => depth == 0 ? Stay(0) : await Done(depth - 1) + 1;

    static async ValueTask<int> Value(int depth)
    {
        if (depth == 0)
            return Stay(0);
        if (depth % 5 == 0)
            await Task.Yield();
        return await Value(depth - 1) + 1;
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    static async ValueTask<int> Pooled(int depth)
    {
        await Task.Yield();
        Probe.Here(Tag);
        return depth == 0 ? 0 : await Pooled(depth - 1) + 1;
    }

    static async Task<int> Configured(int depth)
    {
        await Task.Delay(0).ConfigureAwait(false);
        await Task.CompletedTask.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
        Probe.Here(Tag);
        return depth == 0 ? 0 : await Configured(depth - 1).ConfigureAwait(false) + 1;
    }

    static async IAsyncEnumerable<int> Stream(int count, [EnumeratorCancellation] CancellationToken token = default)
    {
        for (int i = 1; i <= count; i++)
        {
            await Task.Yield();
            token.ThrowIfCancellationRequested();
            yield return Stay(i);
        }
    }

    static async IAsyncEnumerable<int> Nested(int depth)
    {
        if (depth > 0)
            await foreach (int value in Nested(depth - 1))
                yield return value;
        yield return Stay(depth + 1);
    }

    static async Task<int> Drain(IAsyncEnumerable<int> values)
    {
        int sum = 0;
        await foreach (int value in values)
            sum += value;
        return sum;
    }

    static async Task<int> Cancelled()
    {
        using var source = new CancellationTokenSource();
        int sum = 0;
        try
        {
            await foreach (int value in Stream(10).WithCancellation(source.Token))
            {
                sum += value;
                if (value == 2)
                    source.Cancel();
            }
        }
        catch (OperationCanceledException)
        {
            Probe.Here(Tag);
        }
        return sum;
    }

    sealed class Resource : IAsyncDisposable
    {
        public int Disposed { get; private set; }

        public async ValueTask DisposeAsync()
        {
            Probe.Here(Tag);
            await Task.Yield();
            Disposed = Stay(Disposed + 1);
        }
    }

    static async Task<int> Disposing()
    {
        var resource = new Resource();
        await using (resource)
        await using (resource)
            await Task.Yield();
        return resource.Disposed;
    }

    static async Task<int> Any()
    {
        Task<int>[] tasks = [Chain(3), Chain(3)];
        Task<int> first = await Task.WhenAny(tasks);
        await Task.WhenAll(tasks);
        return Stay(first.Result);
    }

    static async Task<int> Fail(int depth)
    {
        await Task.Yield();
        return depth == 0 ? throw new TimeoutException() : await Fail(depth - 1) + 1;
    }

    static async Task<int> Failing(int depth)
    {
        try
        {
            return await Fail(depth);
        }
        catch (TimeoutException)
        {
            Probe.Here(Tag);
            await Task.Yield();
            return Stay(1);
        }
    }

    static async Task<int> Filtered(int depth)
    {
        try
        {
            return await Fail(depth);
        }
        catch (TimeoutException) when (Stay(depth) == 5)
        {
            return Stay(depth);
        }
    }

    static async Task<int> Finally(int depth)
    {
        int value = 1;
        try
        {
            await FinallyThrown(depth);
        }
        catch (TimeoutException)
        {
            value += Stay(10);
        }
        return value;
    }

    static async Task<int> FinallyThrown(int depth)
    {
        try
        {
            return depth == 0 ? await Fail(2) : await FinallyThrown(depth - 1);
        }
        finally
        {
            Probe.Here(Tag);
            await Task.Yield();
        }
    }

    static int Completion()
    {
        var source = new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
        Task<int> waiting = After(source.Task);
        source.SetResult(Stay(7));
        return waiting.GetAwaiter().GetResult();
    }

    static async Task<int> After(Task<int> task)
    {
        int value = await task;
        return Stay(value + 1);
    }

    // The continuations run on top of SetResult, nested.
    static int Inline()
    {
        var source = new TaskCompletionSource<int>();
        Task<int> waiting = After(After(After(source.Task)));
        source.SetResult(0);
        return waiting.GetAwaiter().GetResult();
    }

    static readonly AsyncLocal<int> local = new(changed => { if (changed.ThreadContextChanged) Probe.Here(Tag); });

    static async Task<int> Local()
    {
        local.Value = 7;
        await Task.Yield();
        int seen = await Task.Run(() => Stay(local.Value));
        local.Value = 0;
        return seen;
    }

    static async Task<int> Generic<T>(T value)
    {
        await Task.Yield();
        Probe.Here(Tag);
        return value is null ? 0 : 1;
    }

    // Posts to itself, as a user interface's thread does.
    sealed class Queue : SynchronizationContext
    {
        readonly Queue<(SendOrPostCallback, object?)> posted = new();

        public override void Post(SendOrPostCallback callback, object? state)
        {
            lock (posted)
                posted.Enqueue((callback, state));
        }

        public void RunUntil(Task task)
        {
            while (!task.IsCompleted)
                if (Take() is var (callback, state))
                    callback(state);
                else
                    Thread.Yield();
        }

        (SendOrPostCallback, object?)? Take()
        {
            lock (posted)
                return posted.TryDequeue(out var next) ? next : null;
        }
    }

    static int Context()
    {
        SynchronizationContext? before = SynchronizationContext.Current;
        var queue = new Queue();
        SynchronizationContext.SetSynchronizationContext(queue);
        try
        {
            Task<int> task = Chain(4);
            queue.RunUntil(task);
            return task.GetAwaiter().GetResult();
        }
        finally
        {
            SynchronizationContext.SetSynchronizationContext(before);
        }
    }
}
