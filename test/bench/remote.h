/* Another process, sampled by this library. */
#ifndef BENCH_REMOTE_H
#define BENCH_REMOTE_H

#include "measure.h"

#include <snapwalk/perfmap.h>
#include <snapwalk/process.h>

/* What is kept between samples of one process. */
struct remote {
    struct sw_process *process;
    struct sw_images *images;
    struct sw_codemap *codemap;
    struct sw_perfmap *perfmap; /* NULL: it has none */
    struct sw_cache *cache;
    int pid;
};

/* One sample of all threads. ns: from the stop to the resume; all of it, looking for new code included. */
struct sample {
    double stopped, all;
    size_t threads, frames;
};

void remote_open(struct remote *r, int pid, bool is_clr);
void remote_close(struct remote *r);

/* each: called for each thread with its pcs, leaf first, while the process is stopped; may be NULL. */
struct sample remote_sample(struct remote *r, void (*each)(void *arg, const uint64_t *pcs, size_t count), void *arg);

#endif
