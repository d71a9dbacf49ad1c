/*
 * Folded stacks: "outer;inner 42". The format has no escape: ";" within a name becomes ":". Knows nothing of names
 * but that they were cleaned, so that they hold no line breaks. Source: profile-formats.md section 4.
 */
#include "tree.h"

#include <inttypes.h>

static void write_name(const char *name, FILE *file)
{
    for (; *name; name++)
        putc(*name == ';' ? ':' : *name, file);
}

static void write_frame(const struct sw_profile_tree *tree, uint32_t number, bool kinds, FILE *file)
{
    const struct sw_profile_frame *frame = sw_profile_row(&tree->frames, number);
    write_name(sw_profile_tree_name(tree, number), file);
    if (kinds && frame->kind_inlined & SW_PROFILE_INLINED)
        fputs("_[i]", file);
    else if (kinds)
        fputs(sw_profile_kind_words(frame->kind_inlined & ~(uint32_t)SW_PROFILE_INLINED)->suffix, file);
}

/* Lines of all nodes that have something of their own. False: no memory. */
static bool write_lines(const struct sw_profile_tree *tree, bool kinds, FILE *file)
{
    struct sw_profile_budget budget = { .max = SIZE_MAX };
    struct sw_profile_array path;
    bool room = true;
    sw_profile_array_init(&path, &budget, sizeof(uint32_t));
    for (uint32_t node = 0; room && node < sw_profile_row_count(&tree->nodes); node++) {
        const int64_t self = *sw_profile_tree_self(tree, node, SW_PROFILE_NOW);
        if (!self)
            continue;
        room = sw_profile_tree_path(tree, node, &path);
        if (room && !path.count)
            fputs("[no stack]", file);
        for (size_t at = path.count; room && at-- > 0;) {
            write_frame(tree, ((const uint32_t *)path.items)[at], kinds, file);
            fputs(at ? ";" : "", file);
        }
        fprintf(file, " %" PRId64 "\n", self);
    }
    sw_profile_array_free(&path);
    return room;
}

enum sw_profile_status sw_profile_write_folded(const struct sw_profile *profile, const struct sw_profile_view *view,
                                               FILE *file)
{
    struct sw_profile_tree tree;
    if (view->value >= profile->column_count)
        return SW_PROFILE_E_ARGUMENT;
    const bool whole = sw_profile_tree_init(&tree, 1, view->threads, false) &&
                       sw_profile_tree_add(&tree, profile, SW_PROFILE_NOW, &view->value, NULL) &&
                       write_lines(&tree, view->kinds, file);
    sw_profile_tree_free(&tree);
    return whole ? sw_profile_written(file) : SW_PROFILE_E_MEMORY;
}
