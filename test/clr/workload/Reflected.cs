// Calls that somebody else makes for us: reflection, activators, dynamic invocation of delegates, proxies, attributes.

using System.Reflection;
using System.Runtime.CompilerServices;

namespace Workload;

static class Reflected
{
    public const int Tag = 8000;

    public static readonly Scenario[] All =
    [
        new("reflection-method", () => (int)Method(nameof(Take)).Invoke(null, [1, "two"])!, 4),
        new("reflection-deep", () => Again(8), 8),
        new("reflection-instance", () => (int)typeof(Target).GetMethod("Add")!.Invoke(new Target(4), [5])!, 9),
        new("reflection-constructor", () => ((Target)typeof(Target).GetConstructor([typeof(int)])!.Invoke([3])).Value, 3),
        new("reflection-property", Property, 12),
        new("reflection-generic", () => (int)Method(nameof(Count)).MakeGenericMethod(typeof(string)).Invoke(null, [4])!, 4),
        new("reflection-throws", () => Unwrapped(BindingFlags.Default), 1),
        new("reflection-throws-plain", () => Unwrapped(BindingFlags.DoNotWrapExceptions), 2),
        new("reflection-ref", RefArguments, 8),
        new("reflection-invoker", () => (int)MethodInvoker.Create(Method(nameof(Take))).Invoke(null, 2, "xyz")!, 5),
        new("reflection-struct", () => (int)Method(nameof(TakeStruct)).Invoke(null, [(1, 2L, "abc")])!, 6),
        new("activator", () => ((Target)Activator.CreateInstance(typeof(Target), 6)!).Value, 6),
        new("activator-generic", () => Activator.CreateInstance<Default>().Value + Make<Default>().Value, 10),
        new("activator-throws", ActivatorThrows, 1),
        new("delegate-dynamic-invoke", () => (int)((Delegate)Take).DynamicInvoke(3, "abc")!, 6),
        new("delegate-by-reflection", () => (int)Func(5).Method.Invoke(Func(5).Target, [6])!, 11),
        new("proxy", () => DispatchProxy.Create<IProxied, Proxy>().Ask(5, "abc"), 8),
        new("attribute", () => typeof(Target).GetCustomAttribute<MarkAttribute>()!.Value, 4),
        new("run-class-constructor", ClassConstructor, 1),
        new("enumerate-members", () => typeof(Target).GetMembers().Count(m => Probe.Pass(Tag, m.Name == "Add")), 1),
    ];

    static MethodInfo Method(string name) => typeof(Reflected).GetMethod(name, BindingFlags.Static | BindingFlags.NonPublic)!;

    static int Take(int number, string text)
    {
        Probe.Here(Tag);
        return number + text.Length;
    }

    // The runtime makes a stub for a method that is invoked again and again: all kinds of depth see both ways.
    static int Again(int depth)
    {
        Probe.Here(Tag);
        return depth == 0 ? 0 : (int)Method(nameof(Again)).Invoke(null, [depth - 1])! + 1;
    }

    [AttributeUsage(AttributeTargets.Class)]
    sealed class MarkAttribute : Attribute
    {
        public MarkAttribute(int value)
        {
            Probe.Here(Tag);
            Value = value;
        }

        public int Value { get; }
    }

    [Mark(4)]
    sealed class Target
    {
        public Target(int value)
        {
            Probe.Here(Tag);
            Value = value;
        }

        public int Value { get; }

        public int Doubled
        {
            get => Probe.Pass(Tag, Value * 2);
            set => Probe.Here(Tag);
        }

        public int Add(int more)
        {
            Probe.Here(Tag);
            return Value + more;
        }
    }

    sealed class Default
    {
        public int Value { get; } = Probe.Pass(Tag, 5);
    }

    sealed class Failing
    {
        public Failing() => throw new TimeoutException();
    }

    static T Make<T>() where T : new() => new();

    static int Property()
    {
        PropertyInfo property = typeof(Target).GetProperty(nameof(Target.Doubled))!;
        var target = new Target(6);
        property.SetValue(target, 1);
        return (int)property.GetValue(target)!;
    }

    static int Count<T>(int depth)
    {
        Probe.Here(Tag);
        return depth == 0 ? 0 : (int)Method(nameof(Count)).MakeGenericMethod(typeof(T)).Invoke(null, [depth - 1])! + 1;
    }

    static int Throw() => throw new TimeoutException();

    static int Unwrapped(BindingFlags flags)
    {
        try
        {
            return (int)Method(nameof(Throw)).Invoke(null, flags, null, null, null)!;
        }
        catch (TargetInvocationException e) when (Probe.Pass(Tag, e.InnerException is TimeoutException))
        {
            Probe.Here(Tag);
            return 1;
        }
        catch (TimeoutException) when (Probe.Pass(Tag, true))
        {
            Probe.Here(Tag);
            return 2;
        }
    }

    static void Swap(ref int a, ref int b)
    {
        Probe.Here(Tag);
        (a, b) = (b, a);
    }

    static int RefArguments()
    {
        object?[] arguments = [3, 5];
        Method(nameof(Swap)).Invoke(null, arguments);
        return (int)arguments[0]! + (int)arguments[1]!;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int TakeStruct((int First, long Second, string Third) value)
    {
        Probe.Here(Tag);
        return value.First + (int)value.Second + value.Third.Length;
    }

    static int ActivatorThrows()
    {
        try
        {
            return Make<Failing>() is null ? 0 : -1;
        }
        catch (Exception e) when (Probe.Pass(Tag, e is TimeoutException or TargetInvocationException))
        {
            return Probe.Pass(Tag, 1);
        }
    }

    static Func<int, int> Func(int more) => value => Probe.Pass(Tag, value + more);

    public interface IProxied { int Ask(int number, string text); }

    public class Proxy : DispatchProxy
    {
        protected override object? Invoke(MethodInfo? method, object?[]? arguments) =>
            Probe.Pass(Tag, (int)arguments![0]! + ((string)arguments[1]!).Length);
    }

    // Runs the constructor the first time only; the scenario "cctor" has fresh ones.
    static class Once
    {
        public static readonly int Value = Probe.Pass(Tag, 1);
        static Once() { }
    }

    static int ClassConstructor()
    {
        RuntimeHelpers.RunClassConstructor(typeof(Once).TypeHandle);
        return Once.Value;
    }
}
