// Emitted types that can be collected, and what only IL can say: explicit tail calls, jumps, fault blocks.
// The probes are those of Entry.

using System.Reflection;
using System.Reflection.Emit;

namespace Workload;

static class Tails
{
    public static readonly Scenario[] All =
    [
        new("tail-fast", () => TailChain(50, false)(49), 5),
        new("tail-dispatcher", () => TailMany()(1), 55),
        new("tail-mutual", () => TailChain(30, true)(29), 5),
        new("tail-emitted", () => TailType(), 5),
        new("emitted-type", EmittedType, 9),
        new("emitted-cctor", EmittedConstructor, 6),
        new("emitted-virtual", EmittedVirtual, 8),
        new("emitted-jump", EmittedJump, 6),
        new("emitted-fault", () => EmittedFault()(3), 3),
        new("emitted-filter", () => EmittedFilter()(4), 5),
    ];

    static readonly MethodInfo many = typeof(Entry).GetMethod(nameof(Entry.Many))!;
    static readonly MethodInfo hop = typeof(Entry).GetMethod(nameof(Entry.Hop))!;
    static readonly MethodInfo invoke = typeof(Func<int, int>).GetMethod("Invoke")!;

    static void EmitTail(ILGenerator il, MethodInfo target)
    {
        il.Emit(OpCodes.Tailcall);
        il.Emit(target.IsVirtual ? OpCodes.Callvirt : OpCodes.Call, target);
        il.Emit(OpCodes.Ret);
    }

    // depth methods, each of which is gone when the next runs. With `deeper` every second one asks for more stack for
    // arguments than its caller has, so that the runtime's dispatcher has to make the call.
    static Func<int, int> TailChain(int depth, bool deeper)
    {
        Func<int, int> next = Entry.Stay;
        for (int i = 0; i < depth; i++)
        {
            DynamicMethod method = Emitted.New($"Tail{i}", typeof(Func<int, int>), typeof(int));
            ILGenerator il = method.GetILGenerator();
            il.Emit(OpCodes.Ldarg_1);
            il.Emit(OpCodes.Ldarg_0);
            EmitTail(il, deeper && i % 2 == 0 ? Wide() : hop);
            next = method.CreateDelegate<Func<int, int>>(next);
        }
        return next;
    }

    // (depth, next): pushes many arguments, and goes on by tail calls to Narrow and to Hop.
    static DynamicMethod Wide()
    {
        Type[] ten = [typeof(int), typeof(Func<int, int>), .. Enumerable.Repeat(typeof(long), 8)];
        DynamicMethod narrow = Emitted.New("Narrow", ten);
        ILGenerator il = narrow.GetILGenerator();
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Ldarg_1);
        EmitTail(il, hop);

