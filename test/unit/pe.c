/*
 * Windows unwind data: every operation, both kinds of epilogue, chains, and what is refused; and DLLs that a compiler
 * made. A rule is compared as text, so that a row shows all of it: "rsp+40 rbx[-16]" is CFA = rsp + 40, rbx saved at
 * CFA - 16, return address at CFA - 8, everything else unchanged.
 */
#include "rows.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "pe/pe.h"
#include "unwind_flow.h"

#define BYTES(text) text, sizeof text - 1

enum { CODE = 0x1000, INFO = 0x2000, SIZE = 0x100 };

/* Memory with code at RVA 0x1000 and unwind info at RVA 0x2000. */
struct world {
    const void *code;
    size_t code_size;
    const void *info;
    size_t info_size;
};

static size_t copy_from(const void *bytes, size_t room, uint32_t skip, void *to, size_t size)
{
    if (skip >= room)
        return 0;
    const size_t copied = size < room - skip ? size : room - skip;
    memcpy(to, (const uint8_t *)bytes + skip, copied);
    return copied;
}

static size_t get(void *arg, uint32_t rva, void *to, size_t size)
{
    const struct world *w = arg;
    if (rva >= INFO)
        return copy_from(w->info, w->info_size, rva - INFO, to, size);
    return rva >= CODE ? copy_from(w->code, w->code_size, rva - CODE, to, size) : 0;
}

/* 0x1200: a fragment that a chained entry ties to 0x1000. 0x1300: another function. 0x1400: a cold part of gcc's. */
static bool find(void *arg, uint32_t rva, struct sw_pe_function *function)
{
    (void)arg;
    if (rva >= 0x1000 && rva < 0x1100)
        *function = (struct sw_pe_function){ 0x1000, 0x1100, INFO };
    else if (rva >= 0x1200 && rva < 0x1300)
        *function = (struct sw_pe_function){ 0x1200, 0x1300, INFO + 0x40 };
    else if (rva >= 0x1300 && rva < 0x1400)
        *function = (struct sw_pe_function){ 0x1300, 0x1400, INFO };
    else if (rva >= 0x1400 && rva < 0x1500)
        *function = (struct sw_pe_function){ 0x1400, 0x1500, INFO + 0x50 };
    else
        return false;
    return true;
}

static const char *const names[] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8",
                                     "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip" };

static void render(const struct sw_rule *rule, uint64_t nonvolatile, char *text, size_t size)
{
    int n = snprintf(text, size, "%s%+d", names[rule->cfa.reg], (int)rule->cfa.off);
    for (unsigned r = 0; r <= SW_X64_RIP; r++) {
        const struct sw_loc loc = rule->r[r];
        const bool usual = (r == SW_X64_RSP && loc.kind == SW_LOC_CFA && loc.off == 0) ||
                           (r == SW_X64_RIP && loc.kind == SW_LOC_AT_CFA && loc.off == -8) ||
                           (r < SW_X64_RIP && loc.kind == (nonvolatile >> r & 1 ? SW_LOC_SAME : SW_LOC_UNKNOWN));
        if (usual)
            continue;
        if (loc.kind == SW_LOC_AT_CFA)
            n += snprintf(text + n, size - (size_t)n, " %s[%+d]", names[r], (int)loc.off);
        else if (loc.kind == SW_LOC_AT_REG)
            n += snprintf(text + n, size - (size_t)n, " %s[%s%+d]", names[r], names[loc.reg], (int)loc.off);
        else
            n += snprintf(text + n, size - (size_t)n, " %s?%d", names[r], loc.kind);
    }
    if (rule->flags & SW_RULE_SIGNAL)
        snprintf(text + n, size - (size_t)n, " signal");
}

static void assert_rule(const struct world *w, struct sw_pe_function function, uint32_t rva, bool exact,
                        enum sw_status status, const char *expected)
{
    struct sw_rule rule;
    char text[256];
    const struct sw_pe_reader reader = { get, find, (void *)(uintptr_t)w };
    assert_int_equal(sw_pe_x64_rule(&reader, &function, rva, exact, SW_PE_WINDOWS_NONVOLATILE, &rule), status);
    if (status)
        return;
    assert_int_equal(rule.cfa.kind, SW_LOC_REG);
    assert_int_equal(rule.source, SW_SOURCE_UNWIND_CODES);
    assert_int_equal(rule.trust, SW_TRUST_EXACT);
    render(&rule, SW_PE_WINDOWS_NONVOLATILE, text, sizeof text);
    assert_string_equal(text, expected);
}

/* ---- operations, away from epilogues ---- */

