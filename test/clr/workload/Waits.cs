// Threads that wait for each other: monitors, events, semaphores, locks of all kinds.

namespace Workload;

static class Waits
{
    public const int Tag = 13000;

    public static readonly Scenario[] All =
    [
        new("monitor-contended", Contended, 40),
        new("monitor-recursive", () => Locked(new object(), 8), 8),
        new("monitor-pulse", Pulsed, 6),
        new("monitor-timeout", TimedOut, 2),
        new("lock-object", LockObject, 30),
        new("sleep", Slept, 3),
        new("join", () => Pool.Together(1, _ => { Thread.Sleep(1); Probe.Here(Tag); }), 1),
        new("semaphore-slim", () => Semaphores().GetAwaiter().GetResult(), 8),
        new("semaphore-contended", SemaphoreContended, 6),
        new("events", Events, 4),
        new("mutex", MutexContended, 4),
        new("reader-writer", ReaderWriter, 5),
        new("barrier", Barriers, 3),
        new("spin", Spins, 300),
        new("interlocked", Exchanged, 4000),
    ];

    static int Stay(int value)
    {
        Probe.Here(Tag);
        return value;
    }

    static int Contended()
    {
        object gate = new();
        int count = 0;
        Pool.Together(4, _ =>
        {
            for (int i = 0; i < 10; i++)
                lock (gate)
                    count += i % 5 == 0 ? Stay(1) : Yielded();
        });
        return count;
    }

    // The others find the lock taken, and wait for it.
    static int Yielded()
    {
        Thread.Yield();
        return 1;
    }

    static int Locked(object gate, int depth)
    {
        lock (gate)
            return depth == 0 ? Stay(0) : Locked(gate, depth - 1) + 1;
    }

    static int Pulsed()
    {
        object gate = new();
        int turn = 0;
        Pool.Together(2, index =>
        {
            for (int i = 0; i < 3; i++)
                lock (gate)
                {
                    while (turn % 2 != index)
                        Monitor.Wait(gate);
                    turn++;
                    Probe.Here(Tag);
                    Monitor.PulseAll(gate);
                }
        });
        return turn;
    }

    static int TimedOut()
    {
        object gate = new();
        int result = 0;
        lock (gate)
        {
            if (!Monitor.Wait(gate, 1))
                result += Stay(1);
            Pool.Together(1, _ => result += Monitor.TryEnter(gate, 1) ? 10 : Stay(1));
        }
        return result;
    }

    static int LockObject()
    {
#if NET9_0_OR_GREATER
        var gate = new Lock();
#else
        var gate = new object();
#endif
        int count = 0;
        Pool.Together(3, _ =>
        {
            for (int i = 0; i < 10; i++)
                lock (gate)
                    count += i % 5 == 0 ? Stay(1) : Yielded();
        });
        return count;
    }

    static int Slept()
    {
        for (int i = 0; i < 3; i++)
        {
            Thread.Sleep(i);
            Probe.Here(Tag);
        }
        return 3;
    }

    static async Task<int> Semaphores()
    {
        using var semaphore = new SemaphoreSlim(2);
        int done = 0;
        await Task.WhenAll(Enumerable.Range(0, 8).Select(async _ =>
        {
            await semaphore.WaitAsync();
            Interlocked.Add(ref done, Stay(1));
            await Task.Yield();
            semaphore.Release();
        }));
        return done;
    }

    static int SemaphoreContended()
    {
        using var semaphore = new SemaphoreSlim(1);
        int done = 0;
        Pool.Together(3, _ =>
        {
            for (int i = 0; i < 2; i++)
            {
                semaphore.Wait();
                done += Stay(1);
                Thread.Sleep(0);
                semaphore.Release();
            }
        });
        return done;
    }

    static int Events()
    {
        using var ping = new AutoResetEvent(false);
        using var pong = new ManualResetEventSlim();
        int result = 0;
        Pool.Together(2, index =>
        {
            if (index == 0)
            {
                ping.WaitOne();
                result += Stay(1);
                pong.Set();
            }
            else
            {
                Thread.Sleep(1);
                ping.Set();
                pong.Wait();
                result += Stay(3);
            }
        });
        return result;
    }

    static int MutexContended()
    {
        using var mutex = new Mutex();
        int done = 0;
        Pool.Together(4, _ =>
        {
            mutex.WaitOne();
            done += Stay(1);
            mutex.ReleaseMutex();
        });
        return done;
    }

    static int ReaderWriter()
    {
        using var gate = new ReaderWriterLockSlim();
        int written = 0;
        Pool.Together(5, index =>
        {
            if (index % 2 == 0)
                gate.EnterWriteLock();
            else
                gate.EnterReadLock();
            Interlocked.Add(ref written, Stay(1));
            if (index % 2 == 0)
                gate.ExitWriteLock();
            else
                gate.ExitReadLock();
        });
        return written;
    }

    static int Barriers()
    {
        int phases = 0;
        using var barrier = new Barrier(2, _ => phases += Stay(1));
        Pool.Together(2, _ =>
        {
            for (int i = 0; i < 3; i++)
            {
                Probe.Here(Tag);
                barrier.SignalAndWait();
            }
        });
        return phases;
    }

    static int Spins()
    {
        var gate = new SpinLock(false);
        int count = 0;
        Pool.Together(3, _ =>
        {
            for (int i = 0; i < 100; i++)
            {
                bool taken = false;
                gate.Enter(ref taken);
                count += i == 50 ? Stay(1) : 1;
                gate.Exit();
            }
        });
        return count;
    }

    static int Exchanged()
    {
        int count = 0;
        Pool.Together(4, _ =>
        {
            for (int i = 0; i < 1000; i++)
            {
                int seen = Volatile.Read(ref count);
                while (Interlocked.CompareExchange(ref count, seen + 1, seen) != seen)
                    seen = Volatile.Read(ref count);
            }
            Probe.Here(Tag);
        });
        return count;
    }
}
