/*
 * The tree of functions: a profile's stacks with all places in one function as one frame, and inlined functions as
 * frames of their own. Of one profile, or of two that are compared. Text formats and the page are written from it.
 */
#ifndef PROFILE_TREE_H
#define PROFILE_TREE_H

#include "data.h"

/* Texts are numbers in `texts`. kind_inlined: the kind, and SW_PROFILE_INLINED. */
struct sw_profile_frame {
    uint32_t name, module, kind_inlined;
};

enum { SW_PROFILE_INLINED = 8 };

struct sw_profile_node {
    uint32_t frame, parent;
};

/* Two profiles at most: the one that is shown, and the one before it. */
enum { SW_PROFILE_NOW = 0, SW_PROFILE_BEFORE = 1, SW_PROFILE_SIDES };

/* Node 0 is the root. A parent's number is smaller than its children's. */
struct sw_profile_tree {
    struct sw_profile_budget budget;
    struct sw_profile_texts texts;
    struct sw_profile_table frames, nodes, known;
    struct sw_profile_array files; /* of each frame, the source file where it was seen first */
    struct sw_profile_array self;  /* of each node: column_count values of each side */
    struct sw_profile_array known_nodes;
    size_t column_count;
    bool threads, compared;
};

/* threads: the outermost frames are threads. compared: how managed code was compiled makes no difference. */
bool sw_profile_tree_init(struct sw_profile_tree *tree, size_t column_count, bool threads, bool compared);
void sw_profile_tree_free(struct sw_profile_tree *tree);

/*
 * Adds a profile's samples. columns: for each of the tree's, the profile's or a number that it does not have.
 * nodes: NULL, or as many as the profile has samples: gets each sample's node. False: no memory.
 */
bool sw_profile_tree_add(struct sw_profile_tree *tree, const struct sw_profile *profile, size_t side,
                         const size_t *columns, uint32_t *nodes);

/* The frames of a node, leaf first, in `path`, an array of uint32_t. False: no memory. */
bool sw_profile_tree_path(const struct sw_profile_tree *tree, uint32_t node, struct sw_profile_array *path);

/* The values that are a node's own, of one side. */
static inline int64_t *sw_profile_tree_self(const struct sw_profile_tree *tree, size_t node, size_t side)
{
    return (int64_t *)(tree->self.items + node * tree->self.item_bytes) + side * tree->column_count;
}

static inline const struct sw_profile_node *sw_profile_tree_node(const struct sw_profile_tree *tree, size_t node)
{
    return sw_profile_row(&tree->nodes, node);
}

static inline const char *sw_profile_tree_name(const struct sw_profile_tree *tree, uint32_t frame)
{
    const struct sw_profile_frame *row = sw_profile_row(&tree->frames, frame);
    return sw_profile_texts_get(&tree->texts, row->name);
}

#endif