#define CHAIN "\x21\x00\x00\x00"
static const struct op_row {
    const char *name;
    const char *info;
    size_t size;
    uint32_t offset;
    enum sw_status status;
    const char *rule;
} op_rows[] = {
    { "no_codes_is_a_leaf", BYTES("\x01\x00\x00\x00"), 0, SW_OK, "rsp+8" },
    { "push_nonvol", BYTES("\x01\x01\x01\x00\x01\x30"), 8, SW_OK, "rsp+16 rbx[-16]" },
    { "push_nonvol_not_yet", BYTES("\x01\x01\x01\x00\x01\x30"), 0, SW_OK, "rsp+8" },
    { "push_of_r15", BYTES("\x01\x02\x01\x00\x02\xf0"), 8, SW_OK, "rsp+16 r15[-16]" },
    { "pushes_in_order", BYTES("\x01\x03\x03\x00\x03\xc0\x02\x50\x01\x30"), 8, SW_OK,
      "rsp+32 rbx[-16] rbp[-24] r12[-32]" },
    { "pushes_half_way", BYTES("\x01\x03\x03\x00\x03\xc0\x02\x50\x01\x30"), 2, SW_OK, "rsp+24 rbx[-16] rbp[-24]" },
    { "alloc_large_scaled", BYTES("\x01\x07\x02\x00\x07\x01\x11\x00"), 8, SW_OK, "rsp+144" },
    { "alloc_large_unscaled", BYTES("\x01\x07\x03\x00\x07\x11\x00\x00\x10\x00"), 8, SW_OK, "rsp+1048584" },
    { "alloc_small_least", BYTES("\x01\x04\x01\x00\x04\x02"), 8, SW_OK, "rsp+16" },
    { "alloc_small_most", BYTES("\x01\x04\x01\x00\x04\xf2"), 8, SW_OK, "rsp+136" },
    { "set_fpreg", BYTES("\x01\x09\x03\x25\x09\x03\x04\x32\x01\x50"), 0x20, SW_OK, "rbp+16 rbp[-16]" },
    { "set_fpreg_not_yet", BYTES("\x01\x09\x03\x25\x09\x03\x04\x32\x01\x50"), 8, SW_OK, "rsp+48 rbp[-16]" },
    { "set_fpreg_large", BYTES("\x01\x09\x05\xf5\x09\x0b\x40\x00\x00\x00\x04\x32\x01\x50"), 0x20, SW_OK,
      "rbp-976 rbp[-16]" },
    { "save_nonvol", BYTES("\x01\x09\x03\x00\x09\x34\x05\x00\x04\x52"), 0x20, SW_OK, "rsp+56 rbx[-16]" },
    { "save_nonvol_far", BYTES("\x01\x09\x04\x00\x09\xf5\x08\x00\x00\x00\x04\x52"), 0x20, SW_OK, "rsp+56 r15[-48]" },
    { "save_counts_from_the_frame_register", BYTES("\x01\x09\x05\x25\x09\x34\x01\x00\x08\x03\x04\x32\x01\x50"), 0x20,
      SW_OK, "rbp+16 rbx[-40] rbp[-16]" },
    { "save_before_the_frame_register_is_set", BYTES("\x01\x09\x05\x25\x08\x03\x06\x34\x01\x00\x04\x32\x01\x50"), 7,
      SW_OK, "rsp+48 rbx[-40] rbp[-16]" },
    { "xmm_saves_take_their_slots", BYTES("\x01\x20\x07\x00\x20\x68\x01\x00\x10\x79\x20\x00\x00\x00\x04\x02\x01\x30"),
      0x20, SW_OK, "rsp+24 rbx[-16]" },
    { "obsolete_saves_take_their_slots",
      BYTES("\x01\x20\x07\x00\x20\x66\x01\x00\x10\x77\x20\x00\x00\x00\x04\x02\x01\x30"), 0x20, SW_OK,
      "rsp+24 rbx[-16]" },
    { "machine_frame", BYTES("\x01\x04\x02\x00\x04\x02\x00\x0a"), 8, SW_OK, "rsp+48 rsp[-16] rip[-40] signal" },
    { "machine_frame_with_error_code", BYTES("\x01\x04\x02\x00\x04\x02\x00\x1a"), 8, SW_OK,
      "rsp+56 rsp[-16] rip[-40] signal" },
    { "push_after_the_frame_register_counts_from_rsp", BYTES("\x01\x09\x03\x05\x09\x30\x08\x03\x01\x50"), 0x20, SW_OK,
      "rbp+16 rbx[rsp+0] rbp[-16]" },
    { "handler_flags_change_nothing", BYTES("\x19\x01\x01\x00\x01\x02\x00\x00\x11\x22\x33\x44"), 8, SW_OK, "rsp+16" },
    { "version_0_is_unsupported", BYTES("\x00\x00\x00\x00"), 0, SW_E_UNSUPPORTED, "" },
    { "version_3_is_unsupported", BYTES("\x03\x00\x00\x00"), 0, SW_E_UNSUPPORTED, "" },
    { "version_7_is_unsupported", BYTES("\x07\x00\x00\x00"), 0, SW_E_UNSUPPORTED, "" },
    { "handler_and_chain_exclude_each_other", BYTES("\x29\x00\x00\x00"), 0, SW_E_MALFORMED, "" },
    { "unknown_operation", BYTES("\x01\x01\x01\x00\x01\x0c"), 8, SW_E_MALFORMED, "" },
    { "alloc_large_of_unknown_kind", BYTES("\x01\x01\x03\x00\x01\x21\x00\x00\x00\x00"), 8, SW_E_MALFORMED, "" },
    { "machine_frame_of_unknown_kind", BYTES("\x01\x01\x01\x00\x01\x2a"), 8, SW_E_MALFORMED, "" },
    { "operation_beyond_the_count", BYTES("\x01\x01\x01\x00\x01\x01\x00\x00"), 8, SW_E_MALFORMED, "" },
    { "set_fpreg_without_a_register", BYTES("\x01\x01\x01\x00\x01\x03"), 8, SW_E_MALFORMED, "" },
    { "set_fpreg_after_it_was_restored", BYTES("\x01\x02\x02\x05\x02\x50\x01\x03"), 8, SW_E_MALFORMED, "" },
    { "push_of_rsp", BYTES("\x01\x01\x01\x00\x01\x40"), 8, SW_E_MALFORMED, "" },
    { "offset_beyond_a_rule", BYTES("\x01\x01\x03\x00\x01\x11\xff\xff\xff\xff"), 8, SW_E_MALFORMED, "" },
    { "chain_applies_all_of_the_outer_codes",
      BYTES("\x21\x02\x02\x00\x02\x70\x01\x60"
            "\x00\x0f\x00\x00\x80\x0f\x00\x00\x14\x20\x00\x00"
            "\x01\x05\x02\x00\x05\x12\x01\x30"),
      8, SW_OK, "rsp+48 rbx[-16] rsi[-40] rdi[-48]" },
    { "chain_through_an_indirect_entry",
      BYTES(CHAIN "\x00\x0f\x00\x00\x80\x0f\x00\x00\x11\x20\x00\x00"
                  "\x00\x0f\x00\x00\x80\x0f\x00\x00\x1c\x20\x00\x00"
                  "\x01\x05\x02\x00\x05\x12\x01\x30"),
      8, SW_OK, "rsp+32 rbx[-16]" },
    { "frame_register_of_a_chained_entry_is_set_at_once",
      BYTES("\x21\x20\x02\x25\x10\x34\x01\x00"
            "\x00\x0f\x00\x00\x80\x0f\x00\x00\x14\x20\x00\x00"
            "\x01\x09\x03\x25\x09\x03\x04\x32\x01\x50"),
      0x10, SW_OK, "rbp+16 rbx[-40] rbp[-16]" },
    { "chain_to_itself_is_a_limit", BYTES(CHAIN "\x00\x0f\x00\x00\x80\x0f\x00\x00\x00\x20\x00\x00"), 8, SW_E_LIMIT,
      "" },
    { "indirect_entry_to_itself_is_a_limit", BYTES(CHAIN "\x00\x0f\x00\x00\x80\x0f\x00\x00\x05\x20\x00\x00"), 8,
      SW_E_LIMIT, "" },
};

