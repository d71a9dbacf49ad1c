/* Keeps, prints and writes figures. Knows nothing of what they mean. */
#include "figures.h"
#include "measure.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 2048, COLUMNS = 12, SKIPS = 16, WIDTH = 16, SCENE_WIDTH = 44 };

static struct figure figures[MOST];
static size_t count;
static struct skip {
    const char *section, *way, *why;
} skips[SKIPS];
static size_t skipped;

void figure_note(const char *section, const char *scene, const char *way, double x, double value, double ratio)
{
    must(count < MOST, "keeping a figure");
    struct figure *f = &figures[count++];
    *f = (struct figure){ .x = x, .value = value, .ratio = ratio };
    snprintf(f->section, sizeof f->section, "%s", section);
    snprintf(f->scene, sizeof f->scene, "%s", scene);
    snprintf(f->way, sizeof f->way, "%s", way);
}

void figure_skip(const char *section, const char *way, const char *why)
{
    for (size_t i = 0; i < skipped; i++)
        if (strcmp(skips[i].section, section) == 0 && strcmp(skips[i].way, way) == 0)
            return;
    must(skipped < SKIPS, "keeping a reason");
    skips[skipped++] = (struct skip){ section, way, why };
}

const struct figure *figure_at(size_t index)
{
    return index < count ? &figures[index] : NULL;
}

const struct figure *figure_find(const char *section, const char *scene, const char *way)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(figures[i].section, section) == 0 && strcmp(figures[i].scene, scene) == 0 &&
            strcmp(figures[i].way, way) == 0)
            return &figures[i];
    return NULL;
}

double figure_value(const char *section, const char *scene, const char *way)
{
    const struct figure *f = figure_find(section, scene, way);
    return f ? f->value : 0;
}

double figure_ratio(const char *section, const char *scene, const char *way)
{
    const struct figure *f = figure_find(section, scene, way);
    return f ? f->ratio : 0;
}

/* ---- tables ---- */

/* The different ways (or scenes) of a section, in order. */
static size_t distinct(const char *section, size_t member, const char **names, size_t most)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        const char *name = (const char *)&figures[i] + member;
        size_t at = 0;
        if (strcmp(figures[i].section, section) != 0)
            continue;
        while (at < found && strcmp(names[at], name) != 0)
            at++;
        if (at == found && found < most)
            names[found++] = name;
    }
    return found;
}

/* Three or four digits that say something. */
static int digits_of(double value)
{
    return value >= 1000 ? 0 : value >= 100 ? 1 : 2;
}

static void print_cell(const struct figure *f)
{
    char text[40] = "-", ratio[16] = "";
    if (f && f->ratio > 0)
        snprintf(ratio, sizeof ratio, "%.*f", f->ratio < 100 ? 2 : 0, f->ratio);
    if (f)
        snprintf(text, sizeof text, "%.*f%s%6s%s", digits_of(f->value), f->value, *ratio ? " " : "", ratio,
                 *ratio ? "x" : "");
    printf(" %*s", WIDTH - 1, text);
}

/* What stands in front of ", depth": rows that have it in common stand below one line that says it. */
static size_t group_of(const char *scene)
{
    const char *depth = strstr(scene, ", depth ");
    return depth ? (size_t)(depth - scene) : 0;
}

static void print_row(const char *section, const char *scene, const char *before, const char **ways, size_t columns)
{
    const size_t group = group_of(scene);
    if (group && (!before || strncmp(before, scene, group + 1) != 0))
        printf("%.*s\n", (int)group, scene);
    printf("%s%-*s", group ? "  " : "", SCENE_WIDTH - (group ? 2 : 0), group ? scene + group + 2 : scene);
    for (size_t c = 0; c < columns; c++)
        print_cell(figure_find(section, scene, ways[c]));
    printf("\n");
}

void figure_print(const char *section, const char *heading)
{
    static const char *scenes[MOST];
    const char *ways[COLUMNS];
    const size_t rows = distinct(section, offsetof(struct figure, scene), scenes, MOST);
    const size_t columns = distinct(section, offsetof(struct figure, way), ways, COLUMNS);
    printf("\n%s\n%-*s", heading, SCENE_WIDTH, "");
    for (size_t c = 0; c < columns; c++)
        printf(" %*s", WIDTH - 1, ways[c]);
    printf("\n");
    for (size_t r = 0; r < rows; r++)
        print_row(section, scenes[r], r ? scenes[r - 1] : NULL, ways, columns);
    for (size_t i = 0; i < skipped; i++)
        if (strcmp(skips[i].section, section) == 0)
            printf("%s: skipped: %s\n", skips[i].way, skips[i].why);
    fflush(stdout);
}

bool figure_write_json(const char *path)
{
    FILE *to = fopen(path, "w");
    if (!to)
        return false;
    fprintf(to, "{ \"figures\": [\n");
    for (size_t i = 0; i < count; i++) {
        const struct figure *f = &figures[i];
        fprintf(to,
                "  { \"section\": \"%s\", \"scene\": \"%s\", \"way\": \"%s\", \"x\": %g, \"value\": %g, \"ratio\": %g "
                "}%s\n",
                f->section, f->scene, f->way, f->x, f->value, f->ratio, i + 1 < count ? "," : "");
    }
    fprintf(to, "], \"skipped\": [\n");
    for (size_t i = 0; i < skipped; i++)
        fprintf(to, "  { \"section\": \"%s\", \"way\": \"%s\", \"why\": \"%s\" }%s\n", skips[i].section, skips[i].way,
                skips[i].why, i + 1 < skipped ? "," : "");
    fprintf(to, "] }\n");
    return fclose(to) == 0;
}
