// Code that was made at run time: dynamic methods, expression trees, regular expressions, assemblies of Reflection.Emit.

using System.Linq.Expressions;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Text.RegularExpressions;

namespace Names;

static class Emitted
{
    static readonly List<object> kept = [];

    public static void RunAll()
    {
        Bare.Method();
        for (int i = 0; i < 3; i++)
            Keep(Dynamic($"Level{i}", typeof(Emitted).Module));
        Keep(Dynamic("Anonymous", null));
        Signatures();
        Expression<Func<int, List<int>, int>> tree = (a, list) => list.Select(x => x * a).Sum();
        kept.Add(tree.Compile());
        ((Func<int, List<int>, int>)kept[^1])(3, [1, 2]);
        var regex = new Regex("a(b+)[c-f]*", RegexOptions.Compiled);
        kept.Add(regex);
        regex.IsMatch("xxabbcde");
        dynamic late = "text";
        kept.Add(late.Length + late.Substring(1).Length);
        Assembly("Made", AssemblyBuilderAccess.Run);
        Assembly("Freed", AssemblyBuilderAccess.RunAndCollect);
        typeof(Emitted).GetMethod(nameof(Invoked), BindingFlags.NonPublic | BindingFlags.Static)!.Invoke(null, [1, "x"]);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Invoked(int a, string b) => a + b.Length;

    static void Keep(Func<int, int> made)
    {
        kept.Add(made);
        made(3);
    }

    static Func<int, int> Dynamic(string name, Module? owner)
    {
        var method = owner == null ? new DynamicMethod(name, typeof(int), [typeof(int)])
                                   : new DynamicMethod(name, typeof(int), [typeof(int)], owner, true);
        ILGenerator il = method.GetILGenerator();
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Ret);
        return method.CreateDelegate<Func<int, int>>();
    }

    // Dynamic methods whose signatures have all kinds of types.
    static void Signatures()
    {
        Type[] types = [typeof(int).MakeByRefType(), typeof(int*), typeof(string[]), typeof(int[,]), typeof(Dictionary<string, Square>),
                        typeof(Person), typeof(Square), typeof(Outer<int>.Inner<string>.Deep), typeof(object), typeof(nint)];
        var method = new DynamicMethod("Of.Types", typeof(void), types, typeof(Emitted).Module, true);
        method.GetILGenerator().Emit(OpCodes.Ret);
        kept.Add(method);
        RuntimeHelpers.PrepareDelegate(method.CreateDelegate(Expression.GetDelegateType([.. types, typeof(void)])));
    }

    static void Assembly(string name, AssemblyBuilderAccess access)
    {
        var assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName(name), access);
        ModuleBuilder module = assembly.DefineDynamicModule(name);
        var types = new List<Type>();
        for (int i = 0; i < 3; i++)
        {
            TypeBuilder type = module.DefineType($"Made.Space.Type{i}", TypeAttributes.Public);
            TypeBuilder nested = type.DefineNestedType("Nested", TypeAttributes.NestedPublic);
            GenericTypeParameterBuilder[] of = nested.DefineGenericParameters("T");
            // Methods of the two types are declared in turns, so their rows are not in the types' order.
            foreach (string method in new[] { "One", "Two", "Three" })
            {
                Body(type.DefineMethod(method, MethodAttributes.Public | MethodAttributes.Static, typeof(int), [typeof(int), typeof(List<string>)]));
                Body(nested.DefineMethod(method + "Nested", MethodAttributes.Public | MethodAttributes.Static, typeof(int), [typeof(int), of[0]]));
            }
            types.Add(type.CreateType());
            types.Add(nested.CreateType());
        }
        kept.Add(assembly);
        foreach (Type type in types)
        {
            Type made = type.IsGenericTypeDefinition ? type.MakeGenericType(typeof(Guid)) : type;
            foreach (MethodInfo method in made.GetMethods(BindingFlags.Public | BindingFlags.Static))
                method.Invoke(null, [3, made.IsGenericType ? Guid.Empty : null]);
        }
    }

    static void Body(MethodBuilder method)
    {
        ILGenerator il = method.GetILGenerator();
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Ret);
    }
}
