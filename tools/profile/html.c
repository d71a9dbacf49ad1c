/*
 * A page with a flame graph, complete in itself: page.html, in which the tree of functions stands as JSON. Knows the
 * tree; what is drawn, and how, is the page's.
 */
#include "json.h"
#include "tree.h"

#include <inttypes.h>
#include <string.h>

/* page.S */
extern const char sw_profile_page[], sw_profile_page_end[];

static const char mark[] = "@DATA@";

struct writing {
    const struct sw_profile *profile;
    struct sw_profile_tree tree;
    FILE *file;
};

static const char *comma(size_t i)
{
    return i ? "," : "";
}

static void write_columns(const struct writing *w)
{
    sw_profile_json_key(w->file, "columns");
    putc('[', w->file);
    for (size_t i = 0; i < w->profile->column_count; i++) {
        fprintf(w->file, "%s{\"type\":", comma(i));
        sw_profile_json_string(w->file, sw_profile_text(w->profile, w->profile->columns[i].type));
        fputs(",\"unit\":", w->file);
        sw_profile_json_string(w->file, sw_profile_text(w->profile, w->profile->columns[i].unit));
        putc('}', w->file);
    }
    fprintf(w->file, "],\n\"shown\":%zu,\n", w->profile->default_column);
}

/* Texts, and frames that name them: name, module, kind. */
static void write_frames(const struct writing *w)
{
    sw_profile_json_key(w->file, "names");
    putc('[', w->file);
    for (uint32_t i = 0; i < w->tree.texts.rows.count; i++) {
        fputs(comma(i), w->file);
        sw_profile_json_string(w->file, sw_profile_texts_get(&w->tree.texts, i));
    }
    fputs("],\n\"frames\":[", w->file);
    for (size_t i = 0; i < sw_profile_row_count(&w->tree.frames); i++) {
        const struct sw_profile_frame *frame = sw_profile_row(&w->tree.frames, i);
        fprintf(w->file, "%s[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]", comma(i), frame->name, frame->module,
                frame->kind_inlined);
    }
    fputs("],\n", w->file);
}

static void write_values(const struct writing *w, const char *key, size_t side)
{
    sw_profile_json_key(w->file, key);
    putc('[', w->file);
    for (size_t column = 0; column < w->tree.column_count; column++) {
        fprintf(w->file, "%s[", comma(column));
        for (size_t node = 0; node < sw_profile_row_count(&w->tree.nodes); node++)
            fprintf(w->file, "%s%" PRId64, comma(node), sw_profile_tree_self(&w->tree, node, side)[column]);
        putc(']', w->file);
    }
    putc(']', w->file);
}

static void write_nodes(const struct writing *w)
{
    const size_t count = sw_profile_row_count(&w->tree.nodes);
    sw_profile_json_key(w->file, "parent");
    for (size_t i = 0; i < count; i++)
        fprintf(w->file, "%s%" PRIu32, i ? "," : "[", sw_profile_tree_node(&w->tree, i)->parent);
    fputs("],\n\"frame\":", w->file);
    for (size_t i = 0; i < count; i++)
        fprintf(w->file, "%s%" PRIu32, i ? "," : "[", sw_profile_tree_node(&w->tree, i)->frame);
    fputs("],\n", w->file);
    write_values(w, "self", SW_PROFILE_NOW);
    if (w->tree.compared) {
        fputs(",\n", w->file);
        write_values(w, "before", SW_PROFILE_BEFORE);
    }
}

static void write_page(const struct writing *w, const struct sw_profile_view *view)
{
    const char *data = memmem(sw_profile_page, (size_t)(sw_profile_page_end - sw_profile_page), mark, strlen(mark));
    fwrite(sw_profile_page, 1, (size_t)(data - sw_profile_page), w->file);
    fputs("{\"title\":", w->file);
    sw_profile_json_foreign(w->file, sw_profile_title(w->profile, view));
    fputs(",\n", w->file);
    write_columns(w);
    write_frames(w);
    write_nodes(w);
    putc('}', w->file);
    data += strlen(mark);
    fwrite(data, 1, (size_t)(sw_profile_page_end - data), w->file);
}

/* The column of that kind in the profile before, or one that it does not have. */
static size_t same_column(const struct sw_profile *profile, size_t column, const struct sw_profile *before)
{
    const char *type = sw_profile_text(profile, profile->columns[column].type);
    for (size_t i = 0; i < before->column_count; i++)
        if (!strcmp(type, sw_profile_text(before, before->columns[i].type)))
            return i;
    return SW_PROFILE_VALUES_MAX;
}

static bool add_profiles(struct writing *w, const struct sw_profile *before)
{
    size_t columns[SW_PROFILE_VALUES_MAX], theirs[SW_PROFILE_VALUES_MAX];
    for (size_t i = 0; i < w->profile->column_count; i++) {
        columns[i] = i;
        theirs[i] = before ? same_column(w->profile, i, before) : 0;
    }
    return sw_profile_tree_add(&w->tree, w->profile, SW_PROFILE_NOW, columns, NULL) &&
           (!before || sw_profile_tree_add(&w->tree, before, SW_PROFILE_BEFORE, theirs, NULL));
}

enum sw_profile_status sw_profile_write_html(const struct sw_profile *profile, const struct sw_profile *before,
                                             const struct sw_profile_view *view, FILE *file)
{
    struct writing w = { .profile = profile, .file = file };
    const bool whole =
        sw_profile_tree_init(&w.tree, profile->column_count, view->threads, before != NULL) && add_profiles(&w, before);
    if (whole)
        write_page(&w, view);
    sw_profile_tree_free(&w.tree);
    return whole ? sw_profile_written(file) : SW_PROFILE_E_MEMORY;
}
