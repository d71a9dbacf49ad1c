/* What mono calls its classes, types and generic arguments, out of its structures; every value is the target's. */
#ifndef RUNTIMES_MONO_TYPES_H
#define RUNTIMES_MONO_TYPES_H

#include <snapwalk/memory.h>

#include <stdbool.h>

/* Where members are. class_type: the type that a class is, in it; 0: not known, so that arguments are not written. */
struct mono_places {
    uint8_t method_class, method_name, class_outer, class_image;
    uint32_t class_type;
};

/* Text on its way, always terminated. types: how many were written, which is bounded. */
struct mono_text {
    const struct sw_memory *memory;
    const struct mono_places *at;
    char *to;
    size_t room, used;
    unsigned types;
};

void mono_put(struct mono_text *text, const char *more);

/* "Namespace.Outer/Inner<int, string>"; "<int>" of a generic method; " (int,string&)". What is not known is missing. */
void mono_put_class(struct mono_text *text, uint64_t class);
void mono_put_method_arguments(struct mono_text *text, uint64_t method);
void mono_put_parameters(struct mono_text *text, uint64_t method);

#endif
