// What runs while the profiler samples for a while: code that is compiled again and again, exceptions, collections, and
// threads that come and go.
namespace Target;

using System.Runtime.CompilerServices;

static class Work
{
    static readonly List<Thread> Threads = new();
    static volatile bool stop;

    public static void Start()
    {
        foreach (ThreadStart work in new ThreadStart[] { Compute, Throwing, Allocating, ComingAndGoing })
        {
            var thread = new Thread(work);
            Threads.Add(thread);
            thread.Start();
        }
    }

    public static void Stop()
    {
        stop = true;
        foreach (var thread in Threads)
            thread.Join();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Fibonacci(int n) => n < 2 ? n : Fibonacci(n - 1) + Fibonacci(n - 2);

    static void Compute()
    {
        while (!stop)
            GC.KeepAlive(Enumerable.Range(0, 22).Select(Fibonacci).Sum());
    }

    static void Throwing()
    {
        while (!stop)
        {
            try
            {
                int.Parse("no number");
            }
            catch (FormatException)
            {
            }
        }
    }

    static void Allocating()
    {
        while (!stop)
            GC.KeepAlive(string.Concat(Enumerable.Repeat("text", 50)));
    }

    static void ComingAndGoing()
    {
        while (!stop)
        {
            var thread = new Thread(() => Fibonacci(12));
            thread.Start();
            thread.Join();
        }
    }
}
