/*
 * The audit from the inside: a file with tables, and the comparison.
 */
#ifndef SW_AUDIT_AUDIT_H
#define SW_AUDIT_AUDIT_H

#include "analyze/analyze.h"
#include "cfi/cfi.h"
#include "clr/clr.h"
#include "elf/elf.h"

#include <snapwalk/audit.h>

/*
 * A file of one machine: entries of its table by number, bytes at an address, the table's rule.
 *
 * elf, cfi   For an ELF file; elf is null for PE.
 * table      PE: the RUNTIME_FUNCTIONs.
 * clr        A ReadyToRun image, where has_clr: which entries are methods, and their names.
 */
struct sw_audit_file {
    struct sw_alloc alloc;
    struct sw_bytes bytes;
    enum sw_machine machine;
    size_t entry_count;
    struct sw_elf *elf;
    struct sw_cfi cfi;
    struct sw_cfi_entry *index;
    struct sw_cfi_work cfi_work;
    struct sw_pe pe;
    struct sw_bytes table;
    bool has_clr;
    struct sw_clr_image clr;
    char name[128];
};

/* Returns  As sw_audit_file. `file` is zeroed but for alloc and bytes. close also after a failure. */
enum sw_status sw_audit_open(struct sw_audit_file *file);
void sw_audit_close(struct sw_audit_file *file);

/* Entry n: its code and name; is_entry and returns are left alone. */
void sw_audit_entry(struct sw_audit_file *file, size_t n, struct sw_audit_function *function);

/* False for an entry that is known not to be entered by a call: a funclet or a cold part of a ReadyToRun image. */
bool sw_audit_is_called(const struct sw_audit_file *file, size_t n);

/* Bytes of executable code at an address, or null. `arg` is the file: a sw_code's fetch. */
const uint8_t *sw_audit_fetch(void *arg, uint64_t address, size_t *size);

/* The table's rule at an address of entry n. Returns  As sw_cfi_rule and sw_pe_rule. */
enum sw_status sw_audit_table_rule(struct sw_audit_file *file, size_t n, uint64_t address, struct sw_rule *rule);

/* compare.c: whether the table's rule holds in the state that `analysis` was read off; which register differs. */
enum sw_audit_verdict sw_audit_compare(const struct sw_arch *arch, const struct sw_rule *table, const struct sw_rule *analysis,
                                       const struct sw_state *state, uint8_t *reg);

/*
 * Whether the table has `reg` in a word below sp, which anything may overwrite, while the register itself holds it: what
 * clang says at a return that a path comes to on which nothing was saved.
 */
bool sw_audit_is_left_behind(const struct sw_arch *arch, const struct sw_rule *table, const struct sw_state *state, uint8_t reg);

/*
 * Whether the table contradicts itself around an instruction that goes on to the next: its rules in front and behind,
 * and what the instruction does. `state` is working memory.
 */
bool sw_audit_contradicts(const struct sw_arch *arch, const struct sw_rule *front, const struct sw_insn *insn, const struct sw_rule *behind,
                          struct sw_state *state);

#endif
