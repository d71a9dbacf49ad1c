/*
 * A validator of unwind tables: the rule of every instruction of a file by its tables (CFI, Windows unwind data) beside
 * what the instructions themselves say. For builds to be checked by those who made them; not for walks.
 */
#ifndef SNAPWALK_AUDIT_H
#define SNAPWALK_AUDIT_H

#include <snapwalk/alloc.h>
#include <snapwalk/walk.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What came out for one instruction. ORDER sw_audit_verdict: src/audit/text.c. */
enum sw_audit_verdict {
    SW_AUDIT_EQUAL = 0,     /* what the table claims holds by the instructions, and both know the same registers */
    SW_AUDIT_UNREACHED,     /* no path from the function's start leads there, or the CFA is lost on all that do */
    SW_AUDIT_CFA,           /* the table's CFA is not what the instructions make of it */
    SW_AUDIT_RETURN,        /* the return address is elsewhere */
    SW_AUDIT_REGISTER,      /* a nonvolatile register is elsewhere: `reg` */
    SW_AUDIT_LOST,          /* the table has a nonvolatile register that the instructions lose: `reg` */
    SW_AUDIT_FALSE,         /* they differ, and the table is known to be wrong: see is_false; PE also: a jump out
                             * of the entry, which its rule takes for the end of an epilogue */
    SW_AUDIT_END,           /* not compared: the table says that there is no caller, or that it was interrupted */
    SW_AUDIT_NO_TABLE,      /* not compared: the table cannot be read there, or computes the CFA */
    SW_AUDIT_PART,          /* not compared: code that is not entered by a call (cold parts, PLT, chained entries) */
    SW_AUDIT_PADDING,       /* not compared: filler behind code that does not go on */
    SW_AUDIT_BAD_CODE,      /* not compared: not an instruction */
    SW_AUDIT_VERDICT_COUNT
};

/* How control gets past the instruction in front. ORDER sw_audit_after: src/audit/text.c; sw_flow: effect.h. */
enum sw_audit_after {
    SW_AUDIT_AFTER_PLAIN = 0,
    SW_AUDIT_AFTER_CALL,
    SW_AUDIT_AFTER_BRANCH,
    SW_AUDIT_AFTER_JUMP,
    SW_AUDIT_AFTER_INDIRECT, /* a jump through a register or memory: switches, tail calls */
    SW_AUDIT_AFTER_RETURN,
    SW_AUDIT_AFTER_TRAP,
    SW_AUDIT_AFTER_NOTHING,  /* it is the first */
    SW_AUDIT_AFTER_COUNT
};

/*
 * One entry of the table. Addresses are link-time addresses (ELF) or RVAs (PE).
 *
 * name     "" where there is none.
 * machine  enum sw_machine, of the file.
 * is_entry The table says that it is entered by a call: nothing is on the stack but the return address.
 * returns  It has an instruction that may leave it: a return, a jump out, an indirect jump.
 * is_false The table's rules in front of and behind an instruction do not fit what that instruction does (rsp moves and
 *          the CFA with it; a register is changed and said to be unchanged): the first is at false_at.
 */
struct sw_audit_function {
    uint64_t begin;
    uint64_t end;
    const char *name;
    uint8_t machine;
    bool is_entry;
    bool returns;
    bool is_false;
    uint64_t false_at;
};

struct sw_rule;

/*
 * One instruction.
 *
 * verdict  enum sw_audit_verdict.  after  enum sw_audit_after.
 * reg      By number of regs.h, for the verdicts that name one.
 * trust    enum sw_trust of what the instructions say; NONE where they say nothing.
 * table, analysis  Both rules, null where there is none; for sw_audit_text.
 */
struct sw_audit_insn {
    const struct sw_audit_function *function;
    uint64_t address;
    uint8_t length;
    uint8_t verdict;
    uint8_t after;
    uint8_t reg;
    uint8_t trust;
    const struct sw_rule *table;
    const struct sw_rule *analysis;
};

/* Functions are analysed as if only their start were known: jumps are followed wherever they lead. */
#define SW_AUDIT_END_UNKNOWN 1u

/*
 * Audits a file in memory: shows every instruction of every entry of its tables to `sink`, by ascending entries.
 * x64 and ARM64. A register counts as equal when it holds the same value in both places by the instructions (saved, but not
 * changed yet). What is compared is the table's claim with the state that the instructions lead to, so an error of sp
 * alone does not show while the table counts from fp. Windows code: rsi, rdi and xmm registers are not compared.
 *
 * bytes    An ELF or PE file as it lies on disk; borrowed during the call.
 * alloc    May be null.
 * flags    SW_AUDIT_*.
 * sink     What it is given is valid until it returns. False ends the audit.
 *
 * Returns  SW_OK (also when the sink ended it); SW_E_ARGUMENT; SW_E_NO_MEMORY; SW_E_NOT_FOUND (no unwind tables);
 *          SW_E_TRUNCATED, SW_E_MALFORMED, SW_E_UNSUPPORTED (not a file of these kinds). Bad bytes inside of tables or
 *          code are verdicts.
 * Memory   Allocates 24 bytes an entry and some 150 KiB, gives all back. Threads  Any. Signals  Not safe.
 * Source   DWARF 5 section 6.4; "x64 exception handling", "ARM64 exception handling", Microsoft Learn; Intel SDM vol. 2.
 */
SW_NODISCARD enum sw_status sw_audit_file(const void *bytes, size_t size, const struct sw_alloc *alloc, uint32_t flags,
                                          bool (*sink)(void *arg, const struct sw_audit_insn *insn), void *arg);

/*
 * A rule for people: "cfa=rsp+16 rbx=[cfa-16]"; registers that are unchanged are left out, "?" is one that is lost.
 *
 * rule     May be null: "none".
 * text     Receives a NUL-terminated string, cut at size - 1 bytes.
 *
 * Returns  text. Threads  Any. Signals  Safe.
 */
const char *sw_audit_text(enum sw_machine machine, const struct sw_rule *rule, char *text, size_t size);

/*
 * Names for people: "cfa-differs", "indirect-jump".
 *
 * Returns  A constant string; "?" out of range. Memory  Static. Threads  Any. Signals  Safe.
 */
const char *sw_audit_verdict_name(enum sw_audit_verdict verdict);
const char *sw_audit_after_name(enum sw_audit_after behind);

#ifdef __cplusplus
}
#endif

#endif
