// mono: generic types and methods, shared and not, parameters of all kinds, another domain. Each thread waits at its end.
using System;
using System.Collections.Generic;
using System.Threading;

class Box<T>
{
    public struct Key { public int number; }
    public int Put(T one, ref int count, Key key) { if (count++ < 3) return Put(one, ref count, key) + 1; Boxes.WaitThere(); return 0; }
    public U Turn<U>(Dictionary<T, List<U>> map, U[] all, int[,] grid) { Boxes.WaitThere(); return default(U); }
}

public class Remote : MarshalByRefObject { public void Stay(string where) { Boxes.WaitThere(); } }

unsafe static class Boxes
{
    static readonly CountdownEvent there = new CountdownEvent(5);

    public static void WaitThere() { there.Signal(); Thread.Sleep(600000); }
    static void All(bool a, char b, sbyte c, byte d, short e, ushort f, int g, uint h, long i, ulong j, float k, double l, string m,
                    object n, IntPtr o, UIntPtr p, int* q, DateTime r, int? s, Box<object>.Key t) { WaitThere(); }
    static void Start(ThreadStart body) { new Thread(body) { IsBackground = true }.Start(); }
    static void Main()
    {
        Start(() => { int n = 0; new Box<string>().Put("", ref n, default(Box<string>.Key)); });
        Start(() => { int n = 0; new Box<long>().Put(1, ref n, default(Box<long>.Key)); });
        Start(() => new Box<int>().Turn<Guid>(null, null, null));
        Start(() => new Box<int>().Turn<string>(null, null, null));
        Start(() => All(true, 'a', 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "", null, IntPtr.Zero, UIntPtr.Zero, null, DateTime.Now, 1, default(Box<object>.Key)));
        var domain = AppDomain.CreateDomain("other");
        var remote = (Remote)domain.CreateInstanceAndUnwrap(typeof(Remote).Assembly.FullName, typeof(Remote).FullName);
        Start(() => remote.Stay("there"));
        there.Wait();
        Thread.Sleep(500);
        Console.WriteLine("ready");
        Thread.Sleep(600000);
    }
}
