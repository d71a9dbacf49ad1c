/*
 * A validator of unwind tables: it compares, for each instruction of a file, the rule in the tables (CFI, Windows
 * unwind data) with the rule that the instructions themselves give. For checking your own builds, not for walks.
 */
#ifndef SNAPWALK_AUDIT_H
#define SNAPWALK_AUDIT_H

#include <snapwalk/alloc.h>
#include <snapwalk/walk.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The result for one instruction. ORDER sw_audit_verdict: src/audit/text.c. */
enum sw_audit_verdict {
    SW_AUDIT_EQUAL = 0, /* the instructions confirm the table, and both know the same registers */
    SW_AUDIT_UNREACHED, /* no path from the function's start leads there, or every path loses the CFA */
    SW_AUDIT_CFA,       /* the table's CFA differs from that of the instructions */
    SW_AUDIT_RETURN,    /* the return address is elsewhere */
    SW_AUDIT_REGISTER,  /* the nonvolatile register `reg` is elsewhere */
    SW_AUDIT_LOST,      /* the table has the nonvolatile register `reg`, but the instructions lose it */
    SW_AUDIT_FALSE,     /* they differ, and the table is known to be wrong: see is_false. PE also: a jump out of the
                             * entry, which the table's rule takes for the end of an epilogue */
    SW_AUDIT_END,       /* not compared: by the table there is no caller, or the caller was interrupted */
    SW_AUDIT_NO_TABLE,  /* not compared: the table cannot be read there, or computes the CFA */
    SW_AUDIT_PART,      /* not compared: code that no call enters (cold parts, PLT, chained entries) */
    SW_AUDIT_PADDING,   /* not compared: filler after code that does not continue */
    SW_AUDIT_BAD_CODE,  /* not compared: not an instruction */
    SW_AUDIT_VERDICT_COUNT
};

/* The flow of the instruction before this one. ORDER sw_audit_after: src/audit/text.c; sw_flow: lib/base/effect.h. */
enum sw_audit_after {
    SW_AUDIT_AFTER_PLAIN = 0,
    SW_AUDIT_AFTER_CALL,
    SW_AUDIT_AFTER_BRANCH,
    SW_AUDIT_AFTER_JUMP,
    SW_AUDIT_AFTER_INDIRECT, /* a jump through a register or memory: switches, tail calls */
    SW_AUDIT_AFTER_RETURN,
    SW_AUDIT_AFTER_TRAP,
    SW_AUDIT_AFTER_NOTHING, /* there is none: this is the first */
    SW_AUDIT_AFTER_COUNT
};

/*
 * One entry of the table. Addresses are link-time addresses (ELF) or RVAs (PE).
 *
 * name     "" if there is none.
 * machine  enum sw_machine: that of the file.
 * is_entry By the table, a call enters it: only the return address is on the stack.
 * returns  It has an instruction that may leave it: a return, a jump out, or an indirect jump.
 * is_false At false_at, and maybe later, the table's rules before and after an instruction contradict the instruction:
 *          rsp moves and the CFA with it; or a register changes that the table has unchanged.
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
 * length   In bytes.
 * verdict  enum sw_audit_verdict.
 * after    enum sw_audit_after.
 * reg      The register, by number of regs.h, if the verdict has one.
 * trust    enum sw_trust of the instructions' rule. NONE: they give no rule.
 * table, analysis  Both rules, for sw_audit_text. Null: there is none.
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

/* Functions are analysed as if only their start were known: every jump is followed, wherever it leads. */
#define SW_AUDIT_END_UNKNOWN 1u

/*
 * Audits a file in memory, of x64 or ARM64: reports every instruction of every table entry to `sink`, by ascending
 * entries.
 *
 * The table's rule is compared with the state that the instructions lead to. So an error of sp alone does not show
 * while the table counts from fp. A register counts as equal if, by the instructions, it has the same value in both
 * places: it is saved, but not changed yet. In Windows code rsi, rdi and the xmm registers are not compared.
 *
 * bytes    An ELF or PE file as on disk. Borrowed during the call.
 * alloc    May be null.
 * flags    SW_AUDIT_*.
 * sink     Its argument is valid until it returns. If it returns false, the audit ends.
 *
 * Returns  SW_OK (also if the sink ended the audit); SW_E_ARGUMENT; SW_E_NO_MEMORY; SW_E_NOT_FOUND (no unwind tables);
 *          SW_E_TRUNCATED, SW_E_MALFORMED, SW_E_UNSUPPORTED (not such a file). Bad bytes inside tables or code are
 *          verdicts.
 * Memory   Allocates 24 bytes per entry plus some 150 KiB, and frees everything. Threads  Any. Signals  Not safe.
 * Source   DWARF 5 section 6.4; "x64 exception handling", "ARM64 exception handling", Microsoft Learn; Intel SDM vol.
 *          2.
 */
SW_API SW_NODISCARD enum sw_status sw_audit_file(const void *bytes, size_t size, const struct sw_alloc *alloc,
                                                 uint32_t flags,
                                                 bool (*sink)(void *arg, const struct sw_audit_insn *insn), void *arg);

/*
 * Writes a rule for people: "cfa=rsp+16 rbx=[cfa-16]". Unchanged registers are left out; "?" is a lost one.
 *
 * rule     Null is written as "none".
 * text     Receives a NUL-terminated string, cut to size - 1 bytes.
 *
 * Returns  text. Threads  Any. Signals  Safe.
 */
SW_API const char *sw_audit_text(enum sw_machine machine, const struct sw_rule *rule, char *text, size_t size);

/*
 * Names for people: "cfa-differs"; "indirect-jump".
 *
 * Returns  A constant string; "?" out of range. Memory  Static. Threads  Any. Signals  Safe.
 */
SW_API const char *sw_audit_verdict_name(enum sw_audit_verdict verdict);
SW_API const char *sw_audit_after_name(enum sw_audit_after after);

#ifdef __cplusplus
}

extern "C++" {
/* Of a byte, as structures hold it, too: C++ makes no enumeration of it. Threads  Any. Signals  Safe. */
inline const char *sw_audit_verdict_name(uint8_t verdict)
{
    return sw_audit_verdict_name(static_cast<enum sw_audit_verdict>(verdict));
}
inline const char *sw_audit_after_name(uint8_t after)
{
    return sw_audit_after_name(static_cast<enum sw_audit_after>(after));
}
}
#endif

#endif
