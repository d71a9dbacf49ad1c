/*
 * PE images, and Windows unwind data (UNWIND_INFO of x64, .pdata and .xdata of ARM64) → rule. Knows the formats;
 * refuses to know .NET (clr/ does).
 */
#ifndef SW_PE_PE_H
#define SW_PE_PE_H

#include "base/bytes.h"
#include "base/rule.h"
#include "base/store.h"

/*
 * A parsed PE32+ image: borrowed bytes.
 *
 * bytes    The file, or the image as it is mapped; address = the base address in the target.
 * store    Where bytes come from before they are looked at; null: they are all there, or what is not there is zero.
 * mapped   True: a mapped image, in which an RVA is an offset into bytes. False: a file; sections are looked up.
 */
struct sw_pe {
    struct sw_bytes bytes;
    const struct sw_store *store;
    bool mapped;
    bool linux_code;         /* the machine code is .NET's for Linux: SysV calling convention */
    enum sw_machine machine; /* x64 or ARM64, by Linux or Windows machine code */
    uint32_t sections;       /* offset of the section headers, and how many */
    uint16_t section_count;
    uint32_t size_of_image;
    uint32_t size_of_headers;
    uint32_t export_rva; /* data directory 0 */
    uint32_t export_size;
    uint32_t pdata_rva; /* data directory 3 */
    uint32_t pdata_size;
    uint32_t cli_rva; /* data directory 14, 0 when none */
    uint32_t cli_size;
};

/*
 * Reads the headers. Nothing is copied: pe borrows the bytes.
 *
 * Returns  SW_OK; SW_E_TRUNCATED; SW_E_MALFORMED (no PE file, or headers that contradict each other);
 *          SW_E_UNSUPPORTED (not PE32+, or another machine than x64 and ARM64).
 * Memory   Allocates nothing. Threads  Any. Signals  Safe.
 * Source   Microsoft PE/COFF specification, "Optional Header"; win-x64-unwind.md section 7 for the Linux codes.
 */
SW_NODISCARD enum sw_status sw_pe_open(struct sw_bytes bytes, bool mapped, struct sw_pe *pe);
/* As open, for a file in a store, which is the image's for its life, or until sw_pe_settle. */
SW_NODISCARD enum sw_status sw_pe_open_stored(struct sw_bytes bytes, const struct sw_store *store, struct sw_pe *pe);

/*
 * How far the headers of a file go, PE32 or PE32+, of any machine. 0: it is no PE file, or they are said to end in
 * front of the field that says so. Signals  Safe.
 */
uint32_t sw_pe_headers_size(struct sw_bytes file);

/*
 * at: `size` bytes at an RVA; empty unless they all lie in one section or in the header. place: where they are, without
 * asking a store for them; sw_pe_find asks for entries of a table. rest: all bytes from there to
 * the end of that section, of which a store has only those that sw_pe_at or sw_pe_want asked for. Signals  Safe; at
 * most 96 sections are searched.
 */
struct sw_bytes sw_pe_at(const struct sw_pe *pe, uint32_t rva, uint32_t size);
struct sw_bytes sw_pe_place(const struct sw_pe *pe, uint32_t rva, uint32_t size);
struct sw_bytes sw_pe_rest(const struct sw_pe *pe, uint32_t rva);

/* Asks the store for bytes of the image. */
void sw_pe_want(const struct sw_pe *pe, struct sw_bytes bytes, uint64_t size);

/*
 * want_exports: those that sw_pe_export_around looks at, out of the store. settle: them and the unwind data that a
 * table of functions leads to; the store is not asked any more: all else that nobody has looked at yet is zeros from
 * now on.
 */
void sw_pe_want_exports(const struct sw_pe *pe);
void sw_pe_settle(struct sw_pe *pe, struct sw_bytes functions);

/* The RVA of an exported name. Returns  SW_OK; SW_E_NOT_FOUND. Set-up time: compares every name. */
SW_NODISCARD enum sw_status sw_pe_export(const struct sw_pe *pe, const char *name, uint32_t *rva);

/*
 * The exported name of the function around an RVA. It is believed if the exception directory puts the export and the
 * RVA into the same function. Code without an entry takes the name of an export less than 16 bytes in front of it.
 *
 * table    Of sw_pe_exceptions; may be empty.
 * name     Receives a NUL-terminated string, cut at size - 1 bytes. begin: the export's RVA.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND. Set-up time: looks at every export.
 */
