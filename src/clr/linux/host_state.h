/* What src/clr/host.h's struct sw_clr_host is on Linux. */
#ifndef SW_CLR_LINUX_HOST_STATE_H
#define SW_CLR_LINUX_HOST_STATE_H

#include "clr/host.h"

#include <pthread.h>

struct sw_clr_host {
    struct sw_alloc alloc;
    pthread_mutex_t lock;
};

#endif
