/*
 * Where rules come from: one table of the sources, in the order in which they are asked. Of a source that reads unwind
 * tables its row also says where they are found in an image and how they are opened.
 */
#ifndef SW_SOURCES_H
#define SW_SOURCES_H

#include "code/tables.h"
#include "unwind/request.h"

enum { SW_SOURCES = 14 };

/* The kinds of sources that can have anything to say of the frame, as bits. */
uint32_t sw_sources_of(const struct sw_unwind_request *req);

/*
 * What the first source from *n on, of one of these kinds, says of the frame, into a candidate of the asker's. *n is
 * then the number to go on from; above SW_SOURCES, there was no source left to be asked.
 *
 * Returns  SW_OK: the candidate has a rule, tried or not. SW_E_NO_RULE: the source has nothing to say. Others: its
 * table is broken. In all cases candidate->depends says what the answer depends on.
 */
SW_NODISCARD enum sw_status sw_source_ask(const struct sw_unwind_request *req, uint32_t kinds, unsigned *n,
                                          struct sw_candidate *candidate);

/*
 * Opens every kind of unwind tables that an image has, when it is registered: called under the writer's lock of the
 * set.
 *
 * sections  Of an ELF image; unused for a PE image (entry->info.is_pe), whose entry->pe is open.
 *
 * Returns  SW_OK; SW_E_NO_MEMORY.
 */
enum sw_status sw_sources_open(struct sw_images *images, struct sw_image_entry *entry,
                               const struct sw_sections *sections);

/*
 * Fills in the entry of a PE image whose entry->pe is open: what it is, where it lies, and its tables. Called as
 * sw_sources_open.
 *
 * Returns  SW_OK; SW_E_NO_MEMORY.
 */
enum sw_status sw_sources_open_pe(struct sw_images *images, struct sw_image_entry *entry);

/*
 * The body of the method of JIT code around the frame's pc, by the header that is kept of it: from `begin` on to `end`
 * its rule is one and the same, unless an epilogue may begin at the pc. Returns  Whether that is known.
 */
bool sw_source_clr_body(const struct sw_unwind_request *req, uint64_t *begin, uint64_t *end);

/* Whether one may, in code of that length in front of the body's end; true where that cannot be told. */
bool sw_source_may_end(const uint8_t *code, uint64_t size);

/* The rule that a CoreCLR JIT header gives, with the FunctionID. */
SW_NODISCARD enum sw_status sw_source_clr_header(const struct sw_unwind_request *req, struct sw_rule *rule,
                                                 struct sw_clr_jit_code *about);

#endif
