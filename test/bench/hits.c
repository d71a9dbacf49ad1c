/*
 * How often a sampled program's frames are in the rule cache: this process does what programs do (sorts, searches,
 * compresses, prints, starts and ends), a timer interrupts it a thousand times a second, and the
 * handler walks. The first samples warm the cache up; of the others the hits are counted. Each walk must reach the
 * root.
 */
#include "bench.h"
#include "figures.h"

#include <snapwalk/cache.h>
#include <snapwalk/context.h>
#include <snapwalk/self.h>

#include <lzma.h>
#include <regex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

enum { WARM_SAMPLES = 5000, SAMPLES = 10000, EVERY_US = 1000, TEXT = 1 << 17, WORDS = 1 << 14, FRAMES_MOST = 512 };

static struct sw_walker walker;
static struct sw_scratch scratch;
static struct sw_cache_counts warmed;
static _Atomic unsigned samples, complete, frames;

static void on_tick(int signal, siginfo_t *info, void *context)
{
    static uint64_t pcs[FRAMES_MOST];
    struct sw_regs here;
    enum sw_stop stop;
    (void)signal, (void)info;
    if (samples == WARM_SAMPLES)
        warmed = sw_cache_get_counts(walker.cache);
    if (sw_context_load(SW_CONTEXT_UCONTEXT, SW_MACHINE_X64, context, sizeof(ucontext_t), &here) != SW_OK)
        return;
    frames += (unsigned)sw_walk_addresses(&walker, &scratch, &here, true, pcs, FRAMES_MOST, &stop);
    samples++;
    complete += stop == SW_STOP_ROOT;
}

/* ---- what the program does ---- */

static char written[TEXT];
static uint64_t words[WORDS], seed = BENCH_SEED;

static int compare_words(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void sort_words(void)
{
    for (size_t i = 0; i < WORDS; i++)
        words[i] = next_random(&seed);
    qsort(words, WORDS, sizeof *words, compare_words);
}

static void print_words(void)
{
    size_t at = 0;
    for (size_t i = 0; i < WORDS && at + 64 < TEXT; i++)
        at += (size_t)snprintf(written + at, TEXT - at, "%llu is %g in words of %s\n",
                               (unsigned long long)words[i] % 1000, (double)words[i] / 3.7, i % 3 ? "some" : "other");
}

static void search_text(void)
{
    regex_t pattern;
    regmatch_t match;
    must(regcomp(&pattern, "([0-9]+) is ([0-9.e+]+) in (words|letters) of o", REG_EXTENDED) == 0, "regcomp");
    for (const char *at = written; regexec(&pattern, at, 1, &match, 0) == 0 && match.rm_eo > 0;)
        at += match.rm_eo;
    regfree(&pattern);
}

static void pack_text(void)
{
    static uint8_t packed[2 * TEXT], unpacked[TEXT];
    size_t size = 0, in = 0, out = 0;
    uint64_t limit = UINT64_MAX;
    must(lzma_easy_buffer_encode(2, LZMA_CHECK_CRC64, NULL, (const uint8_t *)written, TEXT, packed, &size,
                                 sizeof packed) == LZMA_OK &&
             lzma_stream_buffer_decode(&limit, 0, NULL, packed, &in, size, unpacked, &out, TEXT) == LZMA_OK,
         "packing");
}

static void (*const work[])(void) = { sort_words, print_words, search_text, pack_text };

static void tick_every(long us)
{
    const struct itimerval every = { { 0, us }, { 0, us } };
    must(setitimer(ITIMER_REAL, &every, NULL) == 0, "setitimer");
}

void bench_hits(void)
{
    const struct sigaction action = { .sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART };
    struct sw_images *images;
    struct sw_analysis_cache *kept;
    must(sw_images_create(NULL, &images) == SW_OK && sw_images_add_self(images) == SW_OK, "registering images");
    must(sw_self_walker(&walker, NULL, images) == SW_OK, "sw_self_walker");
    must(sw_cache_create(NULL, 1 << 14, &walker.cache) == SW_OK, "sw_cache_create");
    must(sw_analysis_cache_create(NULL, 1 << 20, &kept) == SW_OK, "sw_analysis_cache_create");
    walker.analysis_cache = kept;
    must(sigaction(SIGALRM, &action, NULL) == 0, "sigaction");
    tick_every(EVERY_US);
    for (unsigned i = 0; samples < SAMPLES; i++)
        work[i % (sizeof work / sizeof *work)]();
    tick_every(0);
    const struct sw_cache_counts c = sw_cache_get_counts(walker.cache);
    const double hits = (double)(c.hits - warmed.hits);
    const double misses = (double)(c.absent + c.outdated + c.busy - warmed.absent - warmed.outdated - warmed.busy);
    figure_note("hits", "% hits after warm-up", "in-process", 0, 100 * hits / (hits + misses), 0);
    figure_note("hits", "% walks that reached the root", "in-process", 0, 100.0 * complete / samples, 0);
    figure_note("hits", "frames a walk", "in-process", 0, (double)frames / samples, 0);
    figure_print("hits", "rule cache, a program sampled 1,000 times a second by its own handler");
    must(complete == samples, "reaching the root of every sample");
    (void)sigaction(SIGALRM, &(const struct sigaction){ .sa_handler = SIG_IGN }, NULL);
    sw_analysis_cache_destroy(kept);
    sw_cache_destroy(walker.cache);
    sw_images_destroy(images);
}
