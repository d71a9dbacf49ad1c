/* Windows x64 unwind data: entries, infos, codes; and unwinding in progress. Used inside lib/pe only. */
#ifndef SW_PE_CODES_X64_H
#define SW_PE_CODES_X64_H

#include "pe/pe.h"

enum { SW_PE_LINKS_MAX = 32, SW_PE_CODES_MAX = 255, SW_PE_FLAG_CHAIN = 4 };

/* A value that a rule can express: a register of the callee, plus an offset. */
struct sw_pe_offset {
    uint8_t base;
    int64_t off;
};

/* One UNWIND_INFO, copied. */
struct sw_pe_info {
    uint8_t version;
    uint8_t flags;
    uint8_t prolog;
    uint8_t count;
    uint8_t frame_register; /* 0: none */
    uint8_t frame_offset;
    uint8_t slots[2 * SW_PE_CODES_MAX];
};

struct sw_pe_unwind {
    const struct sw_pe_reader *reader;
    struct sw_pe_function function; /* the entry whose codes are in info */
    uint32_t rva;
    unsigned links;
    bool machine_frame;
    uint32_t restored; /* registers with a known location */
    struct sw_pe_offset sp;
    struct sw_pe_offset frame;
    struct sw_rule *rule;
    struct sw_pe_info info;
};

/* What an operation does. PASS: nothing that a rule could express. */
enum sw_pe_x64_effect {
    SW_PE_X64_PASS,
    SW_PE_X64_PUSH,
    SW_PE_X64_ALLOC_SMALL,
    SW_PE_X64_ALLOC_LARGE,
    SW_PE_X64_SET_FRAME,
    SW_PE_X64_SET_FRAME_LARGE,
    SW_PE_X64_SAVE,
    SW_PE_X64_SAVE_FAR,
    SW_PE_X64_MACHINE_FRAME,
    SW_PE_X64_BAD
};

/* Slots by operation. Only ALLOC_LARGE has another count if its info is 1. */
struct sw_pe_operation {
    uint8_t slots;
    uint8_t slots_info1;
    uint8_t info_max;
    uint8_t effect; /* enum sw_pe_x64_effect */
};

struct sw_pe_code {
    uint8_t offset;
    uint8_t op;
    uint8_t info;
    uint32_t operand; /* the next 16 or 32 bits, for operations of 2 or 3 slots */
    const struct sw_pe_operation *operation;
};

/* Decodes the code at slot *at, and moves *at past it. Returns  SW_OK; SW_E_MALFORMED. */
enum sw_status sw_pe_x64_next_code(const struct sw_pe_info *info, unsigned *at, struct sw_pe_code *code);

/* Loads the info of u->function. Returns  SW_OK; SW_E_LIMIT; as sw_pe_x64_rule. */
enum sw_status sw_pe_x64_load(struct sw_pe_unwind *u);

/* reg is saved at that place. Returns  SW_OK; SW_E_MALFORMED (reg is rsp, or out of range). */
enum sw_status sw_pe_x64_save(struct sw_pe_unwind *u, unsigned reg, struct sw_pe_offset place);

/*
 * rsp points at the saved reg: notes its location, and raises rsp. Returns  SW_OK; SW_E_MALFORMED (reg is rsp, or out
 * of range).
 */
enum sw_status sw_pe_x64_pop(struct sw_pe_unwind *u, unsigned reg);
enum sw_status sw_pe_x64_pop_machine_frame(struct sw_pe_unwind *u, unsigned has_error_code);

/* Continues with the entry that this one is chained to. Returns  SW_OK; SW_E_LIMIT; as sw_pe_x64_rule. */
enum sw_status sw_pe_x64_follow_chain(struct sw_pe_unwind *u);

/* See sw_pe_entry, sw_pe_handler. */
enum sw_status sw_pe_x64_entry(const struct sw_pe_reader *reader, const uint8_t *bytes,
                               struct sw_pe_function *function);
enum sw_status sw_pe_x64_handler(const struct sw_pe_reader *reader, const struct sw_pe_function *function,
                                 uint32_t *handler);

/*
 * function: the entry at an RVA. resolve: the entry that an indirect one refers to. chain_rva: where the entry is to
 * which an info is chained. Returns  SW_OK; SW_E_TRUNCATED; SW_E_LIMIT.
 */
enum sw_status sw_pe_x64_function(const struct sw_pe_reader *reader, uint32_t rva, struct sw_pe_function *function);
enum sw_status sw_pe_x64_resolve(const struct sw_pe_reader *reader, struct sw_pe_function *function, unsigned *links);
uint32_t sw_pe_x64_chain_rva(uint32_t unwind, uint8_t count);

#endif