static void operation_is_undone(void **state)
{
    const struct op_row *row = *state;
    uint8_t *info = malloc(row->size);
    memcpy(info, row->info, row->size);
    const struct world w = { NULL, 0, info, row->size };
    assert_rule(&w, (struct sw_pe_function){ CODE, CODE + SIZE, INFO }, CODE + row->offset, true, row->status,
                row->rule);
    free(info);
}

/* Padding and handler data are not read, so the row's own last byte may be unread; all shorter ones must be missed. */
static void info_cut_anywhere_is_truncated(void **state)
{
    (void)state;
    static const char info[] = "\x21\x02\x02\x00\x02\x70\x01\x60"
                               "\x00\x0f\x00\x00\x80\x0f\x00\x00\x14\x20\x00\x00"
                               "\x01\x05\x02\x00\x05\x12\x01\x30";
    const struct sw_pe_function function = { CODE, CODE + SIZE, INFO };
    for (size_t size = 0; size < sizeof info - 1; size++) {
        const struct world w = { NULL, 0, info, size };
        assert_rule(&w, function, CODE + 8, true, SW_E_TRUNCATED, "");
    }
    const struct world whole = { NULL, 0, info, sizeof info - 1 };
    assert_rule(&whole, function, CODE + 8, true, SW_OK, "rsp+48 rbx[-16] rsi[-40] rdi[-48]");
}

static void rva_outside_the_function_has_no_rule(void **state)
{
    (void)state;
    const struct world w = { NULL, 0, "\x01\x00\x00\x00", 4 };
    const struct sw_pe_function function = { CODE, CODE + SIZE, INFO };
    assert_rule(&w, function, CODE - 1, true, SW_E_NO_RULE, "");
    assert_rule(&w, function, CODE + SIZE, true, SW_E_NO_RULE, "");
    assert_rule(&w, function, CODE + SIZE - 1, true, SW_OK, "rsp+8");
}

