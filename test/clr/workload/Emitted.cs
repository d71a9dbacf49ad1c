// Code that did not exist before: dynamic methods and compiled expression trees.

using System.Linq.Expressions;
using System.Reflection;
using System.Reflection.Emit;

namespace Workload;

/// <summary>What emitted code calls; public, for it is in an assembly of its own.</summary>
public static class Entry
{
    public static int Stay(int value)
    {
        Probe.Here(Emitted.Tag);
        return value;
    }

    /// <summary>More arguments than registers: who calls this needs room on the stack for them.</summary>
    public static int Many(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j)
    {
        Probe.Here(Emitted.Tag);
        return a + b + c + d + e + f + g + h + i + j;
    }

    /// <summary>As long as it is asked to be; calls `next` with one less.</summary>
    public static int Hop(int depth, Func<int, int> next)
    {
        if (depth % 10 == 0)
            Probe.Here(Emitted.Tag);
        return depth == 0 ? 5 : next(depth - 1);
    }
}

static class Emitted
{
    public const int Tag = 7000;

    public static readonly Scenario[] All =
    [
        new("dynamic-method", () => Dynamic(1)(7), 7),
        new("dynamic-method-nested", () => Dynamic(5)(7), 7),
        new("dynamic-method-catch", () => Catching()(3), 4),
        new("dynamic-method-closed", () => Closed("abc")(4), 7),
        new("expression", () => Compiled()(4, 5), 10),
        new("expression-try", () => CompiledTry()(4), 6),
        new("expression-loop", () => CompiledLoop()(6), 6),
        new("expression-interpreted", () => Interpreted()(4), 5),
    ];

    public static readonly MethodInfo Stay = typeof(Entry).GetMethod(nameof(Entry.Stay))!;

    /// <summary>To be filled; answers an int.</summary>
    public static DynamicMethod New(string name, params Type[] parameters) =>
        new(name, typeof(int), parameters, typeof(Emitted).Module, true);

    // A chain of so many dynamic methods, the innermost calls the probe.
    static Func<int, int> Dynamic(int levels)
    {
        MethodInfo next = Stay;
        for (int level = 0; level < levels; level++)
        {
            DynamicMethod method = New($"Level{level}", typeof(int));
            ILGenerator il = method.GetILGenerator();
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Call, next);
            il.Emit(OpCodes.Ret);
            next = method;
        }
        return next.CreateDelegate<Func<int, int>>();
    }

    static Func<int, int> Catching()
    {
        DynamicMethod method = New("Catching", typeof(int));
        ILGenerator il = method.GetILGenerator();
        LocalBuilder result = il.DeclareLocal(typeof(int));
        il.BeginExceptionBlock();
        il.Emit(OpCodes.Newobj, typeof(TimeoutException).GetConstructor([])!);
        il.Emit(OpCodes.Throw);
        il.BeginCatchBlock(typeof(TimeoutException));
        il.Emit(OpCodes.Pop);
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Call, Stay);
        il.Emit(OpCodes.Stloc, result);
        il.BeginFinallyBlock();
        il.Emit(OpCodes.Ldloc, result);
        il.Emit(OpCodes.Call, Stay);
        il.Emit(OpCodes.Ldc_I4_1);
        il.Emit(OpCodes.Add);
        il.Emit(OpCodes.Stloc, result);
        il.EndExceptionBlock();
        il.Emit(OpCodes.Ldloc, result);
        il.Emit(OpCodes.Ret);
        return method.CreateDelegate<Func<int, int>>();
    }

    static Func<int, int> Closed(string target)
    {
        DynamicMethod method = New("Closed", typeof(string), typeof(int));
        ILGenerator il = method.GetILGenerator();
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Callvirt, typeof(string).GetProperty(nameof(string.Length))!.GetMethod!);
        il.Emit(OpCodes.Ldarg_1);
        il.Emit(OpCodes.Call, Stay);
        il.Emit(OpCodes.Add);
        il.Emit(OpCodes.Ret);
        return method.CreateDelegate<Func<int, int>>(target);
    }

    static Func<int, int, int> Compiled()
    {
        Expression<Func<int, int, int>> expression =
            (a, b) => Entry.Stay(a) + Entry.Stay(b) + new[] { 3, 1 }.Select(Entry.Stay).Min();
        return expression.Compile();
    }

    static Func<int, int> CompiledTry()
    {
        ParameterExpression value = Expression.Parameter(typeof(int));
        MethodCallExpression probe = Expression.Call(Stay, value);
        TryExpression body = Expression.TryCatchFinally(
            Expression.Block(Expression.Throw(Expression.New(typeof(TimeoutException))), value),
            probe,
            Expression.Catch(typeof(TimeoutException), Expression.Add(probe, Expression.Constant(2)),
                             Expression.Equal(probe, value)));
        return Expression.Lambda<Func<int, int>>(body, value).Compile();
    }

    static Func<int, int> CompiledLoop()
    {
        ParameterExpression limit = Expression.Parameter(typeof(int));
        ParameterExpression count = Expression.Variable(typeof(int));
        LabelTarget end = Expression.Label(typeof(int));
        Expression loop = Expression.Loop(
            Expression.IfThenElse(Expression.LessThan(count, limit),
                                  Expression.Call(Stay, Expression.PostIncrementAssign(count)),
                                  Expression.Break(end, count)), end);
        return Expression.Lambda<Func<int, int>>(Expression.Block([count], loop), limit).Compile();
    }

    static Func<int, int> Interpreted()
    {
        Expression<Func<int, int>> expression = a => Entry.Stay(a) + 1;
        return expression.Compile(preferInterpretation: true);
    }
}
