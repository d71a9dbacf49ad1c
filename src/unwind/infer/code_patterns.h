/*
 * What the target's code looks like from outside: calls, stubs, addresses that are loaded. The patterns are the
 * machine's (lib/arch); here they are asked of the code and memory of an unwind request.
 */
#ifndef SW_CODE_PATTERNS_H
#define SW_CODE_PATTERNS_H

#include "unwind/request.h"

enum { SW_STUB_BYTES = 24 };

/*
 * Whether a call instruction ends at an address, as it does in front of every return address.
 *
 * target   Receives what it calls, or 0 when that is not known.
 */
bool sw_is_behind_call(const struct sw_unwind_request *req, uint64_t after, uint64_t *target);

/* The same without reading memory but code. slot: the word that holds the target, which is then 0; else 0. */
bool sw_call_before(const struct sw_unwind_request *req, uint64_t after, uint64_t *target, uint64_t *slot);

/* Whether a system call instruction ends at an address. */
bool sw_is_behind_system_call(const struct sw_unwind_request *req, uint64_t after);

/* Whether the code at an address does nothing but go on through a word in memory, as PLT entries do. */
bool sw_goes_through(const struct sw_unwind_request *req, uint64_t at, uint64_t *slot);

/*
 * Addresses that the instructions in front of a return address load: what was to be called back. Addresses that only
 * look so are among them.
 *
 * Returns  How many, at most SW_LOADED_MOST.
 */
size_t sw_loaded_before(const struct sw_unwind_request *req, uint64_t after, uint64_t addresses[SW_LOADED_MOST]);

#endif
