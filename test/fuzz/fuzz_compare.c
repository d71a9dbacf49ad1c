/*
 * Two recordings from arbitrary bytes, cut at the first 0xff. Holds: a recording does not differ from itself; the
 * answer is the same from both sides; there is a sentence where there is a difference.
 */
#include <snapwalk/harness.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *text_of(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = 0;
    return text;
}

static enum sw_status compare(const char *was, const char *is)
{
    char sentence[100];
    const enum sw_status status = sw_tube_compare(was, is, sentence, sizeof sentence);
    if ((status == SW_OK) != (*sentence == 0))
        abort();
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *cut = size ? memchr(data, 0xff, size) : NULL;
    const size_t first = cut ? (size_t)(cut - data) : size;
    char *was = text_of(data, first), *is = cut ? text_of(cut + 1, size - first - 1) : text_of(data, first);
    if (compare(was, was) != SW_OK || compare(was, is) != compare(is, was))
        abort();
    free(was);
    free(is);
    return 0;
}
