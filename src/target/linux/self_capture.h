/*
 * sw_self_capture in the form in which struct sw_suspender calls it.
 */
#ifndef SW_OS_SELF_CAPTURE_H
#define SW_OS_SELF_CAPTURE_H

#include <snapwalk/regs.h>

/* The registers at the return address of this very call. arg is not looked at. Always SW_OK. */
enum sw_status sw_self_capture_with(void *arg, struct sw_regs *regs);

#endif
