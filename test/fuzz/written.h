/* What a profile is in a format, for targets that read it again. */
#ifndef FUZZ_WRITTEN_H
#define FUZZ_WRITTEN_H

#include <profile/profile.h>

#include <stdlib.h>

/* `name` ends in the format's ending. The caller frees it. */
static char *write_as(const struct sw_profile *profile, const char *name, size_t *size)
{
    const struct sw_profile_view view = { .title = "</script>", .kinds = true };
    char *bytes = NULL;
    FILE *file = open_memstream(&bytes, size);
    if (!file || sw_profile_write_as(profile, name, &view, file) != SW_PROFILE_OK)
        abort();
    fclose(file);
    return bytes;
}

#endif
