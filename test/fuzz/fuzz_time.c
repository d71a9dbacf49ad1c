/*
 * How long a walk takes: the input is a small program and a few words of stack, repeated until there are 256 KiB of
 * code and 32 KiB of stack, walked with the default budget in code that no table describes. Holds: the budget's
 * counter is never over the budget; what the library reads from the target, counted here, is within what its units
 * say; so it is in walks after it, which have what was kept, and in preparing. The search is led to inputs that read
 * much for a unit.
 */
#include <snapwalk/analysis_cache.h>
#include <snapwalk/cache.h>
#include <snapwalk/walk.h>

#include <stdlib.h>
#include <string.h>

enum { CODE = 0x100000, CODE_BYTES = 1 << 18, STACK = 0x800000, STACK_BYTES = 1 << 15, WORDS = 16 };
enum { MOST_FRAMES = 256, KEPT_BYTES = 1 << 16, ENTRIES = 64, AGAIN = 3 };

/*
 * What is read for a unit: an instruction, 64 bytes of code, 64 words of the stack, all of which may be read again by
 * another question about it. The frame scan (frame_scan.c) reads up to 7,924 bytes a unit: what it tries is not paid
 * for one by one, as it should be. A frame costs something besides, and so does the beginning.
 */
enum { BYTES_A_UNIT = 8192, BYTES_A_FRAME = 1 << 13, BYTES_AT_FIRST = 1 << 13 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t code[CODE_BYTES], stack[STACK_BYTES];
static uint64_t bytes_read;

/* libFuzzer's: a new value in one of these makes an input worth keeping. */
__attribute__((section("__libfuzzer_extra_counters"), used)) static uint8_t reached[64];

static void require(bool holds)
{
    if (!holds)
        abort();
}

static size_t copy(const uint8_t *from, uint64_t begin, uint64_t bytes, uint64_t address, void *to, size_t size)
{
    if (address < begin || address - begin >= bytes)
        return 0;
    const uint64_t left = bytes - (address - begin);
    const size_t part = size < left ? size : (size_t)left;
    memcpy(to, from + (address - begin), part);
    bytes_read += part;
    return part;
}

static size_t read_target(void *arg, uint64_t address, void *to, size_t size)
{
    (void)arg;
    bytes_read += 8; /* a call is not for nothing */
    const size_t got = copy(code, CODE, CODE_BYTES, address, to, size);
    return got ? got : copy(stack, STACK, STACK_BYTES, address, to, size);
}

static uint8_t take(const uint8_t **data, size_t *size)
{
    if (*size == 0)
        return 0;
    --*size;
    return *(*data)++;
}

/* A place in the code that the input says, in 18 bits. */
static uint64_t take_place(const uint8_t **data, size_t *size)
{
    uint64_t place = take(data, size);
    place |= (uint64_t)take(data, size) << 8;
    return CODE + (place | (uint64_t)(take(data, size) & 3) << 16);
}

/* Words that lead into the code, or not; then the program. */
static void fill(const uint8_t **data, size_t *size)
{
    uint64_t words[WORDS] = { 0 };
    const unsigned count = 1 + take(data, size) % WORDS;
    for (unsigned i = 0; i < count; i++)
        words[i] = take(data, size) & 1 ? take_place(data, size) : STACK + 8 * (uint64_t)take(data, size);
    for (size_t at = 0; at < STACK_BYTES; at += sizeof *words)
        memcpy(stack + at, &words[at / sizeof *words % count], sizeof *words);
    for (size_t at = 0; at < CODE_BYTES; at++)
        code[at] = *size ? (*data)[at % *size] : 0;
}

/* How many bytes a unit, in powers of two; whether it was the first walk. */
static void lead(uint64_t work, unsigned walk)
{
    unsigned power = 0;
    for (uint64_t each = bytes_read / (work + 1); each && power < 15; each >>= 1)
        power++;
    reached[16 * (walk != 0) + power] = 1;
    reached[32 + (work >= SW_WALK_BUDGET)] = 1;
}

static void check(uint64_t work, uint64_t frames, unsigned walk)
{
    require(work <= SW_WALK_BUDGET);
    require(bytes_read <= work * BYTES_A_UNIT + frames * BYTES_A_FRAME + BYTES_AT_FIRST);
    lead(work, walk);
}

static void walk_once(const struct sw_walker *walker, struct sw_scratch *scratch, const struct sw_regs *regs,
                      unsigned n)
{
    struct sw_walk walk;
    bytes_read = 0;
    sw_walk_start(&walk, walker, scratch, regs, true);
    while (sw_walk_next(&walk))
        require(walk.depth <= MOST_FRAMES);
    require(walk.stop > SW_STOP_NONE && walk.stop < SW_STOP_COUNT);
    check(walk.work, walk.depth, n);
}

static void walk_often(struct sw_walker *walker, const struct sw_regs *regs)
{
    static struct sw_scratch scratch;
    for (unsigned n = 0; n < AGAIN; n++) {
        walk_once(walker, &scratch, regs, n);
        bytes_read = 0;
        (void)sw_walk_prepare(walker, &scratch, SW_WALK_BUDGET_DEFAULT);
        require(bytes_read <= SW_WALK_BUDGET * (uint64_t)BYTES_A_UNIT + BYTES_AT_FIRST);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t choice = take(&data, &size);
    const enum sw_machine machine = choice & 1 ? SW_MACHINE_X64 : SW_MACHINE_ARM64;
    struct sw_walker walker = { .machine = machine,
                                .memory = { read_target, NULL, { 0, 0, NULL } },
                                .stack_begin = STACK,
                                .stack_end = STACK + STACK_BYTES,
                                .max_frames = MOST_FRAMES,
                                .budget = SW_WALK_BUDGET_DEFAULT };
    struct sw_analysis_cache *kept = NULL;
    struct sw_regs regs = { .machine = machine };
    for (unsigned n = 0; n < sw_regs_count(machine); n++)
        sw_regs_set(&regs, n, STACK + 64);
    sw_regs_set(&regs, sw_regs_pc_number(machine), take_place(&data, &size));
    fill(&data, &size);
    if ((choice & 2) && sw_analysis_cache_create(NULL, KEPT_BYTES, &kept) != SW_OK)
        return 0;
    if ((choice & 4) && sw_cache_create(NULL, ENTRIES, &walker.cache) != SW_OK)
        walker.cache = NULL;
    walker.analysis_cache = kept;
    walk_often(&walker, &regs);
    sw_cache_destroy(walker.cache);
    sw_analysis_cache_destroy(kept);
    return 0;
}
