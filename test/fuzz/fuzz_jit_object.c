/*
 * An ELF object that a JIT compiler made, of arbitrary bytes. Holds: its code is not empty, functions have names and
 * ends behind their begins, and relocations stay within the copy.
 */
#include "jit/elf_object.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void relocate(const struct sw_jit_object *object)
{
    uint32_t number = 0;
    const struct sw_bytes frames = sw_jit_object_frames(object, &number);
    uint8_t *copy = frames.size ? malloc((size_t)frames.size) : NULL;
    if (!copy)
        return;
    memcpy(copy, frames.bytes, (size_t)frames.size);
    sw_jit_object_relocate(object, number, copy, frames.size);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sw_jit_object object;
    struct sw_jit_function function;
    uint64_t begin, end, at = 0;
    if (sw_jit_object_open((struct sw_bytes){ data, size, 0 }, &object) != SW_OK)
        return 0;
    if (sw_jit_object_code(&object, &begin, &end) && begin >= end)
        abort();
    relocate(&object);
    for (unsigned n = 0; n < 1000 && sw_jit_object_function(&object, &at, &function); n++)
        if (function.end <= function.begin || !*function.name)
            abort();
    return 0;
}
