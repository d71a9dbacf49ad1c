/*
 * How fast the code map is beside what one would use otherwise: a sorted array with binary search, an ordered tree
 * (a treap), and a hash of the pages that ranges touch. The same ranges, the same struct, the same questions in the
 * same order, in one run; medians of several rounds, taken in turn. Ratios are what counts: times depend on the
 * machine.
 *
 * Ranges are like JIT code: 32 to 607 bytes, 16-aligned, small gaps. Exit status 1 when, at 1,000,000 ranges, find is
 * less than 5 times as fast as the binary search, a range takes more than 40 bytes, or adding takes a second or more.
 */
#include "codemap/codemap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 7, QUESTIONS = 400000 };

/* Of this thread: what else runs on the machine shall not count. */
static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint64_t seed = 88172645463325252u;

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static void *get(size_t size)
{
    void *block = malloc(size);
    if (!block)
        abort();
    return block;
}

static void must(enum sw_status status)
{
    if (status != SW_OK)
        abort();
}

/* ------------------------------------------------------------------ the ranges, the questions */

static struct sw_range *ranges; /* ascending: also the sorted array of the comparison */
static size_t count;
static uint64_t *questions;

static void make_ranges(size_t n)
{
    uint64_t at = UINT64_C(0x7f3a10000000);
    count = n;
    ranges = get(n * sizeof *ranges);
    for (size_t i = 0; i < n; i++) {
        const uint64_t size = 32 + next_random() % 36 * 16 + next_random() % 16;
        ranges[i] = (struct sw_range){ at, at + size, i + 1, (uint32_t)(i / 1000), SW_KIND_JIT, 0, 0 };
        at += (size + 31) / 16 * 16;
    }
    questions = get(QUESTIONS * sizeof *questions);
    for (size_t i = 0; i < QUESTIONS; i++) {
        const struct sw_range *range = &ranges[next_random() % n];
        questions[i] = range->begin + next_random() % (range->end - range->begin);
    }
}

/* ------------------------------------------------------------------ the others */

static const struct sw_range *array_find(uint64_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (ranges[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && address < ranges[low - 1].end ? &ranges[low - 1] : NULL;
}

struct tree {
    struct sw_range range;
    struct tree *below, *above;
    uint64_t weight;
};

static struct tree *tree_root, *tree_nodes;

/* Cuts a treap at `begin`. */
static void tree_cut(struct tree *tree, uint64_t begin, struct tree **below, struct tree **above)
{
    while (tree) {
        if (tree->range.begin < begin) {
            *below = tree;
            below = &tree->above;
            tree = tree->above;
        } else {
            *above = tree;
            above = &tree->below;
            tree = tree->below;
        }
    }
    *below = *above = NULL;
}

static void tree_add(struct tree *node)
{
    struct tree **at = &tree_root;
    while (*at && (*at)->weight >= node->weight)
        at = node->range.begin < (*at)->range.begin ? &(*at)->below : &(*at)->above;
    tree_cut(*at, node->range.begin, &node->below, &node->above);
    *at = node;
}

static const struct sw_range *tree_find(uint64_t address)
{
    const struct tree *at = tree_root, *best = NULL;
    while (at) {
        if (at->range.begin <= address) {
            best = at;
            at = at->above;
        } else {
            at = at->below;
        }
    }
    return best && address < best->range.end ? &best->range : NULL;
}

/* An open-addressing hash from page to the first range that touches it; from there along the array. */
enum { PAGE_BITS = 12 };

static struct page {
    uint64_t page;
    size_t first;
} * pages;
static size_t pages_mask;

static struct page *page_slot(uint64_t page)
{
    size_t i = (size_t)(page * UINT64_C(0x9e3779b97f4a7c15) >> 20) & pages_mask;
    while (pages[i].page && pages[i].page != page)
        i = (i + 1) & pages_mask;
    return &pages[i];
}

static void pages_make(void)
{
    const uint64_t touched = ((ranges[count - 1].end - ranges[0].begin) >> PAGE_BITS) + 2;
    for (pages_mask = 1; pages_mask < 2 * touched; pages_mask = pages_mask * 2 + 1)
        ;
    pages = calloc(pages_mask + 1, sizeof *pages);
    if (!pages)
        abort();
    for (size_t i = 0; i < count; i++)
        for (uint64_t p = ranges[i].begin >> PAGE_BITS; p <= (ranges[i].end - 1) >> PAGE_BITS; p++)
            if (page_slot(p)->page == 0)
                *page_slot(p) = (struct page){ p, i };
}

static const struct sw_range *pages_find(uint64_t address)
{
    const struct page *slot = page_slot(address >> PAGE_BITS);
    if (!slot->page)
        return NULL;
    size_t i = slot->first;
    while (i < count && ranges[i].end <= address)
        i++;
    return i < count && ranges[i].begin <= address ? &ranges[i] : NULL;
}

/* ------------------------------------------------------------------ finding */

static struct sw_codemap *map;

static uint64_t ask_public(void)
{
    uint64_t sum = 0;
    struct sw_range found = { 0 };
    for (size_t i = 0; i < QUESTIONS; i++)
        if (sw_codemap_find(map, questions[i], &found) == SW_OK)
            sum += found.id + found.begin;
    return sum;
}

static uint64_t ask_inside(void)
{
    uint64_t sum = 0;
    struct sw_range found = { 0 };
    const uint32_t ticket = sw_codemap_enter(map);
    for (size_t i = 0; i < QUESTIONS; i++)
        if (sw_codemap_find_inside(map, questions[i], &found))
            sum += found.id + found.begin;
    sw_codemap_leave(map, ticket);
    return sum;
}

static uint64_t ask(const struct sw_range *(*find)(uint64_t address))
{
    uint64_t sum = 0;
    for (size_t i = 0; i < QUESTIONS; i++) {
        const struct sw_range *found = find(questions[i]);
        if (found)
            sum += found->id + found->begin;
    }
    return sum;
}

static uint64_t ask_array(void)
{
    return ask(array_find);
}

static uint64_t ask_tree(void)
{
    return ask(tree_find);
}

static uint64_t ask_pages(void)
{
    return ask(pages_find);
}

enum { PUBLIC, INSIDE, ARRAY, TREE, PAGES, FINDERS };

static const struct finder {
    const char *name;
    uint64_t (*ask)(void);
} finders[FINDERS] = {
    { "code map, sw_codemap_find", ask_public },
    { "code map, inside a section", ask_inside },
    { "sorted array, binary search", ask_array },
    { "ordered tree (treap)", ask_tree },
    { "hash of pages", ask_pages },
};

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, by_value);
    return values[n / 2];
}

