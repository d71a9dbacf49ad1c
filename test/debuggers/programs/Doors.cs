// mono: methods, a generic type, a lambda called by the class library, recursion; its own stack of each thread.
using System;
using System.Threading;

class Doors<T>
{
    public virtual int Open(int depth) { if (depth == 0) Program.WaitThere(); return depth == 0 ? 0 : Open(depth - 1) + 1; }
}

static class Program
{
    static readonly CountdownEvent there = new CountdownEvent(2);

    public static void WaitThere()
    {
        lock (there)
            Console.Error.WriteLine("thread " + Thread.CurrentThread.Name + "\n" + Environment.StackTrace);
        there.Signal();
        Thread.Sleep(600000);
    }
    static void Sort() { Array.Sort(new[] { 3, 1, 2 }, (a, b) => { WaitThere(); return a - b; }); }

    static void Main()
    {
        new Thread(() => new Doors<string>().Open(5)) { Name = "open", IsBackground = true }.Start();
        new Thread(Sort) { Name = "sort", IsBackground = true }.Start();
        there.Wait();
        Thread.Sleep(200);
        Console.WriteLine("ready");
        Console.In.Read();
    }
}
