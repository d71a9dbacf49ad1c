/*
 * The mangling loses characters: '.', '+', '`', '<' and '>' are all '_'. What is a rule is undone: "__" in front of
 * a method, as in MODULE_Name_Space_Type__METHOD; arguments in brackets with "__" between them; System.Private.X as
 * S_P_X; "_N" behind overloads. A '_' that stood in a type's name becomes a '.'.
 *
 * Source: clr-names.md section 9, observed on programs of .NET 10.
 */
#include "aot.h"

#include <stdbool.h>
#include <string.h>

/* What is being made: to is null-terminated at each moment, end its last byte. */
struct out {
    char *to, *end;
};

static void put(struct out *out, const char *text, size_t size)
{
    const size_t room = (size_t)(out->end - out->to);
    size = size < room ? size : room;
    memcpy(out->to, text, size);
    out->to += size;
    *out->to = 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* How long "MODULE_" is in front of a type; 0: no module that is known. */
static size_t module_size(const char *type, const char *module)
{
    const size_t own = strlen(module);
    if (strncmp(type, "S_P_", 4) == 0)
        return 4 + strcspn(type + 4, "_<>") + 1;
    if (own && strncmp(type, module, own) == 0 && type[own] == '_')
        return own + 1;
    const char *again = strncmp(type, "System_", 7) == 0 ? strstr(type, "_System_") : NULL;
    return again && (size_t)(again - type) < strcspn(type, "<>") ? (size_t)(again - type) + 1 : 0;
}

/* The number of type parameters, as in List_1<..>, Dictionary_2_Enumerator<..>; 0: none is here. */
static size_t arity_size(const char *at, const char *end)
{
    size_t size = 1;
    while (at + size < end && is_digit(at[size]))
        size++;
    const char *more = at + size;
    while (more < end && is_word(*more))
        more++;
    return size > 1 && more < end && *more == '<' && (at[size] == '<' || at[size] == '_') ? size : 0;
}

/* One '_', or what stands there in its place. Returns how much was taken. */
static size_t put_line(struct out *out, const char *at, const char *end, unsigned depth, bool *begins)
{
    const size_t arity = arity_size(at, end);
    *begins = depth && at + 1 < end && at[1] == '_';
    if (arity)
        return arity;
    put(out, *begins ? ", " : at + 1 < end && is_digit(at[1]) ? "_" : ".", *begins ? 2 : 1);
    return *begins ? 2 : 1;
}

/* A type, or the arguments of one: what stands between `at` and `end`. */
static void put_type(struct out *out, const char *at, const char *end, const char *module)
{
    static const char shared[] = "System___Canon";
    unsigned depth = 0;
    bool begins = true;
    while (at < end) {
        const size_t left = begins ? module_size(at, module) : 0;
        at += left < (size_t)(end - at) ? left : 0;
        if (begins && strncmp(at, shared, sizeof shared - 1) == 0 && (size_t)(end - at) >= sizeof shared - 1) {
            put(out, "System.__Canon", 14);
            at += sizeof shared - 1;
            begins = false;
            continue;
        }
        if (*at == '_') {
            at += put_line(out, at, end, depth, &begins);
            continue;
        }
        begins = *at == '<';
        depth += *at == '<';
        depth -= *at == '>' && depth;
        put(out, at++, 1);
    }
}

/* ---- where the type ends ---- */

/* Whether the symbol goes on as the method's name does when it is mangled: null, or what is behind it. */
static const char *behind_method(const char *symbol, const char *method)
{
    if (is_digit(*method) && *symbol++ != '_')
        return NULL;
    for (; *method; method++) {
        if (((unsigned char)*method & 0xc0) == 0x80)
            continue; /* a character of several bytes is one '_' */
        if (*symbol == 0 || *symbol != (is_word(*method) ? *method : '_'))
            return NULL;
        symbol++;
    }
    const char *rest = *symbol == '_' ? symbol + 1 + strspn(symbol + 1, "0123456789") : symbol;
    return *symbol == 0 || *symbol == '<' || (rest > symbol + 1 && (*rest == 0 || *rest == '<')) ? symbol : NULL;
}

/* The "__" in front of the method, outside of brackets; null: there is none. `rest`: what is behind the name. */
static const char *find_split(const char *symbol, const char *method, const char **rest)
{
    unsigned depth = 0;
    for (const char *at = symbol + 1; *symbol && *at; at++) {
        depth += *at == '<';
        depth -= *at == '>' && depth;
        if (depth || at[0] != '_' || at[1] != '_' || at[2] == 0)
            continue;
        *rest = method ? behind_method(at + 2, method) : at + 2;
        if (*rest)
            return at;
    }
    return NULL;
}

/* ---- what compilers made of methods ---- */

/* TYPE "__" METHOD "_d__" N, which was TYPE+<METHOD>d__N: where the type around it ends; null: no such type. */
static const char *find_machine(const char *type, const char *end, const char **name, const char **name_end)
{
    for (const char *at = end; at - type > 6; at--) {
        if (strncmp(at - 4, "_d__", 4) != 0 || !is_digit(*at))
            continue;
        *name_end = at - 4;
        for (const char *from = *name_end; from - type > 2; from--)
            if (from[-1] == '_' && from[-2] == '_') {
                *name = from;
                return from < *name_end ? from - 2 : NULL;
            }
    }
    return NULL;
}

/* TYPE "___c" and what follows, which was TYPE+<>c or TYPE+<>c__DisplayClassN: where the type around it ends. */
static const char *find_closure(const char *type, const char *end)
{
    for (const char *at = type + 1; end - at >= 4; at++)
        if (strncmp(at, "___c", 4) == 0 && (at + 4 == end || at[4] == '_' || at[4] == '<'))
            return at;
    return end;
}

/* "<Main>b__2_2", "<Main>g__Local|2_0": as the runtime's names are written. */
static void put_method(struct out *out, const char *method)
{
    const char *close = *method == '<' ? strchr(method, '>') : NULL;
    const bool is_lambda = close && strncmp(close + 1, "b__", 3) == 0;
    const bool is_local = close && strncmp(close + 1, "g__", 3) == 0;
    if (!is_lambda && !is_local) {
        put(out, method, strlen(method));
        return;
    }
    put(out, method + 1, (size_t)(close - method) - 1);
    put(out, ".{lambda#", is_lambda ? 9 : 1);
    put(out, close + 4, strcspn(close + 4, "|"));
    put(out, "}", is_lambda);
}

const char *aot_demangle(const char *symbol, const char *method, const char *module, char *text, size_t size)
{
    struct out out = { text, text + size - 1 };
    const char *rest = NULL, *name = NULL, *name_end = NULL;
    const char *type = strncmp(symbol, "unbox_", 6) == 0 ? symbol + 6 : symbol;
    const char *split = *type != '_' ? find_split(type, method && *method ? method : NULL, &rest) : NULL;
    *text = 0;
    if (!split) {
        put(&out, symbol, strlen(symbol));
        return text;
    }
    const bool is_resumed = method && strcmp(method, "MoveNext") == 0;
    const char *machine = is_resumed ? find_machine(type, split, &name, &name_end) : NULL;
    put_type(&out, type, machine ? machine : method && *method == '<' ? find_closure(type, split) : split, module);
    put(&out, ".", 1);
    if (machine)
        put(&out, name, (size_t)(name_end - name));
    else if (method && *method)
        put_method(&out, method);
    else
        put(&out, rest, strcspn(rest, "<"));
    const char *arguments = machine ? NULL : strchr(rest, '<');
    if (arguments)
        put_type(&out, arguments, arguments + strlen(arguments), module);
    return text;
}