SW_NODISCARD enum sw_status sw_pe_export_around(const struct sw_pe *pe, struct sw_bytes table, uint32_t rva, char *name,
                                                size_t size, uint32_t *begin);

/*
 * One RUNTIME_FUNCTION, in RVAs. ARM64: the end is not in the entry but in the data it refers to; unwind is the entry's
 * second word, which is packed unwind data or the RVA of a record.
 */
struct sw_pe_function {
    uint32_t begin;
    uint32_t end;
    uint32_t unwind;
};

/* Bytes of an entry: 12 (x64), 8 (ARM64). Signals  Safe. */
uint32_t sw_pe_entry_size(enum sw_machine machine);

/*
 * Access to unwind data and code, by RVA.
 *
 * get      Copies up to `size` bytes (unwind data, chained entries, code for the epilogue rule). Returns how many.
 * find     The entry around an RVA, to decide whether a jump leaves the function. Null: a jump out of the entry does.
 */
struct sw_pe_reader {
    size_t (*get)(void *arg, uint32_t rva, void *to, size_t size);
    bool (*find)(void *arg, uint32_t rva, struct sw_pe_function *function);
    void *arg;
};

/* The image itself as a reader; find looks into data directory 3. pe is borrowed. */
struct sw_pe_reader sw_pe_reader_of(const struct sw_pe *pe);

/*
 * The entry stored at bytes, which hold sw_pe_entry_size bytes.
 *
 * Returns  SW_OK, on x64 always; SW_E_TRUNCATED, SW_E_MALFORMED, SW_E_UNSUPPORTED (ARM64: the end is not known; begin
 *          is filled).
 * Memory   Allocates nothing. Threads  Any. Signals  Safe when the reader is; reads two words at most.
 */
SW_NODISCARD enum sw_status sw_pe_entry(enum sw_machine machine, const struct sw_pe_reader *reader,
                                        const uint8_t *bytes, struct sw_pe_function *function);

/*
 * The entry around an RVA, by binary search in a table of an image's entries.
 *
 * Returns  SW_OK (index and function are filled; either may be null); SW_E_NO_RULE (no entry covers the RVA); as
 *          sw_pe_entry, if it is not known how far the last entry in front of the RVA reaches.
 */
SW_NODISCARD enum sw_status sw_pe_find(const struct sw_pe *pe, struct sw_bytes table, uint32_t rva,
                                       struct sw_pe_function *function, uint32_t *index);

/*
 * The RVA of a function's handler (its personality).
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (it has none); SW_E_TRUNCATED; ARM64: SW_E_MALFORMED, SW_E_UNSUPPORTED.
 * Memory   Allocates nothing. Threads  Any. Signals  Safe when the reader is.
 */
SW_NODISCARD enum sw_status sw_pe_handler(enum sw_machine machine, const struct sw_pe_reader *reader,
                                          const struct sw_pe_function *function, uint32_t *handler);

/*
 * The rule at an RVA inside function.
 *
 * exact        True: rva is an instruction that was being executed. False: rva is a byte of the call before a return
 *              address (lookup pc). An epilogue cannot be there, and the bytes must not be taken for one.
 * nonvolatile  Registers that count as preserved: the SysV set for .NET on Linux, else SW_PE_WINDOWS_NONVOLATILE.
 * rule         Source SW_SOURCE_UNWIND_CODES, trust EXACT. Undefined unless SW_OK.
 *
 * Returns  SW_OK; SW_E_NO_RULE (the RVA is outside function); SW_E_TRUNCATED; SW_E_MALFORMED; SW_E_UNSUPPORTED
 *          (version 3 or unknown); SW_E_LIMIT (32 chained entries).
 * Memory   Allocates nothing; under 1.5 KiB of stack. Threads  Any. Signals  Safe when the reader is.
 * Source   win-x64-unwind.md sections 1-5; "x64 exception handling", Microsoft Learn.
 */
SW_NODISCARD enum sw_status sw_pe_x64_rule(const struct sw_pe_reader *reader, const struct sw_pe_function *function,
                                           uint32_t rva, bool exact, uint64_t nonvolatile, struct sw_rule *rule);

/*
 * The body of a function: what lies behind its prolog. The rule is the same at each instruction of it, but for those
 * that an epilogue may begin with.
 *
 * begin    Receives the body's first RVA; it ends where the function does.
 *
 * Returns  SW_OK; SW_E_NO_RULE (there is none, or it cannot be told so: chained or indirect entries, listed epilogues;
 *          ARM64); as sw_pe_rule.
 * Memory   Allocates nothing; under 1 KiB of stack. Threads  Any. Signals  Safe when the reader is.
 */
