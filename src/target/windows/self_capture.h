/* sw_self_capture with the signature that struct sw_suspender needs. */
#ifndef SW_TARGET_WINDOWS_SELF_CAPTURE_H
#define SW_TARGET_WINDOWS_SELF_CAPTURE_H

#include <snapwalk/self.h>

/* The registers at the return address of this very call. arg is ignored. Always SW_OK. */
enum sw_status sw_self_capture_with(void *arg, struct sw_regs *regs);

#endif
