/*
 * Whole walks over random simulated memory: code, ranges, stack and registers are all the input's, and the unwind data
 * of a PE image where the first byte says that there is one. Holds: the walk ends within its frame limit, sp never
 * falls, every enumerator is in range, every stop has a name.
 */
#include <snapwalk/sim.h>
#include <snapwalk/walk.h>

#include <stdlib.h>
#include <string.h>

enum { CODE = 0x10000, STACK = 0x80000, MOST_FRAMES = 64, MOST_CODE = 2048, LEAST_BUDGET = 4, BUDGETS = 7 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t take(const uint8_t **data, size_t *size)
{
    if (*size == 0)
        return 0;
    --*size;
    return *(*data)++;
}

/* A word that often points into code or stack. */
static uint64_t take_word(const uint8_t **data, size_t *size)
{
    const uint8_t how = take(data, size);
    uint64_t value = 0;
    if (how < 96)
        return CODE + (uint64_t)(take(data, size) | (take(data, size) & 7) << 8);
    if (how < 192)
        return STACK + 8 * (uint64_t)take(data, size);
    for (unsigned i = 0; i < 8; i++)
        value |= (uint64_t)take(data, size) << 8 * i;
    return value;
}

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void fill(struct sw_sim *sim, const uint8_t **data, size_t *size)
{
    uint64_t words[64];
    for (unsigned n = take(data, size) % 6; n > 0; n--) {
        const uint64_t begin = CODE + 16 * (uint64_t)take(data, size);
        const enum sw_kind kind = (enum sw_kind)(take(data, size) % 5);
        (void)!sw_sim_range(sim, kind, begin, begin + take(data, size), begin);
    }
    const unsigned count = take(data, size) % 64;
    for (unsigned i = 0; i < count; i++)
        words[i] = take_word(data, size);
    (void)!sw_sim_words(sim, STACK, words, count);
}

/*
 * A PE image whose text section is the code: a header that is sound, an exception directory whose entries ascend, and
 * unwind data of any kind.
 */
static struct sw_images *make_image(struct sw_sim *sim, const uint8_t **data, size_t *size)
{
    enum { BASE = CODE - 0x1000, TABLE = 0x2000, INFO = 0x2100, END = 0x2200, OPTIONAL = 0x98 };
    static const uint32_t fields[][2] = { { 60, 0x80 },
                                          { OPTIONAL + 56, END },
                                          { OPTIONAL + 60, 0x400 },
                                          { OPTIONAL + 108, 4 },
                                          { OPTIONAL + 136, TABLE },
                                          { OPTIONAL + 140, 96 },
                                          { 0x128 + 8, 0x1000 },
                                          { 0x128 + 12, 0x1000 },
                                          { 0x128 + 36, 0x20000000 },
                                          { 0x150 + 8, END - TABLE },
                                          { 0x150 + 12, TABLE } };
    static uint8_t image[END];
    const struct sw_memory memory = sw_sim_memory(sim);
    struct sw_images *images = NULL;
    uint32_t at = 0x1000;
    memset(image, 0, sizeof image);
    memcpy(image, "MZ", 2);
    memcpy(image + 0x80, "PE\0\0\x64\x86\x02", 7);
    image[0x80 + 20] = 0x90;
    memcpy(image + OPTIONAL, "\x0b\x02", 2);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        memcpy(image + fields[i][0], &fields[i][1], 4);
    for (uint32_t entry = TABLE; entry < TABLE + 96; entry += 12) {
        const uint32_t row[] = { at + take(data, size), at + 0x100, INFO + 4u * (take(data, size) % 60) };
        memcpy(image + entry, row, sizeof row);
        at += 0x100;
    }
    for (uint32_t i = INFO; i < END; i++)
        image[i] = take(data, size);
    if (sw_images_create(NULL, &images) != SW_OK)
        return NULL;
    if (sw_sim_bytes(sim, BASE, image, sizeof image) == SW_OK)
        require(sw_images_add_memory(images, "image", BASE, sizeof image, &memory) == SW_OK);
    return images;
}

/* By tables alone in a small scratch, which the sanitizer watches. */
static struct sw_scratch *scratch_for(struct sw_walker *walker)
{
    static struct sw_scratch whole;
    static uint64_t small[SW_SCRATCH_TABLES_BYTES / 8];
    if (!(walker->flags & SW_WALK_NO_ANALYSIS))
        return &whole;
    walker->scratch_bytes = sizeof small;
    return (struct sw_scratch *)(void *)small;
}

static void check_walk(struct sw_walker *walker, const struct sw_regs *regs)
{
    struct sw_scratch *scratch = scratch_for(walker);
    struct sw_walk walk;
    unsigned frames = 0;
    uint64_t sp = 0;
    bool was_signal = true;
    sw_walk_start(&walk, walker, scratch, regs, true);
    while (sw_walk_next(&walk)) {
        require(++frames <= MOST_FRAMES);
        require(walk.frame.source < SW_SOURCE_COUNT && walk.frame.trust < SW_TRUST_COUNT);
        require(walk.frame.code.kind <= SW_KIND_NATIVE);
        was_signal = frames == 1 || walk.frame.exact;
        require(was_signal || sw_regs_sp(&walk.frame.regs) >= sp);
        sp = sw_regs_sp(&walk.frame.regs);
    }
    require(walk.stop > SW_STOP_NONE && walk.stop < SW_STOP_COUNT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sw_sim *sim;
    struct sw_images *images = NULL;
    struct sw_regs regs = { 0 };
    const uint8_t choice = take(&data, &size);
    const enum sw_machine machine = choice & 1 ? SW_MACHINE_X64 : SW_MACHINE_ARM64;
    if (sw_sim_create(NULL, machine, &sim) != SW_OK)
        return 0;
    fill(sim, &data, &size);
    if ((choice & 0xe0) == 0xe0)
        sw_sim_walker(sim)->images = images = make_image(sim, &data, &size);
    regs.machine = machine;
    for (unsigned n = 0; n < sw_regs_count(machine); n++)
        if (n < 8 || n >= sw_regs_pc_number(machine) - 1)
            sw_regs_set(&regs, n, take_word(&data, &size));
    (void)!sw_sim_bytes(sim, CODE, data, size < MOST_CODE ? size : MOST_CODE);
    sw_sim_walker(sim)->max_frames = MOST_FRAMES;
    sw_sim_walker(sim)->budget = UINT32_C(1) << (LEAST_BUDGET + choice % BUDGETS); /* long walks are fuzz_time's */
    sw_sim_walker(sim)->flags = choice >> 1 & 7;
    if (choice & 16) {
        sw_sim_walker(sim)->stack_begin = STACK;
        sw_sim_walker(sim)->stack_end = STACK + 512;
    }
    check_walk(sw_sim_walker(sim), &regs);
    sw_sim_destroy(sim);
    sw_images_destroy(images);
    return 0;
}
