/* What the profile counts: which columns there are in a choice of modes, and where a sample's values go. */
#ifndef PROFILER_COLUMNS_H
#define PROFILER_COLUMNS_H

#include "options.h"
#include "profile/profile.h"
#include "sample.h"

struct columns {
    struct sw_profile_value_type types[SW_PROFILE_VALUES_MAX];
    size_t count, shown;            /* shown: the one that viewers show first */
    size_t places[SAMPLE_KINDS][2]; /* of a sample's values; 0: in none */
};

/* Column 0 counts samples. */
void columns_choose(struct columns *columns, unsigned modes);

/* The values of a sample, a column each; `samples` is how many it stands for. */
void columns_fill(const struct columns *columns, const struct sample *sample, int64_t samples,
                  int64_t values[SW_PROFILE_VALUES_MAX]);

#endif