SW_NODISCARD enum sw_status sw_pe_body(enum sw_machine machine, const struct sw_pe_reader *reader,
                                       const struct sw_pe_function *function, uint32_t *begin);

/*
 * Whether an instruction in a body may be one that an epilogue begins with: true of all of those, and of some others.
 *
 * bytes    SW_PE_BODY_BYTES of code, from the instruction on. Signals  Safe.
 */
enum { SW_PE_BODY_BYTES = 3 };
bool sw_pe_may_begin_epilogue(const uint8_t bytes[SW_PE_BODY_BYTES]);

/* rbx rbp rsi rdi r12-r15. */
#define SW_PE_WINDOWS_NONVOLATILE UINT64_C(0xf0e8)

/*
 * The same for ARM64. No code is read: the codes describe each instruction of prolog and epilogs. So it does not matter
 * whether rva is an instruction that was being executed or a byte of the call before a return address: sp and saved
 * registers are the same behind the call as in front of it, and a call inside a prolog (a stack probe) or epilog has a
 * code of its own. What counts is the instruction that contains rva. The return address itself may be in another
 * function's prolog, or at the first instruction of an epilog that has not been reached.
 *
 * rule     In terms of sp or x29. Signed return addresses are left as stored; applying the rule strips them.
 *
 * Returns  SW_OK; SW_E_NO_RULE (the RVA is outside function); SW_E_TRUNCATED; SW_E_MALFORMED; SW_E_UNSUPPORTED
 *          (another version; a reserved entry; a kernel or ARM64EC frame; sp moved by a number of vector lengths).
 * Memory   Allocates nothing; under 0.5 KiB of stack. Threads  Any. Signals  Safe when the reader is.
 * Source   win-arm64-unwind.md sections 1-6; "ARM64 exception handling", Microsoft Learn.
 */
SW_NODISCARD enum sw_status sw_pe_arm64_rule(const struct sw_pe_reader *reader, const struct sw_pe_function *function,
                                             uint32_t rva, struct sw_rule *rule);

/* Whether epilogues are told by their bytes, not by unwind codes. Signals  Safe. */
bool sw_pe_infers_epilogues(enum sw_machine machine);

/*
 * What the machine's code preserves: .NET's code for Linux as all code there, other code as on Windows.
 *
 * Returns  Registers as bits. Memory  None. Threads  Any. Signals  Safe.
 */
uint64_t sw_pe_nonvolatile(enum sw_machine machine, bool linux_code);

/*
 * The rule for either machine.
 *
 * linux_code   .NET's code for Linux: its nonvolatile registers are those of SysV (x64).
 *
 * Returns, Memory, Threads, Signals  As sw_pe_x64_rule, sw_pe_arm64_rule.
 */
SW_NODISCARD enum sw_status sw_pe_rule(enum sw_machine machine, bool linux_code, const struct sw_pe_reader *reader,
                                       const struct sw_pe_function *function, uint32_t rva, bool exact,
                                       struct sw_rule *rule);

/*
 * The exception directory of an image, if it can be searched: its entries ascend, do not overlap and lie inside the
 * image. Only then does a missing entry mean something: the function at that address moves nothing.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (there is none); SW_E_TRUNCATED (not inside one section);
 *          SW_E_MALFORMED. table is empty unless SW_OK. Set-up time: looks at every entry.
 */
SW_NODISCARD enum sw_status sw_pe_exceptions(const struct sw_pe *pe, struct sw_bytes *table);

/* Whether an RVA lies in an executable section. Signals  Safe. */
bool sw_pe_is_code(const struct sw_pe *pe, uint32_t rva);

/*
 * The rule at an address inside an image.
 *
 * table    Of sw_pe_exceptions, or another table of the same kind. exact: as in sw_pe_x64_rule.
 *
 * Returns  As sw_pe_rule and sw_pe_find; SW_E_NO_RULE (no entry covers the address).
 * Memory   Allocates nothing; under 1.5 KiB of stack. Threads  Any. Signals  Safe.
 */
SW_NODISCARD enum sw_status sw_pe_image_rule(const struct sw_pe *pe, struct sw_bytes table, uint64_t address,
                                             bool exact, struct sw_rule *rule);

#endif
