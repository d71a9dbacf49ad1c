/* Samples another process: its new code is looked for while it runs, then it is stopped, every thread walked, resumed.
 */
#include "remote.h"

#include <stdio.h>

enum { THREADS_MOST = 4096, FRAMES_MOST = 4096, ENTRIES = 1 << 16 };

void remote_open(struct remote *r, int pid, bool is_clr)
{
    *r = (struct remote){ .pid = pid };
    must(sw_process_open(NULL, pid, &r->process) == SW_OK, "sw_process_open");
    must(sw_images_create(NULL, &r->images) == SW_OK, "sw_images_create");
    must(sw_codemap_create(NULL, &r->codemap) == SW_OK, "sw_codemap_create");
    must(sw_cache_create(NULL, ENTRIES, &r->cache) == SW_OK, "sw_cache_create");
    must(!is_clr || sw_perfmap_create(NULL, SW_PERFMAP_CLR, &r->perfmap) == SW_OK, "sw_perfmap_create");
}

void remote_close(struct remote *r)
{
    sw_process_close(r->process);
    sw_cache_destroy(r->cache);
    sw_perfmap_destroy(r->perfmap);
    sw_codemap_destroy(r->codemap);
    sw_images_destroy(r->images);
}

static size_t walk_thread(struct remote *r, uint64_t tid, uint64_t *pcs)
{
    static struct sw_scratch scratch;
    struct sw_regs regs;
    struct sw_walker walker;
    must(sw_process_regs(r->process, tid, &regs) == SW_OK, "sw_process_regs");
    must(sw_process_walker(r->process, &regs, r->codemap, r->images, &walker) == SW_OK, "sw_process_walker");
    walker.cache = r->cache;
    return sw_walk_addresses(&walker, &scratch, &regs, true, pcs, FRAMES_MOST, NULL);
}

struct sample remote_sample(struct remote *r, void (*each)(void *arg, const uint64_t *pcs, size_t count), void *arg)
{
    static uint64_t tids[THREADS_MOST], pcs[FRAMES_MOST];
    struct sample sample = { 0 };
    const double begin = wall_ns();
    must(sw_process_add_images(r->process, r->images) == SW_OK, "sw_process_add_images");
    must(!r->perfmap || sw_perfmap_read_process(r->perfmap, r->pid, r->codemap) == SW_OK, "sw_perfmap_read_process");
    const double stop = wall_ns();
    must(sw_process_stop(r->process) == SW_OK, "sw_process_stop");
    sample.threads = sw_process_threads(r->process, tids, THREADS_MOST);
    for (size_t i = 0; i < sample.threads && i < THREADS_MOST; i++) {
        const size_t count = walk_thread(r, tids[i], pcs);
        sample.frames += count;
        if (each)
            each(arg, pcs, count);
    }
    must(sw_process_resume(r->process) == SW_OK, "sw_process_resume");
    sample.stopped = wall_ns() - stop;
    sample.all = wall_ns() - begin;
    return sample;
}
