/* The formats inside a ReadyToRun image, one function or two each. Used inside lib/clr only. */
#ifndef SW_CLR_FORMAT_H
#define SW_CLR_FORMAT_H

#include "base/bytes.h"

/*
 * The runtime's variable-length integer at *at; moves *at past it. False: invalid, or not all inside the bytes. Source:
 * win-x64-unwind.md section 8.
 */
bool sw_clr_varint(struct sw_bytes bytes, uint64_t *at, uint32_t *value);
bool sw_clr_varint_signed(struct sw_bytes bytes, uint64_t *at, int32_t *value);

/* The index of a runtime function in an entry point (with or without fixups). */
bool sw_clr_entry_index(struct sw_bytes bytes, uint64_t at, uint32_t *index);

/*
 * A NativeArray: the number of elements; the offset of each element that is there, until `each` returns false. False:
 * it did, or there is no array.
 */
typedef bool sw_clr_element_fn(void *arg, uint32_t element, uint64_t at);
bool sw_clr_array_count(struct sw_bytes array, uint32_t *count);
bool sw_clr_array_each(struct sw_bytes array, sw_clr_element_fn *each, void *arg);

/*
 * Calls `each` for every entry of a native hash table, with the offset of its data in `table`, until it returns false.
 *
 * Returns  SW_OK; SW_E_MALFORMED.
 */
SW_NODISCARD enum sw_status sw_clr_hash_each(struct sw_bytes table, bool (*each)(void *arg, uint64_t at), void *arg);

/* An ECMA-335 compressed unsigned integer (II.23.2). Breaks the cursor on invalid bytes. */
uint32_t sw_clr_compressed(struct sw_cursor *c);

/* A longer signature, in bytes, is bad. */
enum { SW_CLR_SIGNATURE_MAX = 4096 };

/*
 * Moves *at past a method signature. token: its MethodDef or MemberRef token; 0 for a method of another module. Returns
 * SW_OK; SW_E_MALFORMED. Source: "ReadyToRun file format", Fixups; ECMA-335 II.23.2.
 */
SW_NODISCARD enum sw_status sw_clr_method_signature(struct sw_bytes bytes, uint64_t *at, uint32_t *token);

/*
 * "Namespace.Type::Method" of a MethodDef or MemberRef token, cut at size - 1 bytes.
 * Returns  SW_OK; SW_E_NOT_FOUND; SW_E_MALFORMED. Source: ECMA-335 II.22, II.24.
 */
SW_NODISCARD enum sw_status sw_clr_metadata_name(struct sw_bytes root, uint32_t token, char *name, size_t size);

/*
 * The MethodDef tokens [first, end) of a type, in metadata of the assembly of that name. Returns  SW_OK;
 * SW_E_NOT_FOUND; SW_E_MALFORMED.
 */
SW_NODISCARD enum sw_status sw_clr_metadata_type(struct sw_bytes root, const char *assembly, const char *space,
                                                 const char *name, uint32_t *first, uint32_t *end);

/*
 * The number, from 0, of an assembly among those that metadata refers to. Returns  SW_OK; SW_E_NOT_FOUND;
 * SW_E_MALFORMED.
 */
SW_NODISCARD enum sw_status sw_clr_metadata_reference(struct sw_bytes root, const char *assembly, uint32_t *number);

#define SW_CLR_CORE_LIBRARY "System.Private.CoreLib"

/* Fills `dispatch` of an image whose metadata is the core library's (dispatch.c). */
struct sw_clr_image;
void sw_clr_find_dispatch(struct sw_clr_image *image);

#endif
