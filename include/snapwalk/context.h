/*
 * The register records of operating systems, and their conversion to and from struct sw_regs.
 */
#ifndef SNAPWALK_CONTEXT_H
#define SNAPWALK_CONTEXT_H

#include <snapwalk/regs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ORDER sw_context_form: lib/regs/context.c */
enum sw_context_form {
    SW_CONTEXT_WIN32 = 0, /* Win32 CONTEXT: x64 1232 bytes (CoreCLR on Linux 1504, 3104, 3232), ARM64 912 (992) */
    SW_CONTEXT_UCONTEXT,  /* ucontext_t, as a Linux signal handler receives it */
    SW_CONTEXT_USER_REGS, /* user_regs_struct: PTRACE_GETREGSET with NT_PRSTATUS */
    SW_CONTEXT_PRSTATUS,  /* the descriptor of a core file's NT_PRSTATUS note */
    SW_CONTEXT_COUNT
};

enum { SW_CONTEXT_X64_BYTES = 1232, SW_CONTEXT_ARM64_BYTES = 912, SW_CONTEXT_MAX_BYTES = 3232 };

/*
 * sw_context_size: the size of a record in its smallest complete layout. sw_context_needed: how much of a record
 * sw_context_load needs, from its start up to its last register. Records of that size or more are accepted.
 *
 * Returns  Bytes; 0 for a form or machine out of range. Memory  None. Threads  Any. Signals  Safe.
 * Source   contexts.md sections 1-6; corprof-abi.md section 8.
 */
SW_API size_t sw_context_size(enum sw_context_form form, enum sw_machine machine);
SW_API size_t sw_context_needed(enum sw_context_form form, enum sw_machine machine);

/*
 * Reads a record. Every register in it becomes known.
 *
 * record   Any alignment.
 * size     The length of the record in bytes.
 *
 * Returns  SW_OK; SW_E_ARGUMENT (null, form or machine out of range); SW_E_TRUNCATED (size below sw_context_needed).
 * Memory   Reads sw_context_needed bytes. Threads  Any. Signals  Safe.
 */
SW_API SW_NODISCARD enum sw_status sw_context_load(enum sw_context_form form, enum sw_machine machine,
                                                   const void *record, size_t size, struct sw_regs *regs);

/*
 * Writes a record: zeroes it, then sets the known registers. Unknown registers stay 0. A Win32 CONTEXT gets the
 * ContextFlags CONTROL | INTEGER of its machine.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_TRUNCATED (size below sw_context_size).
 * Memory   Writes `size` bytes. Threads  Any. Signals  Safe.
 */
SW_API SW_NODISCARD enum sw_status sw_context_store(enum sw_context_form form, const struct sw_regs *regs, void *record,
                                                    size_t size);

/*
 * Writes some registers into a record that sw_context_store made, and changes nothing else.
 *
 * numbers  The registers to write, a bit each, all of the machine's. Unknown registers are written as 0.
 *
 * Returns  As sw_context_store. Memory  Writes 8 bytes per register. Threads  Any. Signals  Safe.
 */
SW_API SW_NODISCARD enum sw_status sw_context_update(enum sw_context_form form, const struct sw_regs *regs,
                                                     uint64_t numbers, void *record, size_t size);

/*
 * Reads the thread id in an NT_PRSTATUS descriptor.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_TRUNCATED. Memory  None. Threads  Any. Signals  Safe.
 */
SW_API SW_NODISCARD enum sw_status sw_prstatus_thread(const void *record, size_t size, uint32_t *thread);

#ifdef __cplusplus
}
#endif

#endif
