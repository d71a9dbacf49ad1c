/*
 * Trees of functions with the time that was spent in and under each. A function is its module and its name, which are
 * kept texts (names.h): the same texts are at the same address. Nodes stand in one array and know each other by number.
 */
#include "hot.h"

#include "refuse.h"

#include <inttypes.h>
#include <stdlib.h>

enum { NODES_FIRST = 1024, LEAST_SHARE = 100, INDENT_MOST = 40, CALLERS_MOST = 6 };

/* child, next: 0 is none, because node 0 is the root. */
struct node {
    const char *module, *function;
    uint32_t child, next, depth;
    uint64_t total, self;
};

struct tree {
    struct node *nodes;
    uint32_t count, room;
};

struct hot {
    struct tree top_down, bottom_up;
};

static void *must_have(void *memory)
{
    must(memory ? SW_OK : SW_E_NO_MEMORY, "samples");
    return memory;
}

static uint32_t add_node(struct tree *tree, struct node node)
{
    if (tree->count == tree->room) {
        tree->room = tree->room ? 2 * tree->room : NODES_FIRST;
        tree->nodes = must_have(realloc(tree->nodes, tree->room * sizeof *tree->nodes));
    }
    tree->nodes[tree->count] = node;
    return tree->count++;
}

struct hot *hot_create(void)
{
    struct hot *hot = must_have(calloc(1, sizeof *hot));
    add_node(&hot->top_down, (struct node){ "", "", 0, 0, 0, 0, 0 });
    add_node(&hot->bottom_up, (struct node){ "", "", 0, 0, 0, 0, 0 });
    return hot;
}

void hot_destroy(struct hot *hot)
{
    free(hot->top_down.nodes);
    free(hot->bottom_up.nodes);
    free(hot);
}

/* The child of a node that stands for a function, made if need be. */
static uint32_t child_of(struct tree *tree, uint32_t parent, const struct place *place)
{
    uint32_t at = tree->nodes[parent].child;
    while (at && (tree->nodes[at].module != place->module || tree->nodes[at].function != place->function))
        at = tree->nodes[at].next;
    if (at)
        return at;
    const struct node node = {
        place->module, place->function, 0, tree->nodes[parent].child, tree->nodes[parent].depth + 1, 0, 0
    };
    at = add_node(tree, node);
    tree->nodes[parent].child = at;
    return at;
}

/* Functions of one module that have no name are one line: nobody can tell them apart in a tree. */
static bool is_same_unnamed(const struct place *place, const struct place *before)
{
    return before && !*place->function && !*before->function && place->module == before->module;
}

static void add_path(struct tree *tree, const struct stack *stack, bool from_root, uint32_t most, uint64_t ns)
{
    const struct place *before = NULL;
    uint32_t at = 0, depth = 0;
    tree->nodes[0].total += ns;
    for (uint32_t i = 0; i < stack->count && depth < most; i++) {
        const struct place *place = stack->frames[from_root ? stack->count - 1 - i : i].place;
        if (is_same_unnamed(place, before))
            continue;
        at = child_of(tree, at, place);
        tree->nodes[at].total += ns;
        before = place;
        depth++;
    }
    tree->nodes[at].self += ns;
}

void hot_add(struct hot *hot, const struct stack *stack, uint64_t ns)
{
    add_path(&hot->top_down, stack, true, UINT32_MAX, ns);
    add_path(&hot->bottom_up, stack, false, CALLERS_MOST, ns);
}

static double share(const struct tree *tree, uint64_t ns)
{
    return 100.0 * (double)ns / (double)tree->nodes[0].total;
}

static void write_node(const struct tree *tree, const struct node *node, bool with_self, FILE *file)
{
    const uint32_t depth = node->depth - 1;
    fprintf(file, "%6.1f %%", share(tree, node->total));
    if (with_self)
        fprintf(file, " %6.1f %%", share(tree, node->self));
    fprintf(file, "  %*s", (int)(depth < INDENT_MOST ? depth : INDENT_MOST), "");
    if (*node->function)
        fprintf(file, "%s%s%s\n", node->module, *node->module ? "!" : "", node->function);
    else
        fprintf(file, "[%s]\n", *node->module ? node->module : "no module");
}

/* The child with the most time, of those with less than `below` and, at equal times, a smaller number. 0: none. */
static uint32_t next_child(const struct tree *tree, uint32_t parent, uint32_t last)
{
    uint32_t best = 0;
    for (uint32_t at = tree->nodes[parent].child; at; at = tree->nodes[at].next) {
        const uint64_t total = tree->nodes[at].total, below = last ? tree->nodes[last].total : UINT64_MAX;
        const bool is_left = total < below || (total == below && at < last);
        if (is_left && (!best || total > tree->nodes[best].total || (total == tree->nodes[best].total && at > best)))
            best = at;
    }
    return best;
}

/* Depth first without recursion: `path` has the node that was written last at each depth. */
static void write_tree(const struct tree *tree, bool with_self, FILE *file)
{
    uint32_t deepest = 0;
    for (uint32_t i = 0; i < tree->count; i++)
        deepest = tree->nodes[i].depth > deepest ? tree->nodes[i].depth : deepest;
    uint32_t *path = must_have(calloc(deepest + 2, sizeof *path)), depth = 1;
    while (depth > 0) {
        const uint32_t at = next_child(tree, path[depth - 1], path[depth]);
        path[depth] = at;
        if (!at || tree->nodes[at].total < tree->nodes[0].total / LEAST_SHARE) {
            path[depth] = 0;
            depth--;
            continue;
        }
        write_node(tree, &tree->nodes[at], with_self, file);
        path[++depth] = 0;
    }
    free(path);
}

void hot_write(const struct hot *hot, FILE *file)
{
    const uint64_t total = hot->top_down.nodes[0].total;
    fprintf(file, "%.3f s of processor time\n", (double)total / 1e9);
    if (total == 0)
        return;
    fputs("\ntop-down: time under a function, time in itself\n", file);
    write_tree(&hot->top_down, true, file);
    fputs("\nbottom-up: time in a function, and in it by its callers\n", file);
    write_tree(&hot->bottom_up, false, file);
}
