/* Shares out what the samples of a thread sum up to. Knows sums, and nothing of how samples come in. */
#include "data.h"

#include <stdlib.h>

struct total {
    double value, samples;
};

enum sw_profile_status sw_profile_share(struct sw_profile *profile, size_t column, size_t counted, uint64_t more)
{
    if (column >= profile->column_count || counted >= profile->column_count)
        return SW_PROFILE_E_ARGUMENT;
    struct total *totals = calloc(sw_profile_row_count(&profile->threads), sizeof *totals);
    if (!totals)
        return SW_PROFILE_E_MEMORY;
    const size_t rows = sw_profile_row_count(&profile->samples);
    double all = 0;
    for (size_t i = 0; i < rows; i++) {
        const struct sw_profile_sample_row *row = sw_profile_row(&profile->samples, i);
        const int64_t *sums = sw_profile_sums(profile, i);
        if (row->thread == 0 || sums[column] == 0)
            continue;
        totals[row->thread].value += (double)sums[column];
        totals[row->thread].samples += (double)sums[counted];
        all += (double)sums[column];
    }
    const double factor = all > 0 ? 1 + (double)more / all : 0;
    for (size_t i = 0; i < rows; i++) {
        const struct sw_profile_sample_row *row = sw_profile_row(&profile->samples, i);
        const struct total *total = &totals[row->thread];
        int64_t *sums = sw_profile_sums_of(profile, i);
        if (sums[column] && total->samples > 0 && all * factor < 0x1p62)
            sums[column] = (int64_t)(factor * total->value * ((double)sums[counted] / total->samples) + 0.5);
    }
    free(totals);
    return SW_PROFILE_OK;
}
