/* Windows ARM64 unwind data, shared by full records and packed ones. Used inside lib/pe only. */
#ifndef SW_PE_UNWIND_ARM64_H
#define SW_PE_UNWIND_ARM64_H

#include "pe/codes_arm64.h"

/*
 * What an entry says about its function. Offsets and lengths count instructions; indices count bytes of codes.
 *
 * is_fragment  There is no prolog and no epilog: all codes apply everywhere.
 * tail         With has_tail: the index of the codes of the only epilog, which ends the function.
 * scopes       Without has_tail: the RVA of the list of epilogs, ascending.
 * handler      The RVA of the word that holds the handler's RVA; 0: there is no handler.
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

/*
 * Undoes the codes from an index on, to the end of their scope. The rule is as sw_rule_init made it.
 *
 * Returns  SW_OK; SW_E_MALFORMED; SW_E_TRUNCATED; SW_E_UNSUPPORTED (a frame of unknown layout, vectors).
 */
enum sw_status sw_pe_arm64_undo(struct sw_pe_arm64_codes *codes, uint32_t index, struct sw_rule *rule);

/* See sw_pe_entry, sw_pe_handler. */
enum sw_status sw_pe_arm64_entry(const struct sw_pe_reader *reader, const uint8_t *bytes,
                                 struct sw_pe_function *function);
enum sw_status sw_pe_arm64_handler(const struct sw_pe_reader *reader, const struct sw_pe_function *function,
                                   uint32_t *handler);

#endif