        DynamicMethod wide = Emitted.New("Wide", typeof(int), typeof(Func<int, int>));
        il = wide.GetILGenerator();
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Ldarg_1);
        for (long i = 0; i < 8; i++)
            il.Emit(OpCodes.Ldc_I8, i);
        EmitTail(il, narrow);
        return wide;
    }

    static Func<int, int> TailMany()
    {
        DynamicMethod method = Emitted.New("TailMany", typeof(int));
        ILGenerator il = method.GetILGenerator();
        il.Emit(OpCodes.Ldarg_0);
        for (int i = 2; i <= 10; i++)
            il.Emit(OpCodes.Ldc_I4, i);
        EmitTail(il, many);
        return method.CreateDelegate<Func<int, int>>();
    }

    static TypeBuilder NewType(string name)
    {
        AssemblyBuilder assembly = AssemblyBuilder.DefineDynamicAssembly(new("Emitted"), AssemblyBuilderAccess.RunAndCollect);
        return assembly.DefineDynamicModule("Emitted").DefineType(name, TypeAttributes.Public | TypeAttributes.Class);
    }

    const MethodAttributes PublicStatic = MethodAttributes.Public | MethodAttributes.Static;

    // Two methods that call each other by tail calls, one of them with many arguments.
    static int TailType()
    {
        TypeBuilder type = NewType("Tails");
        Type[] eleven = [typeof(int), .. Enumerable.Repeat(typeof(long), 10)];
        MethodBuilder narrow = type.DefineMethod("Narrow", PublicStatic, typeof(int), [typeof(int)]);
        MethodBuilder wide = type.DefineMethod("Wide", PublicStatic, typeof(int), eleven);
        EmitTurn(narrow.GetILGenerator(), wide, 10);
        EmitTurn(wide.GetILGenerator(), narrow, 0);
        return type.CreateType().GetMethod("Narrow")!.CreateDelegate<Func<int, int>>()(20) + 5;
    }

    // if (argument == 0) return Stay(0); Stay(argument); tail other(argument - 1, 0, 0, ...)
    static void EmitTurn(ILGenerator il, MethodInfo other, int zeros)
    {
        Label more = il.DefineLabel();
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Brtrue, more);
        il.Emit(OpCodes.Ldc_I4_0);
        il.Emit(OpCodes.Call, Emitted.Stay);
        il.Emit(OpCodes.Ret);
        il.MarkLabel(more);
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Call, Emitted.Stay);
        il.Emit(OpCodes.Ldc_I4_1);
        il.Emit(OpCodes.Sub);
        for (int i = 0; i < zeros; i++)
            il.Emit(OpCodes.Ldc_I8, 0L);
        EmitTail(il, other);
    }

    static int EmittedType()
    {
        TypeBuilder type = NewType("Plain");
        Type[] parameters = [typeof(int), typeof(Func<int, int>)];
        ILGenerator il = type.DefineMethod("Run", PublicStatic, typeof(int), parameters).GetILGenerator();
        il.Emit(OpCodes.Ldarg_1);
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Callvirt, invoke);
        il.Emit(OpCodes.Call, Emitted.Stay);
        il.Emit(OpCodes.Ret);
        return type.CreateType().GetMethod("Run")!.CreateDelegate<Func<int, Func<int, int>, int>>()(8, x => Entry.Stay(x + 1));
    }

    static int EmittedConstructor()
    {
        TypeBuilder type = NewType("Later");
        FieldBuilder field = type.DefineField("value", typeof(int), FieldAttributes.Public | FieldAttributes.Static);
        ILGenerator il = type.DefineTypeInitializer().GetILGenerator();
        il.Emit(OpCodes.Ldc_I4_6);
        il.Emit(OpCodes.Call, Emitted.Stay);
        il.Emit(OpCodes.Stsfld, field);
        il.Emit(OpCodes.Ret);
        return (int)type.CreateType().GetField("value")!.GetValue(null)!;
    }

    static int EmittedVirtual()
    {
        TypeBuilder type = NewType("Hashing");
        MethodBuilder method = type.DefineMethod("GetHashCode", MethodAttributes.Public | MethodAttributes.Virtual,
                                                 typeof(int), []);
        ILGenerator il = method.GetILGenerator();
        il.Emit(OpCodes.Ldc_I4_8);
        il.Emit(OpCodes.Call, Emitted.Stay);
        il.Emit(OpCodes.Ret);
        object made = Activator.CreateInstance(type.CreateType())!;
        return new Dictionary<object, int> { [made] = made.GetHashCode() }[made];
    }

    // The argument area of the one becomes that of the other; the frame of the one is gone.
    static int EmittedJump()
    {
        TypeBuilder type = NewType("Jumping");
        ILGenerator il = type.DefineMethod("Run", PublicStatic, typeof(int), [typeof(int)]).GetILGenerator();
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Call, Emitted.Stay);
        il.Emit(OpCodes.Pop);
        il.Emit(OpCodes.Jmp, Emitted.Stay);
        return type.CreateType().GetMethod("Run")!.CreateDelegate<Func<int, int>>()(6);
    }

    // try { try { throw } fault { Stay(argument) } } catch { result = Stay(argument) } return result
    static Func<int, int> EmittedFault()
    {
        TypeBuilder type = NewType("Faulting");
        ILGenerator il = type.DefineMethod("Run", PublicStatic, typeof(int), [typeof(int)]).GetILGenerator();
        LocalBuilder result = il.DeclareLocal(typeof(int));
        il.BeginExceptionBlock();
        il.BeginExceptionBlock();
        il.Emit(OpCodes.Newobj, typeof(TimeoutException).GetConstructor([])!);
        il.Emit(OpCodes.Throw);
        il.BeginFaultBlock();
        EmitProbe(il);
        il.Emit(OpCodes.Pop);
        il.EndExceptionBlock();
        il.BeginCatchBlock(typeof(TimeoutException));
        il.Emit(OpCodes.Pop);
        EmitProbe(il);
        il.Emit(OpCodes.Stloc, result);
        il.EndExceptionBlock();
        il.Emit(OpCodes.Ldloc, result);
        il.Emit(OpCodes.Ret);
        return type.CreateType().GetMethod("Run")!.CreateDelegate<Func<int, int>>();
    }

    // try { throw } filter (Stay(argument) > 0) { result = Stay(argument) + 1 } return result
    static Func<int, int> EmittedFilter()
    {
        TypeBuilder type = NewType("Filtering");
        ILGenerator il = type.DefineMethod("Run", PublicStatic, typeof(int), [typeof(int)]).GetILGenerator();
        LocalBuilder result = il.DeclareLocal(typeof(int));
        il.BeginExceptionBlock();
        il.Emit(OpCodes.Newobj, typeof(TimeoutException).GetConstructor([])!);
        il.Emit(OpCodes.Throw);
        il.BeginExceptFilterBlock();
        il.Emit(OpCodes.Pop);
        EmitProbe(il);
        il.Emit(OpCodes.Ldc_I4_0);
        il.Emit(OpCodes.Cgt);
        il.BeginCatchBlock(null!);
        il.Emit(OpCodes.Pop);
        EmitProbe(il);
        il.Emit(OpCodes.Ldc_I4_1);
        il.Emit(OpCodes.Add);
        il.Emit(OpCodes.Stloc, result);
        il.EndExceptionBlock();
        il.Emit(OpCodes.Ldloc, result);
        il.Emit(OpCodes.Ret);
        return type.CreateType().GetMethod("Run")!.CreateDelegate<Func<int, int>>();
    }

    static void EmitProbe(ILGenerator il)
    {
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Call, Emitted.Stay);
    }
}
