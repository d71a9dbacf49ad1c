/*
 * Prints the stack of every thread of another Windows process, leaf first, with how each frame was found. The process
 * stands only while its stacks are copied.
 *
 *     stacks PID
 */
#include <snapwalk/process.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shown.h"

enum { THREADS_MAX = 4096, NAME_BYTES = 512, SHOWN_BYTES = 4 * NAME_BYTES, ANALYSIS_BYTES = 4 << 20 };

static struct sw_scratch scratch;
static uint64_t tids[THREADS_MAX];

static void must(enum sw_status status, int pid, const char *what)
{
    if (status == SW_OK)
        return;
    fprintf(stderr, "stacks: process %d: %s: %s\n", pid, what, sw_status_name(status));
    if (status == SW_E_PERMISSION)
        fprintf(stderr, "stacks: %s\n", sw_process_obstacle_text(sw_process_find_obstacle(pid, NULL)));
    exit(1);
}

/* "module!name+0x12", or "module+0x1234". */
static void print_frame(const struct sw_images *images, uint32_t number, const struct sw_frame *frame)
{
    const uint64_t pc = sw_regs_pc(&frame->regs);
    struct sw_image image = { .path = "?" };
    char symbol[NAME_BYTES] = "", file[SHOWN_BYTES], name[SHOWN_BYTES];
    uint64_t start = 0;
    if (sw_images_find(images, frame->lookup, &image) == SW_OK &&
        sw_images_name(images, frame->lookup, symbol, sizeof symbol, &start) != SW_OK)
        start = image.bias;
    const char *last = strrchr(image.path, '\\');
    printf("  #%-3u %016llx  %13s/%-9s  %s%s%s+0x%llx\n", number, (unsigned long long)pc, sw_source_name(frame->source),
           sw_trust_name(frame->trust), shown(last ? last + 1 : image.path, file, sizeof file), symbol[0] ? "!" : "",
           shown(symbol, name, sizeof name), (unsigned long long)(pc - start));
}

static void print_thread(struct sw_process *process, struct sw_analysis_cache *cache, const struct sw_images *images,
                         uint64_t tid)
{
    struct sw_walker walker;
    struct sw_walk walk;
    struct sw_regs regs;
    char name[NAME_BYTES] = "", printed[SHOWN_BYTES];
    if (sw_process_captured_walker(process, tid, NULL, images, &regs, &walker) != SW_OK)
        return;
    (void)!sw_process_thread_name(process, tid, name, sizeof name); /* it may have ended since */
    walker.analysis_cache = cache;
    printf("thread %llu %s\n", (unsigned long long)tid, shown(name, printed, sizeof printed));
    sw_walk_start(&walk, &walker, &scratch, &regs, true);
    while (sw_walk_next(&walk))
        print_frame(images, walk.depth - 1, &walk.frame);
    printf("  ended: %s\n\n", sw_stop_name(walk.stop));
}

int main(int argc, char **argv)
{
    struct sw_analysis_cache *cache;
    struct sw_process *process;
    struct sw_images *images;
    const int pid = argc == 2 ? (int)strtol(argv[1], NULL, 10) : 0;
    if (pid <= 0) {
        fprintf(stderr, "usage: stacks PID\n");
        return 2;
    }
    must(sw_images_create(NULL, &images), pid, "images");
    must(sw_analysis_cache_create(NULL, ANALYSIS_BYTES, &cache), pid, "analysis cache");
    must(sw_process_open(NULL, pid, &process), pid, "open");
    must(sw_process_capture(process, 0), pid, "capture");
    printf("stopped for %llu us\n\n", (unsigned long long)sw_process_stopped_ns(process) / 1000);
    must(sw_process_add_images(process, images), pid, "modules");
    const size_t count = sw_process_captured(process, tids, THREADS_MAX);
    for (size_t i = 0; i < count && i < THREADS_MAX; i++)
        print_thread(process, cache, images, tids[i]);
    sw_process_close(process);
    sw_analysis_cache_destroy(cache);
    sw_images_destroy(images);
    return 0;
}
