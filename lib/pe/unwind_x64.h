/* Where in a function of Windows x64 unwind data an address is. Used inside lib/pe only. */
#ifndef SW_PE_UNWIND_X64_H
#define SW_PE_UNWIND_X64_H

#include "pe/codes_x64.h"

/* See sw_pe_body. */
enum sw_status sw_pe_x64_body(const struct sw_pe_reader *reader, const struct sw_pe_function *function,
                              uint32_t *begin);

/* Undoes the rest of an epilogue, if rva is in one: by its bytes (version 1), by its codes (version 2). */
enum sw_status sw_pe_x64_epilogue_by_bytes(struct sw_pe_unwind *u, bool *inside);
enum sw_status sw_pe_x64_epilogue_by_codes(struct sw_pe_unwind *u, bool *inside);

#endif