static void registers_outside_the_convention_are_lost(void **state)
{
    (void)state;
    struct sw_rule rule;
    struct world w = { NULL, 0, "\x01\x00\x00\x00", 4 };
    const struct sw_pe_reader reader = { get, NULL, &w };
    const struct sw_pe_function function = { CODE, CODE + SIZE, INFO };
    assert_int_equal(sw_pe_x64_rule(&reader, &function, CODE, true, SW_X64_NONVOLATILE, &rule), SW_OK);
    assert_int_equal(rule.r[SW_X64_RSI].kind, SW_LOC_UNKNOWN);
    assert_int_equal(rule.r[SW_X64_RBX].kind, SW_LOC_SAME);
    assert_int_equal(sw_pe_x64_rule(&reader, &function, CODE, true, SW_PE_WINDOWS_NONVOLATILE, &rule), SW_OK);
    assert_int_equal(rule.r[SW_X64_RSI].kind, SW_LOC_SAME);
    assert_int_equal(rule.r[SW_X64_R11].kind, SW_LOC_UNKNOWN);
}

/* ---- version 1 epilogues: push rbp, push rbx, sub rsp 0x20; the bytes stand at offset 0x40 ---- */

#define FRAME "\x01\x06\x03\x00\x06\x32\x02\x30\x01\x50\x00\x00"
#define BODY  "rsp+56 rbx[-24] rbp[-16]"
static const struct bytes_row {
    const char *name;
    const char *code;
    size_t size;
    const char *rule;
} bytes_rows[] = {
    { "nop_is_body", BYTES("\x90\xc3"), BODY },
    { "whole_epilogue", BYTES("\x48\x83\xc4\x20\x5b\x5d\xc3"), BODY },
    { "after_the_release", BYTES("\x5b\x5d\xc3"), "rsp+24 rbx[-24] rbp[-16]" },
    { "between_the_pops", BYTES("\x5d\xc3"), "rsp+16 rbp[-16]" },
    { "at_ret", BYTES("\xc3"), "rsp+8" },
    { "release_with_a_long_immediate", BYTES("\x48\x81\xc4\x00\x01\x00\x00\xc3"), "rsp+264" },
    { "release_alone_tells_its_own_size", BYTES("\x48\x83\xc4\x40\xc3"), "rsp+72" },
    { "pop_with_rex", BYTES("\x41\x5f\x40\x5b\xc3"), "rsp+24 rbx[-16] r15[-24]" },
    { "ret_imm_is_a_ret", BYTES("\xc2\x08\x00"), "rsp+8" },
    { "rep_ret", BYTES("\xf3\xc3"), "rsp+8" },
    { "bnd_ret", BYTES("\xf2\xc3"), "rsp+8" },
    { "jmp_memory_is_a_tail_call", BYTES("\x5d\xff\x25\x00\x00\x00\x00"), "rsp+16 rbp[-16]" },
    { "rex_w_jmp_is_a_tail_call", BYTES("\x5d\x48\xff\xe0"), "rsp+16 rbp[-16]" },
    { "rex_w_jmp_memory_is_a_tail_call", BYTES("\x49\xff\x23"), "rsp+8" },
    { "plain_jmp_register_is_a_switch", BYTES("\xff\xe0"), BODY },
    { "jmp32_out_of_the_function", BYTES("\x5d\xe9\x00\x10\x00\x00"), "rsp+16 rbp[-16]" },
    { "jmp32_to_another_function", BYTES("\xe9\xbb\x02\x00\x00"), "rsp+8" },
    { "jmp32_into_another_function_is_body", BYTES("\xe9\xc0\x02\x00\x00"), BODY },
    { "jmp32_into_another_function_after_a_pop", BYTES("\x5d\xe9\xc0\x02\x00\x00"), "rsp+16 rbp[-16]" },
    { "jmp32_to_a_cold_part_is_body", BYTES("\xe9\xbb\x03\x00\x00"), BODY },
    { "jmp32_to_a_cold_part_after_a_pop", BYTES("\x5d\xe9\xba\x03\x00\x00"), "rsp+16 rbp[-16]" },
    { "jmp32_inside_is_body", BYTES("\xe9\x10\x00\x00\x00"), BODY },
    { "jmp32_to_the_begin_is_a_tail_call", BYTES("\xe9\xbb\xff\xff\xff"), "rsp+8" },
    { "jmp32_into_a_fragment_of_the_same_function_is_body", BYTES("\xe9\xc0\x01\x00\x00"), BODY },
    { "jmp8_inside_is_body", BYTES("\xeb\x10"), BODY },
    { "jmp8_to_the_begin_is_a_tail_call", BYTES("\xeb\xbe"), "rsp+8" },
    { "jmp8_before_the_begin_is_a_tail_call", BYTES("\xeb\x80"), "rsp+8" },
    { "two_releases_are_body", BYTES("\x48\x83\xc4\x20\x48\x83\xc4\x20\xc3"), BODY },
    { "pop_before_release_is_body", BYTES("\x5b\x48\x83\xc4\x20\xc3"), BODY },
    { "pop_of_rsp_is_body", BYTES("\x5c\xc3"), BODY },
    { "lea_without_a_frame_register_is_body", BYTES("\x48\x8d\x65\x00\xc3"), BODY },
    { "ret_cut_off_is_body", BYTES("\xc2\x08"), BODY },
    { "jmp_cut_off_is_body", BYTES("\xe9\x00\x10\x00"), BODY },
    { "release_cut_off_is_body", BYTES("\x48\x83\xc4"), BODY },
    { "unreadable_code_is_body", BYTES(""), BODY },
};

