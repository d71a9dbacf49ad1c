/* An ordered tree: a treap, whose nodes are added in random order, as a program's life would have it. */
#include "maps.h"

#include <stdlib.h>

struct tree {
    struct sw_range range;
    struct tree *below, *above;
    uint64_t weight;
};

static struct tree *root;
static size_t count;
static uint64_t seed = BENCH_SEED;

/* Cuts a treap at `begin`. */
static void cut(struct tree *tree, uint64_t begin, struct tree **below, struct tree **above)
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

static void add(const struct sw_range *range)
{
    struct tree *node = get(sizeof *node), **at = &root;
    *node = (struct tree){ .range = *range, .weight = next_random(&seed) };
    while (*at && (*at)->weight >= node->weight)
        at = node->range.begin < (*at)->range.begin ? &(*at)->below : &(*at)->above;
    cut(*at, node->range.begin, &node->below, &node->above);
    *at = node;
    count++;
}

/* Puts two treaps, one wholly below the other, in one place. */
static void join(struct tree *below, struct tree *above, struct tree **at)
{
    while (below && above) {
        if (below->weight > above->weight) {
            *at = below;
            at = &below->above;
            below = below->above;
        } else {
            *at = above;
            at = &above->below;
            above = above->below;
        }
    }
    *at = below ? below : above;
}

static void take(const struct sw_range *range)
{
    struct tree **at = &root;
    while (*at && (*at)->range.begin != range->begin)
        at = range->begin < (*at)->range.begin ? &(*at)->below : &(*at)->above;
    struct tree *node = *at;
    must(node != NULL, "removing from the tree");
    join(node->below, node->above, at);
    free(node);
    count--;
}

static uint64_t find(uint64_t address)
{
    const struct tree *at = root, *best = NULL;
    while (at) {
        if (at->range.begin <= address) {
            best = at;
            at = at->above;
        } else {
            at = at->below;
        }
    }
    return best && address < best->range.end ? best->range.id + best->range.begin : 0;
}

static void fill(const struct sw_range *ranges, size_t n)
{
    uint32_t *order = get(n * sizeof *order);
    for (size_t i = 0; i < n; i++) {
        const size_t other = next_random(&seed) % (i + 1);
        order[i] = order[other];
        order[other] = (uint32_t)i;
    }
    for (size_t i = 0; i < n; i++)
        add(&ranges[order[i]]);
    free(order);
}

static size_t bytes(void)
{
    return count * (sizeof(struct tree) + 8); /* malloc takes a word of its own */
}

static void clear(void)
{
    while (root)
        take(&root->range);
}

const struct map map_tree = { "ordered tree", fill, find, add, take, bytes, clear };
