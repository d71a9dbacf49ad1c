/*
 * Builds the tree of functions. A stack whose caller is known already costs one step: `known` has the node of each
 * stack and thread that was met. Knows rows of a profile, and no format.
 */
#include "tree.h"

#include <string.h>

/* A stack of one thread (0: whatever the thread) that has a node, at the same place in known_nodes. */
struct known_row {
    uint32_t stack, thread;
};

/* A profile on its way into a tree. */
struct adding {
    struct sw_profile_tree *tree;
    const struct sw_profile *profile;
};

bool sw_profile_tree_init(struct sw_profile_tree *tree, size_t column_count, bool threads, bool compared)
{
    *tree = (struct sw_profile_tree){
        .budget = { .max = SIZE_MAX }, .column_count = column_count, .threads = threads, .compared = compared
    };
    bool all = sw_profile_texts_init(&tree->texts, &tree->budget);
    all = sw_profile_table_init(&tree->frames, &tree->budget, sizeof(struct sw_profile_frame)) && all;
    all = sw_profile_table_init(&tree->nodes, &tree->budget, sizeof(struct sw_profile_node)) && all;
    all = sw_profile_table_init(&tree->known, &tree->budget, sizeof(struct known_row)) && all;
    sw_profile_array_init(&tree->files, &tree->budget, sizeof(uint32_t));
    sw_profile_array_init(&tree->self, &tree->budget, SW_PROFILE_SIDES * column_count * sizeof(int64_t));
    sw_profile_array_init(&tree->known_nodes, &tree->budget, sizeof(uint32_t));
    return all && sw_profile_array_push(&tree->files, 1) && sw_profile_array_push(&tree->self, 1) &&
           sw_profile_array_push(&tree->known_nodes, 1);
}

