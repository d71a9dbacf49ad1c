/*
 * The rule that an image's call frame information gives, with what its instructions contradict mended.
 */
#ifndef SW_SRC_WALK_CFI_IMAGE_H
#define SW_SRC_WALK_CFI_IMAGE_H

#include "unwind/request.h"

/* Fills req->work->rule; uses work->caller and work->plain, and work->analysis unless the walker forbids analysis.
 * Returns as sw_cfi_rule. */
SW_NODISCARD enum sw_status sw_cfi_image_source(const struct sw_unwind_request *req);

#endif
