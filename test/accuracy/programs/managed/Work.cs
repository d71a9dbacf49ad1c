// Work for a runtime to compile: recursion, interfaces, closures, sorting, strings, exceptions. Ends after two minutes.
using System;
using System.Collections.Generic;

interface IShape { double Area(); }
sealed class Square : IShape { readonly double s; public Square(double s) { this.s = s; } public double Area() { return s * s; } }
sealed class Circle : IShape { readonly double r; public Circle(double r) { this.r = r; } public double Area() { return r * r * 3.14; } }

static class Work
{
    static int Fib(int n) { return n < 2 ? n : Fib(n - 1) + Fib(n - 2); }

    static int Check(int n)
    {
        if (n % 3 == 0) throw new InvalidOperationException("e" + n);
        return n;
    }

    static double Round(int n)
    {
        var list = new List<IShape>();
        for (int i = 0; i < n; i++) list.Add(i % 2 == 0 ? (IShape)new Square(i * 7919 % 1000) : new Circle(i));
        list.Sort((a, b) => a.Area().CompareTo(b.Area()));
        double sum = 0;
        foreach (var shape in list) sum += shape.Area();
        var words = new Dictionary<string, int>();
        for (int i = 0; i < 20; i++) words["w" + i % 7] = i;
        try { sum += Check(n); } catch (InvalidOperationException e) { sum += e.Message.Length; } finally { sum++; }
        return sum + words.Count + string.Join(",", words.Keys).Length + Fib(15);
    }

    static void Main()
    {
        double total = 0;
        var end = DateTime.UtcNow.AddSeconds(120);
        for (int i = 0; DateTime.UtcNow < end; i++) total += Round(100 + i % 50);
        Console.WriteLine(total);
    }
}
