/*
 * An ELF object that a JIT compiler made in memory: where its code is, its call frame information, its functions. Knows
 * section headers, and that every byte is hostile; refuses to know who reads it. Allocates nothing. Addresses of
 * sections are those where the code is, as the GDB manual asks for ("JIT Interface"); in a relocatable object symbols
 * and relocations count from their section. Source: System V gABI, chapter 4; AMD64 psABI and AAELF64, "Relocation".
 */
#ifndef SW_JIT_ELF_OBJECT_H
#define SW_JIT_ELF_OBJECT_H

#include "base/bytes.h"

#include <snapwalk/regs.h>

struct sw_jit_object {
    struct sw_bytes file;
    enum sw_machine machine;
    bool is_relocatable;
    uint64_t sections; /* offset of their headers */
    uint32_t section_count;
};

/* Returns  SW_OK; SW_E_TRUNCATED, SW_E_MALFORMED (no ELF), SW_E_UNSUPPORTED (another class, machine or type). */
SW_NODISCARD enum sw_status sw_jit_object_open(struct sw_bytes file, struct sw_jit_object *object);

/* From the lowest to the highest byte of code. False: there is none. */
bool sw_jit_object_code(const struct sw_jit_object *object, uint64_t *begin, uint64_t *end);

/* .eh_frame, with its address; empty: none. number: of its section. */
struct sw_bytes sw_jit_object_frames(const struct sw_jit_object *object, uint32_t *number);

/* Applies what relocates section `number` to a copy of its bytes. Relocations of other kinds are passed over. */
void sw_jit_object_relocate(const struct sw_jit_object *object, uint32_t number, uint8_t *copy, uint64_t size);

/* The next function from *cursor on, which begins at 0. name lies in the file. False: no more. */
struct sw_jit_function {
    uint64_t begin;
    uint64_t end;
    const char *name;
};
bool sw_jit_object_function(const struct sw_jit_object *object, uint64_t *cursor, struct sw_jit_function *function);

#endif