/* The fragment at 0x1200 for jump targets: chained to 0x1000. */
static const char frame_and_fragment[] = FRAME "0000000000000000000000000000000000000000000000000000"
                                               "\x21\x00\x00\x00\x00\x10\x00\x00\x00\x11\x00\x00\x00\x20\x00\x00"
                                               "\x01\x00\x01\x00\x00\x30\x00\x00";

static void epilogue_by_bytes(void **state)
{
    const struct bytes_row *row = *state;
    uint8_t code[0x40 + 16];
    memset(code, 0x90, sizeof code);
    memcpy(code + 0x40, row->code, row->size);
    const struct world w = { code, 0x40 + row->size, frame_and_fragment, sizeof frame_and_fragment - 1 };
    assert_true(memcmp(frame_and_fragment + 0x40, "\x21\x00", 2) == 0);
    assert_rule(&w, (struct sw_pe_function){ CODE, CODE + SIZE, INFO }, CODE + 0x40, true, SW_OK, row->rule);
}

/* call [rax+0x58]; ret: the last byte of the call looks like pop rax. A return address - 1 is never an epilogue. */
static void call_before_a_return_address_is_body(void **state)
{
    (void)state;
    uint8_t code[0x44] = { 0 };
    memcpy(code + 0x40, "\xff\x50\x58\xc3", 4);
    const struct world w = { code, sizeof code, FRAME, sizeof FRAME - 1 };
    const struct sw_pe_function function = { CODE, CODE + SIZE, INFO };
    assert_rule(&w, function, CODE + 0x42, true, SW_OK, "rsp+16 rax[-16]");
    assert_rule(&w, function, CODE + 0x42, false, SW_OK, BODY);
}

/* push rbp; sub rsp,0x30; lea rbp,[rsp+0x20]: frame register rbp, offset 2. */
static const struct bytes_row frame_rows[] = {
    { "lea_disp8_from_the_frame_register", BYTES("\x48\x8d\x65\x10\x5d\xc3"), "rbp+32 rbp[-16]" },
    { "lea_disp32_from_the_frame_register", BYTES("\x48\x8d\xa5\x10\x00\x00\x00\x5d\xc3"), "rbp+32 rbp[-16]" },
    { "lea_from_another_register_is_body", BYTES("\x48\x8d\x63\x10\x5d\xc3"), "rbp+32 rbp[-16]" },
    { "add_with_a_frame_register", BYTES("\x48\x83\xc4\x30\x5d\xc3"), "rsp+64 rbp[-16]" },
};

static void epilogue_with_frame_register(void **state)
{
    const struct bytes_row *row = *state;
    static const char info[] = "\x01\x0a\x03\x25\x0a\x03\x05\x52\x01\x50";
    uint8_t code[0x40 + 16] = { 0 };
    memcpy(code + 0x40, row->code, row->size);
    const struct world w = { code, 0x40 + row->size, info, sizeof info - 1 };
    assert_rule(&w, (struct sw_pe_function){ CODE, CODE + SIZE, INFO }, CODE + 0x40, true, SW_OK, row->rule);
}

/* ---- bodies: where one rule holds, and what may begin an epilogue there ---- */

/* Every two bytes, many third ones, returns behind them. With a frame register, from which an epilogue may count. */
static void what_does_not_begin_an_epilogue_is_body(void **state)
{
    static const char info[] = "\x01\x0a\x03\x25\x0a\x03\x05\x52\x01\x50";
    const struct sw_pe_function function = { CODE, CODE + SIZE, INFO };
    uint8_t code[0x40 + 16];
    const struct world w = { code, sizeof code, info, sizeof info - 1 };
    const struct sw_pe_reader reader = { get, find, (void *)(uintptr_t)&w };
    struct sw_rule body, exact;
    uint32_t begin, epilogues = 0;
    (void)state;
    memset(code, 0xc3, sizeof code);
    memset(&body, 0, sizeof body);
    memset(&exact, 0, sizeof exact);
    assert_int_equal(sw_pe_body(SW_MACHINE_X64, &reader, &function, &begin), SW_OK);
    assert_int_equal(begin, CODE + 10);
    assert_int_equal(sw_pe_x64_rule(&reader, &function, begin, false, SW_PE_WINDOWS_NONVOLATILE, &body), SW_OK);
    for (uint32_t n = 0; n < 1 << 21; n++) {
        memcpy(code + 0x40, (const uint8_t[]){ (uint8_t)(n >> 13), (uint8_t)(n >> 5), (uint8_t)(n << 3 | 4) }, 3);
        if (sw_pe_may_begin_epilogue(code + 0x40)) {
            epilogues++;
            continue;
        }
        assert_int_equal(sw_pe_x64_rule(&reader, &function, CODE + 0x40, true, SW_PE_WINDOWS_NONVOLATILE, &exact),
                         SW_OK);
        assert_memory_equal(&body, &exact, sizeof body);
    }
    assert_in_range(epilogues, 1, (1 << 21) / 8); /* most code goes on */
}

