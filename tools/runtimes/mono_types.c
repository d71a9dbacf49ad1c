/*
 * Knows MonoType, MonoMethodSignature and what holds generic arguments; writes them as mono does.
 *
 * Source: mono 6.8, metadata/metadata-internals.h (MonoType, MonoMethodSignature, MonoArrayType), class-internals.h
 * (MonoMethod, MonoMethodInflated, MonoGenericInst, MonoGenericClass, MonoGenericParam), debug-helpers.c (which words
 * mono has for types); ECMA-335 II.23.1.16 (element types).
 */
#include "mono_types.h"

#include "peek.h"

#include <stdio.h>
#include <string.h>

enum { PART_BYTES = 512, NESTED_MOST = 8, DEPTH_MOST = 8, TYPES_MOST = 128, ARGUMENTS_MOST = 64, RANK_MOST = 32 };
enum { METHOD_BITS = 32, IS_INFLATED = 1 << 12, INFLATED_ARGUMENTS = 72 };
enum { SIGNATURE_COUNT = 8, SIGNATURE_TYPES = 16, TYPE_KIND = 10, TYPE_BITS = 11, IS_BY_REFERENCE = 2 };
enum { GENERIC_CLASS = 0, GENERIC_CLASS_ARGUMENTS = 8, ARGUMENTS_COUNT = 4, ARGUMENTS_TYPES = 8, COUNT_BITS = 22 };
enum { PARAMETER_NUMBER = 8, PARAMETER_NAME = 32, ARRAY_RANK = 8 };

enum kind {
    KIND_POINTER = 0x0f,
    KIND_VALUE_TYPE = 0x11,
    KIND_CLASS,
    KIND_CLASS_PARAMETER,
    KIND_ARRAY,
    KIND_GENERIC,
    KIND_VECTOR = 0x1d,
    KIND_METHOD_PARAMETER
};

/* By element type; those that are missing are written by their parts. */
static const char *const words[] = {
    [0x01] = "void",   [0x02] = "bool",    [0x03] = "char",   [0x04] = "sbyte",  [0x05] = "byte",
    [0x06] = "int16",  [0x07] = "uint16",  [0x08] = "int",    [0x09] = "uint",   [0x0a] = "long",
    [0x0b] = "ulong",  [0x0c] = "single",  [0x0d] = "double", [0x0e] = "string", [0x16] = "typedbyref",
    [0x18] = "intptr", [0x19] = "uintptr", [0x1b] = "*()",    [0x1c] = "object",
};

static bool word(const struct mono_text *t, uint64_t address, uint64_t offset, uint64_t *value)
{
    return address && peek(t->memory, address + offset, value, sizeof *value);
}

void mono_put(struct mono_text *t, const char *more)
{
    const size_t length = strlen(more), left = t->room - 1 - t->used, taken = length < left ? length : left;
    memcpy(t->to + t->used, more, taken);
    t->used += taken;
    t->to[t->used] = 0;
}

/* From the outermost in: the outer ones are found first. */
static void put_class_name(struct mono_text *t, uint64_t class)
{
    char part[PART_BYTES];
    uint64_t classes[NESTED_MOST], name;
    size_t count = 0;
    while (class && count < NESTED_MOST) {
        classes[count++] = class;
        if (!word(t, class, t->at->class_outer, &class))
            break;
    }
    if (count && word(t, classes[count - 1], t->at->class_image + UINT64_C(16), &name) &&
        peek_text(t->memory, name, part, sizeof part) && part[0]) {
        mono_put(t, part);
        mono_put(t, ".");
    }
    while (count-- > 0) {
        const bool is_known = word(t, classes[count], t->at->class_image + UINT64_C(8), &name) &&
                              peek_text(t->memory, name, part, sizeof part);
        mono_put(t, is_known ? part : "?");
        mono_put(t, count ? "/" : "");
    }
}

static void put_type(struct mono_text *t, uint64_t type, unsigned depth);

/* A MonoGenericInst. */
static void put_arguments(struct mono_text *t, uint64_t arguments, unsigned depth)
{
    uint32_t count;
    uint64_t type;
    if (!arguments || !peek(t->memory, arguments + ARGUMENTS_COUNT, &count, sizeof count))
        return;
    count &= (1u << COUNT_BITS) - 1;
    if (count == 0 || count > ARGUMENTS_MOST)
        return;
    mono_put(t, "<");
    for (uint32_t i = 0; i < count && word(t, arguments, ARGUMENTS_TYPES + 8 * (uint64_t)i, &type); i++) {
        mono_put(t, i ? ", " : "");
        put_type(t, type, depth);
    }
    mono_put(t, ">");
}

static bool get_kind(const struct mono_text *t, uint64_t type, uint8_t *kind)
{
    return type && peek(t->memory, type + TYPE_KIND, kind, sizeof *kind);
}

