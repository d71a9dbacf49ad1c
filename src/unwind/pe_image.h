/*
 * The rule that a PE image without ReadyToRun code gives: by its exception directory, and by the convention where that
 * has no entry.
 */
#ifndef SW_UNWIND_PE_IMAGE_H
#define SW_UNWIND_PE_IMAGE_H

#include "unwind/request.h"

/*
 * Fills the candidate. Uses the first spare one, and work->analysis unless the walker forbids analysis.
 *
 * Returns  SW_OK; SW_E_NO_RULE (no directory; no entry, and what the convention says of that is contradicted);
 *          others: the directory or the unwind data is broken.
 */
SW_NODISCARD enum sw_status sw_pe_image_source(const struct sw_unwind_request *req, struct sw_candidate *c);

#endif