static const struct body_row {
    const char *name;
    const char *info;
    size_t size;
    uint32_t unwind, end;
    enum sw_status status;
    uint32_t begin;
} body_rows[] = {
    { "body_behind_the_prolog", BYTES(FRAME), INFO, CODE + SIZE, SW_OK, CODE + 6 },
    { "body_behind_the_last_code", BYTES("\x01\x02\x03\x00\x06\x32\x02\x30\x01\x50"), INFO, CODE + SIZE, SW_OK,
      CODE + 6 },
    { "body_without_codes", BYTES("\x01\x00\x00\x00"), INFO, CODE + SIZE, SW_OK, CODE },
    { "no_body_where_the_function_ends", BYTES(FRAME), INFO, CODE + 6, SW_E_NO_RULE, 0 },
    { "no_body_of_an_indirect_entry", BYTES(FRAME), INFO + 1, CODE + SIZE, SW_E_NO_RULE, 0 },
    { "no_body_of_a_chained_entry", BYTES("\x21\x00\x00\x00\x00\x10\x00\x00\x00\x11\x00\x00\x00\x20\x00\x00"), INFO,
      CODE + SIZE, SW_E_NO_RULE, 0 },
    { "no_body_with_listed_epilogues", BYTES("\x02\x01\x01\x00\x01\x50"), INFO, CODE + SIZE, SW_E_NO_RULE, 0 },
    { "no_body_by_cut_data", BYTES("\x01\x06\x03\x00\x06"), INFO, CODE + SIZE, SW_E_TRUNCATED, 0 },
    { "no_body_by_a_bad_code", BYTES("\x01\x06\x01\x00\x06\x0c"), INFO, CODE + SIZE, SW_E_MALFORMED, 0 },
};

static void body_is_told(void **state)
{
    const struct body_row *row = *state;
    const struct world w = { "", 0, row->info, row->size };
    const struct sw_pe_reader reader = { get, find, (void *)(uintptr_t)&w };
    const struct sw_pe_function function = { CODE, row->end, row->unwind };
    uint32_t begin = 0;
    assert_int_equal(sw_pe_body(SW_MACHINE_X64, &reader, &function, &begin), row->status);
    if (row->status == SW_OK)
        assert_int_equal(begin, row->begin);
    assert_int_equal(sw_pe_body(SW_MACHINE_ARM64, &reader, &function, &begin), SW_E_NO_RULE);
}

/* ---- version 2: pushes r14 rdi rbx, alloc 0x20; epilogue of 5 bytes: pop rbx, pop rdi, pop r14, ret ---- */

#define V2 "\x02\x08\x06\x00\x05\x16\x20\x06\x08\x32\x04\x30\x03\x70\x02\xe0"
static const struct listed_row {
    const char *name;
    uint32_t offset;
    const char *rule;
} listed_rows[] = {
    { "v2_body", 0x40, "rsp+64 rbx[-32] rdi[-24] r14[-16]" },
    { "v2_before_the_last_epilogue", 0xfa, "rsp+64 rbx[-32] rdi[-24] r14[-16]" },
    { "v2_last_epilogue_begins", 0xfb, "rsp+32 rbx[-32] rdi[-24] r14[-16]" },
    { "v2_after_pop_rbx", 0xfc, "rsp+24 rdi[-24] r14[-16]" },
    { "v2_after_pop_rdi", 0xfd, "rsp+16 r14[-16]" },
    { "v2_at_the_last_ret", 0xff, "rsp+8" },
    { "v2_before_the_listed_epilogue", 0xdf, "rsp+64 rbx[-32] rdi[-24] r14[-16]" },
    { "v2_listed_epilogue_begins", 0xe0, "rsp+32 rbx[-32] rdi[-24] r14[-16]" },
    { "v2_at_the_listed_ret", 0xe4, "rsp+8" },
    { "v2_behind_the_listed_epilogue", 0xe5, "rsp+64 rbx[-32] rdi[-24] r14[-16]" },
    { "v2_prolog", 3, "rsp+24 rdi[-24] r14[-16]" },
};

static void epilogue_by_codes(void **state)
{
    const struct listed_row *row = *state;
    const struct world w = { NULL, 0, BYTES(V2) };
    assert_rule(&w, (struct sw_pe_function){ CODE, CODE + SIZE, INFO }, CODE + row->offset, true, SW_OK, row->rule);
}