void sw_profile_tree_free(struct sw_profile_tree *tree)
{
    struct sw_profile_table *tables[] = { &tree->frames, &tree->nodes, &tree->known };
    struct sw_profile_array *arrays[] = { &tree->files, &tree->self, &tree->known_nodes };
    for (size_t i = 0; i < 3; i++) {
        sw_profile_table_free(tables[i]);
        sw_profile_array_free(arrays[i]);
    }
    sw_profile_texts_free(&tree->texts);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The text's number in the tree; SW_PROFILE_FULL: no memory. */
static uint32_t add_text(struct sw_profile_tree *tree, const char *text)
{
    return sw_profile_texts_add(&tree->texts, text, strlen(text));
}

/* A child of `parent`; SW_PROFILE_FULL: no memory. */
static uint32_t add_node(struct sw_profile_tree *tree, uint32_t parent, const struct sw_profile_frame *frame,
                         const char *file)
{
    if (frame->name == SW_PROFILE_FULL || frame->module == SW_PROFILE_FULL)
        return SW_PROFILE_FULL;
    const struct sw_profile_node node = { sw_profile_table_add(&tree->frames, frame), parent };
    if (node.frame == SW_PROFILE_FULL)
        return SW_PROFILE_FULL;
    if (node.frame == tree->files.count) {
        uint32_t *kept = sw_profile_array_push(&tree->files, 1);
        const uint32_t text = add_text(tree, file);
        if (!kept || text == SW_PROFILE_FULL)
            return SW_PROFILE_FULL;
        *kept = text;
    }
    const uint32_t number = sw_profile_table_add(&tree->nodes, &node);
    const bool room = number < tree->self.count || sw_profile_array_push(&tree->self, 1);
    return room ? number : SW_PROFILE_FULL;
}

static const char *name_of(const struct adding *a, const struct sw_profile_function_row *function)
{
    const char *name = sw_profile_text(a->profile, function->name);
    if (!*name)
        name = sw_profile_text(a->profile, function->system_name);
    return *name ? name : sw_profile_text(a->profile, function->file);
}

static const struct sw_profile_stack_row *stack_row(const struct adding *a, uint32_t stack)
{
    return sw_profile_row(&a->profile->stacks, stack);
}

static uint32_t kind_in(const struct sw_profile_tree *tree, uint32_t kind)
{
    return tree->compared && kind == SW_PROFILE_PRECOMPILED ? SW_PROFILE_JIT : kind;
}

/* A place without a name is one of its module; a row of them is one frame. */
static uint32_t add_nameless(const struct adding *a, const struct sw_profile_location_row *location, const char *module,
                             uint32_t parent)
{
    char name[SW_PROFILE_TEXT_BYTES + 2];
    snprintf(name, sizeof name, "[%s]", *module ? module : "unknown");
    const struct sw_profile_frame frame = { add_text(a->tree, name), add_text(a->tree, module),
                                            kind_in(a->tree, location->kind) };
    const struct sw_profile_node *caller = sw_profile_tree_node(a->tree, parent);
    const bool same = parent && memcmp(sw_profile_row(&a->tree->frames, caller->frame), &frame, sizeof frame) == 0;
    return same ? parent : add_node(a->tree, parent, &frame, "");
}

/* The functions of a location, below `parent`: the outermost first. */
static uint32_t add_location(const struct adding *a, uint32_t number, uint32_t parent)
{
    const struct sw_profile_location_row *location = sw_profile_row(&a->profile->locations, number);
    const struct sw_profile_mapping_row *mapping = sw_profile_row(&a->profile->mappings, location->mapping);
    const char *module = base_name(sw_profile_text(a->profile, mapping->file));
    const struct sw_profile_line_row *lines[SW_PROFILE_LINES_MAX];
    size_t count = 0;
    for (uint32_t line = location->line; line && count < SW_PROFILE_LINES_MAX; line = lines[count++]->outer)
        lines[count] = sw_profile_row(&a->profile->lines, line);
    if (!count)
        return add_nameless(a, location, module, parent);
    for (bool inlined = false; count-- > 0 && parent != SW_PROFILE_FULL; inlined = true) {
        const struct sw_profile_function_row *function = sw_profile_row(&a->profile->functions, lines[count]->function);
        const struct sw_profile_frame frame = { add_text(a->tree, name_of(a, function)), add_text(a->tree, module),
                                                kind_in(a->tree, location->kind) | (inlined ? SW_PROFILE_INLINED : 0) };
        parent = add_node(a->tree, parent, &frame, sw_profile_text(a->profile, function->file));
    }
    return parent;
}

static uint32_t add_thread(const struct adding *a, uint32_t number)
{
    char shown[SW_PROFILE_TEXT_BYTES + 32];
    sw_profile_thread_text(a->profile, number, shown, sizeof shown);
    const struct sw_profile_frame frame = { .name = add_text(a->tree, shown) };
    return add_node(a->tree, 0, &frame, "");
}

/* The number of the pair in `known`; *is_new: it has no node yet. SW_PROFILE_FULL: no memory. */
static uint32_t known_number(struct sw_profile_tree *tree, struct known_row row, bool *is_new)
{
    const uint32_t number = sw_profile_table_add(&tree->known, &row);
    *is_new = number != SW_PROFILE_FULL && number == tree->known_nodes.count;
    return *is_new && !sw_profile_array_push(&tree->known_nodes, 1) ? SW_PROFILE_FULL : number;
}

static uint32_t *known_node(const struct sw_profile_tree *tree, uint32_t number)
{
    return (uint32_t *)tree->known_nodes.items + number;
}

/*
 * The node of a stack. Up to the first caller that is known, then down again: what is new on the way has numbers in
 * `known` that follow each other.
 */
static uint32_t add_stack(const struct adding *a, uint32_t stack, uint32_t thread)
{
    struct sw_profile_tree *tree = a->tree;
    const uint32_t first = (uint32_t)sw_profile_row_count(&tree->known);
    struct known_row row = { stack, thread };
    bool is_new;
    uint32_t number = known_number(tree, row, &is_new);
    while (number != SW_PROFILE_FULL && is_new && row.stack) {
        row.stack = stack_row(a, row.stack)->caller;
        number = known_number(tree, row, &is_new);
    }
    if (number == SW_PROFILE_FULL)
        return SW_PROFILE_FULL;
    if (is_new)
        *known_node(tree, number) = tree->threads ? add_thread(a, thread - 1) : 0;
    uint32_t node = *known_node(tree, number);
    uint32_t at = is_new ? number : (uint32_t)sw_profile_row_count(&tree->known);
    while (at-- > first && node != SW_PROFILE_FULL) {
        const struct known_row *below = sw_profile_row(&tree->known, at);
        node = add_location(a, stack_row(a, below->stack)->location, node);
        *known_node(tree, at) = node;
    }
    return node;
}

/* Adds a sample's sums to its node. */
static void add_self(struct sw_profile_tree *tree, uint32_t node, size_t side, const struct sw_profile *profile,
                     size_t sample, const size_t *columns)
{
    int64_t *self = sw_profile_tree_self(tree, node, side);
    bool saturated;
    for (size_t c = 0; c < tree->column_count; c++)
        if (columns[c] < profile->column_count)
            self[c] = sw_profile_sum(self[c], sw_profile_sums(profile, sample)[columns[c]], &saturated);
}

bool sw_profile_tree_add(struct sw_profile_tree *tree, const struct sw_profile *profile, size_t side,
                         const size_t *columns, uint32_t *nodes)
{
    const struct adding adding = { tree, profile };
    /* Stacks are numbered by each profile anew. */
    sw_profile_table_free(&tree->known);
    sw_profile_array_free(&tree->known_nodes);
    if (!sw_profile_table_init(&tree->known, &tree->budget, sizeof(struct known_row)) ||
        !sw_profile_array_push(&tree->known_nodes, 1))
        return false;
    for (size_t i = 0; i < sw_profile_row_count(&profile->samples); i++) {
        const struct sw_profile_sample_row *sample = sw_profile_row(&profile->samples, i);
        const uint32_t node = add_stack(&adding, sample->stack, tree->threads ? sample->thread + 1 : 0);
        if (node == SW_PROFILE_FULL)
            return false;
        if (nodes)
            nodes[i] = node;
        add_self(tree, node, side, profile, i, columns);
    }
    return true;
}

bool sw_profile_tree_path(const struct sw_profile_tree *tree, uint32_t node, struct sw_profile_array *path)
{
    path->count = 0;
    for (; node; node = sw_profile_tree_node(tree, node)->parent) {
        uint32_t *frame = sw_profile_array_push(path, 1);
        if (!frame)
            return false;
        *frame = sw_profile_tree_node(tree, node)->frame;
    }
    return true;
}
