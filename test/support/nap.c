/* See nap.h. */
#include "nap.h"

#include <time.h>

void nap(long microseconds)
{
    const struct timespec time = { microseconds / 1000000, microseconds % 1000000 * 1000 };
    nanosleep(&time, NULL);
}
