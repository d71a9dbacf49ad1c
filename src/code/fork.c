/* A child of fork: its code map and its images. Refuses to know what readers are (common/reclaim.h). */
#include "code/images.h"
#include "code/map/codemap.h"

#include <snapwalk/fork.h>

enum sw_status sw_after_fork(struct sw_codemap *codemap, struct sw_images *images)
{
    const enum sw_status status = codemap ? sw_codemap_after_fork(codemap) : SW_OK;
    const enum sw_status other = images ? sw_images_after_fork(images) : SW_OK;
    return status != SW_OK ? status : other;
}
