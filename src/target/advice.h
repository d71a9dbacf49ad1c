/* What failures of calls on a process mean, on every system. */
#ifndef SW_TARGET_ADVICE_H
#define SW_TARGET_ADVICE_H

#include <snapwalk/status.h>

/* A sentence; the status' name where there is none. */
const char *sw_advice_of(enum sw_status status);

#endif
