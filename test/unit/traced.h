/*
 * A thread that the test itself traces, and that stands.
 */
#ifndef TEST_UNIT_TRACED_H
#define TEST_UNIT_TRACED_H

#include <snapwalk/context.h>

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include <cmocka.h>

#include "host.h"

static inline struct sw_regs traced_registers(pid_t tid)
{
    unsigned char record[512];
    struct iovec data = { record, sizeof record };
    struct sw_regs regs;
    assert_int_equal(ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_PRSTATUS, &data), 0);
    assert_int_equal(sw_context_load(SW_CONTEXT_USER_REGS, host_machine(), record, data.iov_len, &regs), SW_OK);
    return regs;
}

#endif