/* More listed epilogues: only the end flag off, an offset of more than a byte, padding. */
static void v2_epilogues_far_from_the_end(void **state)
{
    (void)state;
    static const char info[] = "\x02\x01\x05\x00\x02\x06\x20\x16\x00\x06\x00\x06\x01\x30";
    const struct world w = { NULL, 0, info, sizeof info - 1 };
    const struct sw_pe_function function = { CODE, CODE + 0x400, INFO };
    assert_rule(&w, function, CODE + 0x400 - 0x120, true, SW_OK, "rsp+16 rbx[-16]");
    assert_rule(&w, function, CODE + 0x400 - 0x11f, true, SW_OK, "rsp+8");
    assert_rule(&w, function, CODE + 0x400 - 0x11e, true, SW_OK, "rsp+16 rbx[-16]");
    assert_rule(&w, function, CODE + 0x400 - 1, true, SW_OK, "rsp+16 rbx[-16]");
}

/* push rax recorded as ALLOC_SMALL 8 in front of the pushes is a one-byte pop behind them. */
static void v2_pop_of_eight_bytes(void **state)
{
    (void)state;
    static const char info[] = "\x02\x02\x04\x00\x03\x16\x00\x06\x02\x30\x01\x02";
    const struct world w = { NULL, 0, info, sizeof info - 1 };
    const struct sw_pe_function function = { CODE, CODE + SIZE, INFO };
    assert_rule(&w, function, CODE + SIZE - 3, true, SW_OK, "rsp+24 rbx[-24]");
    assert_rule(&w, function, CODE + SIZE - 2, true, SW_OK, "rsp+16");
    assert_rule(&w, function, CODE + SIZE - 1, true, SW_OK, "rsp+8");
}

/* ---- DLLs of a real compiler ---- */

static const char source[] =
    "#include <stdlib.h>\n#include <string.h>\n"
    "#define E __declspec(dllexport)\n"
    "extern volatile int sink; volatile int sink;\n"
    "E int leaf(int a) { return a + 1; }\n"
    "E __attribute__((noinline)) int many(int a, int b, int c, int d, int e, int f) { char x[64]; memset(x, a, b & 63);"
    " sink += x[c & 63]; return many(b, c, d, e, f, a) + f + sink + many(e, d, c, b, a, f); }\n"
    "E int large(int a) { char x[70000]; memset(x, a, sizeof x); sink += x[a & 1023]; return leaf(x[sink & 7]) + a; }\n"
    "E int dynamic(int n) { char *p = __builtin_alloca((size_t)n); memset(p, n, (size_t)n); sink += p[n / 2];"
    " return many(n, 1, 2, 3, 4, 5) + p[0]; }\n"
    "E double floats(double *v, int n) { double a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7; for (int i = 0; i < "
    "n; i++)"
    " { a += v[i] * b; b += a; c *= b + leaf(i); d += c; e -= d; f += many(i, 1, 2, 3, 4, 5) * e; g += f * a; }"
    " return a + b + c + d + e + f + g; }\n"
    "E int choose(int n) { switch (n) { case 0: return leaf(4); case 1: return many(1, 2, 3, 4, 5, 6); case 2: return "
    "large(n);"
    " case 3: return dynamic(9); case 4: return sink; case 5: return sink + 7; case 6: sink = 1; return 3; } return "
    "-1; }\n"
    "E int tail(int n) { sink = n; return many(n, n, n, n, n, n); }\n";

/* gcc's cold parts (.text.unlikely) are entries of their own, not chained: this test would take a jump between the
 * parts for an end of the function. */
#define NO_COLD_PARTS "-fno-reorder-blocks-and-partition"
static const char *const options[] = {
    "-O0", "-O1", "-O2", "-Os", "-O3 -fno-omit-frame-pointer", "-O2 -fno-omit-frame-pointer"
};

struct dll {
    struct sw_pe pe;
    struct sw_bytes table;
};

static enum sw_status dll_rule(void *arg, uint64_t address, bool exact, struct sw_rule *rule)
{
    struct dll *dll = arg;
    struct sw_pe_function function;
    const struct sw_pe_reader reader = sw_pe_reader_of(&dll->pe);
    enum sw_status status =
        sw_pe_find(&dll->pe, dll->table, (uint32_t)(address - dll->pe.bytes.address), &function, NULL);
    if (status)
        return status;
    return sw_pe_x64_rule(&reader, &function, (uint32_t)(address - dll->pe.bytes.address), exact,
                          SW_PE_WINDOWS_NONVOLATILE, rule);
}

static uint8_t *read_whole(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    uint8_t *bytes = malloc(1 << 22);
    *size = fread(bytes, 1, 1 << 22, f);
    fclose(f);
    return bytes;
}

