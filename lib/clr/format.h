/*
 * The formats inside a ReadyToRun image, one function or two each. For the files of this room only.
 */
#ifndef SW_CLR_FORMAT_H
#define SW_CLR_FORMAT_H

#include "base/bytes.h"

/*
 * The runtime's variable-length integer at *at; moves *at past it. False when it is not all inside or not one.
 * Source: win-x64-unwind.md section 8.
 */
bool sw_clr_varint(struct sw_bytes bytes, uint64_t *at, uint32_t *value);
bool sw_clr_varint_signed(struct sw_bytes bytes, uint64_t *at, int32_t *value);

/* The index of a runtime function, as entry points give it (with or without fixups). */
bool sw_clr_entry_index(struct sw_bytes bytes, uint64_t at, uint32_t *index);

/* A NativeArray: how many elements, and where one is. False: absent, or outside of the bytes. */
bool sw_clr_array_count(struct sw_bytes array, uint32_t *count);
bool sw_clr_array_at(struct sw_bytes array, uint32_t element, uint64_t *at);

/*
 * Every entry of a native hash table: `each` gets the place of its data in `table`, and answers false to end.
 *
 * Returns  SW_OK; SW_E_MALFORMED.
 */
SW_NODISCARD enum sw_status sw_clr_hash_each(struct sw_bytes table, bool (*each)(void *arg, uint64_t at), void *arg);

/* ECMA-335 compressed unsigned (II.23.2). Breaks the cursor on bytes that are none. */
uint32_t sw_clr_compressed(struct sw_cursor *c);

/*
 * Past a method signature at *at. token: its MethodDef or MemberRef token, 0 when it is one of another module.
 * Returns  SW_OK; SW_E_MALFORMED. Source: "ReadyToRun file format", Fixups; ECMA-335 II.23.2.
 */
SW_NODISCARD enum sw_status sw_clr_method_signature(struct sw_bytes bytes, uint64_t *at, uint32_t *token);

/*
 * "Namespace.Type::Method" of a MethodDef or MemberRef token, cut at size - 1 bytes.
 * Returns  SW_OK; SW_E_NOT_FOUND; SW_E_MALFORMED. Source: ECMA-335 II.22, II.24.
 */
SW_NODISCARD enum sw_status sw_clr_metadata_name(struct sw_bytes root, uint32_t token, char *name, size_t size);

/*
 * The MethodDef tokens [first, end) of a type of the assembly of that name.
 * Returns  SW_OK; SW_E_NOT_FOUND; SW_E_MALFORMED.
 */
SW_NODISCARD enum sw_status sw_clr_metadata_type(struct sw_bytes root, const char *assembly, const char *space,
                                                 const char *name, uint32_t *first, uint32_t *end);

#endif
