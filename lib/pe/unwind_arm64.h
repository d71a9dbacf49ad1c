/*
 * Windows ARM64 unwind data, shared between full records and packed ones. For this room only.
 */
#ifndef SW_PE_UNWIND_ARM64_H
#define SW_PE_UNWIND_ARM64_H

#include "pe/pe.h"

enum { SW_PE_ARM64_WINDOW = 128 };

/*
 * Unwind codes. Those of a record are read through a window, because a record may have 1,020 bytes of them; those of a
 * packed word are in the window from the start.
 */
struct sw_pe_arm64_codes {
    const struct sw_pe_reader *reader;
    uint32_t rva;
    uint32_t size;
    uint32_t at; /* where the window is in them, and how much of it is filled */
    uint32_t filled;
    uint8_t window[SW_PE_ARM64_WINDOW];
};

/*
 * What an entry says of its function. Offsets and lengths count instructions, indices count bytes of codes.
 *
 * is_fragment  Neither prolog nor epilog: all codes apply everywhere.
 * tail         has_tail: the codes of the one epilog, which is the function's end.
 * scopes       Else: the RVA of the list of epilogs, ascending.
 * handler      The RVA of the word that holds the handler's; 0: there is none.
 */
struct sw_pe_arm64_info {
    uint32_t length;
    bool is_fragment;
    bool has_tail;
    uint32_t tail;
    uint32_t scopes;
    uint32_t scope_count;
    uint32_t handler;
    struct sw_pe_arm64_codes codes;
};

/* The codes that a packed word (flag 1 or 2) stands for. Returns  SW_OK; SW_E_MALFORMED. */
enum sw_status sw_pe_arm64_expand(uint32_t word, struct sw_pe_arm64_info *info);

/* An entry's second half, and what stands behind the codes: sw_pe_entry, sw_pe_handler. */
enum sw_status sw_pe_arm64_entry(const struct sw_pe_reader *reader, const uint8_t *bytes,
                                 struct sw_pe_function *function);
enum sw_status sw_pe_arm64_handler(const struct sw_pe_reader *reader, const struct sw_pe_function *function,
                                   uint32_t *handler);

#endif
