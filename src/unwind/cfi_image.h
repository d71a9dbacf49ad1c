/*
 * The rule that an image's call frame information gives, with what its instructions contradict mended.
 */
#ifndef SW_UNWIND_CFI_IMAGE_H
#define SW_UNWIND_CFI_IMAGE_H

#include "unwind/request.h"

/*
 * Fills the candidate. Uses the first spare one, and work->analysis unless the walker forbids analysis. Returns as
 * sw_cfi_rule.
 */
SW_NODISCARD enum sw_status sw_cfi_image_source(const struct sw_unwind_request *req, struct sw_candidate *c);

#endif