/* A class, with the arguments that the type in it has. */
static void put_class(struct mono_text *t, uint64_t class, unsigned depth)
{
    uint64_t generic, arguments;
    uint8_t kind;
    const uint64_t type = class + t->at->class_type;
    if (class && t->at->class_type && get_kind(t, type, &kind) && kind != KIND_GENERIC && kind != KIND_CLASS &&
        kind != KIND_VALUE_TYPE) { /* an array's class is called by its element's */
        put_type(t, type, depth);
        return;
    }
    put_class_name(t, class);
    if (class && t->at->class_type && get_kind(t, type, &kind) && kind == KIND_GENERIC && word(t, type, 0, &generic) &&
        word(t, generic, GENERIC_CLASS_ARGUMENTS, &arguments))
        put_arguments(t, arguments, depth);
}

static void put_array(struct mono_text *t, uint64_t array, unsigned depth)
{
    uint64_t element;
    uint8_t rank;
    if (!word(t, array, 0, &element) || !peek(t->memory, array + ARRAY_RANK, &rank, sizeof rank) || rank > RANK_MOST)
        return;
    put_class(t, element, depth);
    mono_put(t, "[");
    for (uint8_t i = 1; i < rank; i++)
        mono_put(t, ",");
    mono_put(t, "]");
}

static void put_parameter(struct mono_text *t, uint64_t parameter, bool is_of_method)
{
    char name[PART_BYTES];
    uint64_t text;
    uint16_t number = 0;
    if (word(t, parameter, PARAMETER_NAME, &text) && text && peek_text(t->memory, text, name, sizeof name) && name[0]) {
        mono_put(t, name);
        return;
    }
    (void)!peek(t->memory, parameter + PARAMETER_NUMBER, &number, sizeof number);
    snprintf(name, sizeof name, "%s%u", is_of_method ? "!!" : "!", number);
    mono_put(t, name);
}

static void put_by_parts(struct mono_text *t, uint8_t kind, uint64_t data, unsigned depth)
{
    uint64_t class, arguments;
    switch (kind) {
    case KIND_POINTER:
        put_type(t, data, depth);
        mono_put(t, "*");
        return;
    case KIND_VALUE_TYPE:
    case KIND_CLASS:
        put_class_name(t, data);
        return;
    case KIND_VECTOR:
        put_class(t, data, depth);
        mono_put(t, "[]");
        return;
    case KIND_ARRAY:
        put_array(t, data, depth);
        return;
    case KIND_GENERIC:
        if (!word(t, data, GENERIC_CLASS, &class) || !word(t, data, GENERIC_CLASS_ARGUMENTS, &arguments))
            return;
        put_class_name(t, class);
        put_arguments(t, arguments, depth);
        return;
    case KIND_CLASS_PARAMETER:
    case KIND_METHOD_PARAMETER:
        put_parameter(t, data, kind == KIND_METHOD_PARAMETER);
        return;
    default:
        mono_put(t, "?");
    }
}

/* depth: of types in types, which a hostile memory may let go on for ever. */
static void put_type(struct mono_text *t, uint64_t type, unsigned depth)
{
    uint64_t data;
    uint8_t kind, bits;
    if (depth >= DEPTH_MOST || t->types++ >= TYPES_MOST || !word(t, type, 0, &data) || !get_kind(t, type, &kind) ||
        !peek(t->memory, type + TYPE_BITS, &bits, sizeof bits)) {
        mono_put(t, "?");
        return;
    }
    if (kind < sizeof words / sizeof words[0] && words[kind])
        mono_put(t, words[kind]);
    else
        put_by_parts(t, kind, data, depth + 1);
    mono_put(t, bits & IS_BY_REFERENCE ? "&" : "");
}

void mono_put_class(struct mono_text *t, uint64_t class)
{
    put_class(t, class, 0);
}

void mono_put_method_arguments(struct mono_text *t, uint64_t method)
{
    uint64_t arguments;
    uint32_t bits;
    if (peek(t->memory, method + METHOD_BITS, &bits, sizeof bits) && bits & IS_INFLATED &&
        word(t, method, INFLATED_ARGUMENTS, &arguments))
        put_arguments(t, arguments, 0);
}

/* The signature lies between the class and the name; it is made before the method is compiled. */
void mono_put_parameters(struct mono_text *t, uint64_t method)
{
    uint64_t signature, type;
    uint16_t count;
    if (t->at->method_name != t->at->method_class + 16 ||
        !word(t, method, t->at->method_class + UINT64_C(8), &signature) || !signature ||
        !peek(t->memory, signature + SIGNATURE_COUNT, &count, sizeof count) || count > ARGUMENTS_MOST)
        return;
    mono_put(t, " (");
    for (uint16_t i = 0; i < count && word(t, signature, SIGNATURE_TYPES + 8 * (uint64_t)i, &type); i++) {
        mono_put(t, i ? "," : "");
        put_type(t, type, 0);
    }
    mono_put(t, ")");
}
