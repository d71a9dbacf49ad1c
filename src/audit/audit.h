/* The audit, internal interface: a file with tables, and the comparison. */
#ifndef SW_AUDIT_AUDIT_H
#define SW_AUDIT_AUDIT_H

#include "analyze/analyze.h"
#include "cfi/cfi.h"
#include "clr/clr.h"
#include "elf/elf.h"

#include <snapwalk/audit.h>

/*
 * A file for one machine: entries of its table by number, bytes at an address, the table's rule.
 *
 * elf, cfi   Of an ELF file; elf is null for PE.
 * table      PE: the RUNTIME_FUNCTIONs.
 * clr        A ReadyToRun image, if has_clr: which entries are methods, and their names.
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

/* open: `file` is zeroed except for alloc and bytes. Returns as sw_audit_file. close is called after a failure too. */
enum sw_status sw_audit_open(struct sw_audit_file *file);
void sw_audit_close(struct sw_audit_file *file);

/* Fills in the code and name of entry n; is_entry and returns are left unchanged. */
void sw_audit_entry(struct sw_audit_file *file, size_t n, struct sw_audit_function *function);

/* False: the entry is known not to be entered by a call: a funclet or a cold part of a ReadyToRun image. */
bool sw_audit_is_called(const struct sw_audit_file *file, size_t n);

/* Bytes of executable code at an address, or null. This is the fetch of a struct sw_code; `arg` is the file. */
const uint8_t *sw_audit_fetch(void *arg, uint64_t address, size_t *size);

/* The table's rule at an address in entry n. Returns as sw_cfi_rule and sw_pe_rule. */
enum sw_status sw_audit_table_rule(struct sw_audit_file *file, size_t n, uint64_t address, struct sw_rule *rule);

/*
 * compare.c: whether the table's rule holds in the state from which `analysis` was derived. reg: the register that
 * differs.
 */
enum sw_audit_verdict sw_audit_compare(const struct sw_arch *arch, const struct sw_rule *table,
                                       const struct sw_rule *analysis, const struct sw_state *state, uint8_t *reg);

/*
 * Whether the table puts `reg` into a word below sp, which anything may overwrite, while the register itself still
 * holds the value. clang does so at a return that is also reached by a path on which nothing was saved.
 */
bool sw_audit_is_below_sp(const struct sw_arch *arch, const struct sw_rule *table, const struct sw_state *state,
                          uint8_t reg);

/*
 * Whether the table contradicts itself around an instruction that continues to the next one: its rules in front of it
 * and behind it, against what the instruction does. `state` is working memory.
 */
bool sw_audit_contradicts(const struct sw_arch *arch, const struct sw_rule *front, const struct sw_insn *insn,
                          const struct sw_rule *behind, struct sw_state *state);

#endif