/* Nanoseconds a find, by finder. All of them must give the same answers. */
static void time_finds(double *ns)
{
    double taken[FINDERS][ROUNDS];
    const uint64_t expected = ask_array();
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned f = 0; f < FINDERS; f++) {
            (void)finders[f].ask(); /* so that none has to clear the caches of what another one left there */
            const double start = seconds();
            if (finders[f].ask() != expected)
                abort();
            taken[f][round] = (seconds() - start) * 1e9 / QUESTIONS;
        }
    }
    for (unsigned f = 0; f < FINDERS; f++)
        ns[f] = median(taken[f], ROUNDS);
}

/* ------------------------------------------------------------------ changing */

enum order { ASCENDING, DESCENDING, RANDOM, ORDERS };
static const char *const order_names[ORDERS] = { "ascending", "descending", "random" };

static size_t *make_order(enum order order)
{
    size_t *of = get(count * sizeof *of);
    for (size_t i = 0; i < count; i++)
        of[i] = order == DESCENDING ? count - 1 - i : i;
    for (size_t i = count - 1; order == RANDOM && i > 0; i--) {
        const size_t k = next_random() % (i + 1), held = of[i];
        of[i] = of[k];
        of[k] = held;
    }
    return of;
}

/* Fills `map` anew: seconds. */
static double fill(enum order order)
{
    size_t *of = make_order(order);
    sw_codemap_destroy(map);
    must(sw_codemap_create(NULL, &map));
    const double start = seconds();
    for (size_t i = 0; i < count; i++)
        must(sw_codemap_add(map, &ranges[of[i]]));
    const double taken = seconds() - start;
    free(of);
    return taken;
}

static double drain(enum order order)
{
    size_t *of = make_order(order);
    const double start = seconds();
    for (size_t i = 0; i < count; i++)
        must(sw_codemap_remove(map, ranges[of[i]].begin));
    const double taken = seconds() - start;
    free(of);
    return taken;
}

/* Prints adds and removes; leaves the map filled at random, the least favourable to memory. The slowest add of all. */
static double time_changes(double *bytes_worst)
{
    double slowest = 0;
    *bytes_worst = 0;
    for (enum order order = ASCENDING; order < ORDERS; order++) {
        const double filled = fill(order);
        const double bytes = (double)sw_codemap_bytes(map) / (double)count;
        const double drained = drain(order);
        printf("  %-28s %7.2f M adds/s %7.2f M removes/s %6.1f bytes a range\n", order_names[order],
               (double)count / filled * 1e-6, (double)count / drained * 1e-6, bytes);
        slowest = filled > slowest ? filled : slowest;
        *bytes_worst = bytes > *bytes_worst ? bytes : *bytes_worst;
    }
    (void)fill(RANDOM);
    return slowest;
}

static void make_others(void)
{
    tree_root = NULL;
    tree_nodes = get(count * sizeof *tree_nodes);
    size_t *of = make_order(RANDOM);
    for (size_t i = 0; i < count; i++) {
        tree_nodes[i] = (struct tree){ .range = ranges[of[i]], .weight = next_random() };
        tree_add(&tree_nodes[i]);
    }
    free(of);
    pages_make();
}

static void free_all(void)
{
    free(ranges);
    free(questions);
    free(tree_nodes);
    free(pages);
    sw_codemap_destroy(map);
    map = NULL;
}

int main(void)
{
    static const size_t sizes[] = { 10000, 100000, 1000000 };
    double ratio = 0, bytes = 0, slowest = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        make_ranges(sizes[s]);
        printf("%zu ranges\n", count);
        slowest = time_changes(&bytes);
        make_others();
        double ns[FINDERS];
        time_finds(ns);
        for (unsigned f = 0; f < FINDERS; f++)
            printf("  %-28s %7.1f ns a find %8.2fx binary search\n", finders[f].name, ns[f], ns[ARRAY] / ns[f]);
        ratio = ns[ARRAY] / ns[PUBLIC];
        free_all();
    }
    printf("bench codemap: find %.1fx faster than binary search at 1e6, %.1f bytes a range\n", ratio, bytes);
    return ratio >= 5 && bytes <= 40 && slowest < 1 ? 0 : 1;
}