static void check_dll(const char *path, const char *option)
{
    struct dll dll;
    size_t size;
    uint8_t *bytes = read_whole(path, &size);
    uint32_t rva;
    struct flow flow = { .rule = dll_rule, .arg = &dll };
    assert_int_equal(sw_pe_open((struct sw_bytes){ bytes, size, UINT64_C(0x180000000) }, false, &dll.pe), SW_OK);
    assert_false(dll.pe.linux_code);
    dll.table = sw_pe_at(&dll.pe, dll.pe.pdata_rva, dll.pe.pdata_size);
    assert_true(dll.table.size > 12 * 8);
    assert_int_equal(sw_pe_export(&dll.pe, "choose", &rva), SW_OK);
    assert_int_equal(sw_pe_find(&dll.pe, dll.table, rva, NULL, NULL), SW_OK);
    assert_int_equal(sw_pe_export(&dll.pe, "chooses", &rva), SW_E_NOT_FOUND);
    for (uint64_t at = 0; at < dll.table.size; at += 12) {
        const uint32_t begin = sw_load32(dll.table.bytes + at);
        const struct sw_bytes code = sw_pe_at(&dll.pe, begin, sw_load32(dll.table.bytes + at + 4) - begin);
        flow.code = code.bytes;
        flow.size = code.size;
        flow.address = code.address;
        flow_run(&flow);
    }
    print_message("%s: %llu functions, %llu instructions, %llu steps, %llu ends\n", option,
                  (unsigned long long)(dll.table.size / 12), (unsigned long long)flow.instructions,
                  (unsigned long long)flow.compared, (unsigned long long)flow.ends);
    if (flow.wrong)
        fail_msg("%s", flow.first_wrong);
    assert_int_equal(flow.undecoded, 0);
    assert_true(flow.compared > 300 && flow.ends > 10);
    free(bytes);
}

static void rules_of_a_compiled_dll_agree_with_its_instructions(void **state)
{
    (void)state;
    char folder[] = "/tmp/snapwalk-pe-XXXXXX";
    char command[512];
    char path[64];
    if (system("command -v x86_64-w64-mingw32-gcc >/dev/null 2>&1") != 0) {
        print_message("skipped: no x86_64-w64-mingw32-gcc\n");
        skip();
    }
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.c", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(source, f);
    fclose(f);
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        snprintf(command, sizeof command, "x86_64-w64-mingw32-gcc -shared -s " NO_COLD_PARTS " %s -o %s/a.dll %s/a.c",
                 options[i], folder, folder);
        assert_int_equal(system(command), 0);
        snprintf(path, sizeof path, "%s/a.dll", folder);
        check_dll(path, options[i]);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* ---- the table ---- */

static void entry_is_found_by_binary_search(void **state)
{
    (void)state;
    const struct sw_pe pe = { .machine = SW_MACHINE_X64 };
    uint8_t table[12 * 5];
    struct sw_pe_function function;
    uint32_t index;
    for (uint32_t i = 0; i < 5; i++)
        for (uint32_t k = 0; k < 12; k++)
            table[12 * i + k] = k % 4 ? (k % 4 == 1 ? (uint8_t)(i + 1) : 0) : (uint8_t)(k == 4 ? 0x80 : 0);
    const struct sw_bytes bytes = { table, sizeof table, 0 };
    for (uint32_t rva = 0; rva < 0x700; rva++) {
        const bool inside = rva >= 0x100 && rva < 0x600 && (rva & 0xff) < 0x80;
        assert_int_equal(sw_pe_find(&pe, bytes, rva, &function, &index), inside ? SW_OK : SW_E_NO_RULE);
        if (inside)
            assert_true(index == rva / 0x100 - 1 && function.begin == (rva & 0xff00));
    }
    assert_int_equal(sw_pe_find(&pe, (struct sw_bytes){ 0 }, 1, NULL, NULL), SW_E_NO_RULE);
}

int main(void)
{
    static const struct CMUnitTest single[] = {
        cmocka_unit_test(info_cut_anywhere_is_truncated),
        cmocka_unit_test(rva_outside_the_function_has_no_rule),
        cmocka_unit_test(registers_outside_the_convention_are_lost),
        cmocka_unit_test(call_before_a_return_address_is_body),
        cmocka_unit_test(what_does_not_begin_an_epilogue_is_body),
        cmocka_unit_test(v2_epilogues_far_from_the_end),
        cmocka_unit_test(v2_pop_of_eight_bytes),
        cmocka_unit_test(entry_is_found_by_binary_search),
        cmocka_unit_test(rules_of_a_compiled_dll_agree_with_its_instructions),
    };
    struct CMUnitTest tests[COUNT_OF(op_rows) + COUNT_OF(bytes_rows) + COUNT_OF(frame_rows) + COUNT_OF(listed_rows) +
                            COUNT_OF(body_rows) + COUNT_OF(single)];
    size_t n = 0;
    ADD_ROWS(tests, n, op_rows, operation_is_undone);
    ADD_ROWS(tests, n, bytes_rows, epilogue_by_bytes);
    ADD_ROWS(tests, n, frame_rows, epilogue_with_frame_register);
    ADD_ROWS(tests, n, listed_rows, epilogue_by_codes);
    ADD_ROWS(tests, n, body_rows, body_is_told);
    for (size_t i = 0; i < COUNT_OF(single); i++)
        tests[n++] = single[i];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
