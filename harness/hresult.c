/*
 * HRESULTs as the recording writes them: by name, or as a number.
 */
#include "tube.h"

#include <snapwalk/snapshot.h>

#include <stdio.h>

const char *sw_tube_hresult_text(HRESULT hr, char text[16])
{
    const char *name = sw_hresult_name(hr);
    snprintf(text, 16, "0x%08x", (unsigned)hr);
    return name[0] != '?' ? name : text;
}
