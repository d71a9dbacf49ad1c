/* What grows, drawn as SVG: three panels, logarithmic axes, each line named at its end. Needs no other program. */
#include "bench.h"
#include "figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PANEL_W = 460, PANEL_H = 420, LEFT = 64, RIGHT = 140, TOP = 56, BOTTOM = 52, GAP_X = 20, LINES = 9, POINTS = 8 };

/*
 * A panel: the figures of a section whose scene ends in `ending` and starts with `start`, a line for each way.
 *
 * per      The values are for one of x: they are multiplied by it.
 */
static const struct panel {
    const char *title, *x_title, *y_title;
    const char *section, *start, *ending;
    bool per;
} panels[] = {
    { "A walk, by depth", "frames", "ns a walk", "walk", "CFI, frame pointers, ", ", 16 pcs", true },
    { "A sample of a process, by threads", "threads, 50 calls deep", "us stopped", "remote", "", ", us stopped, later",
      false },
    { "A find, by ranges", "ranges", "ns a find", "codemap", "", " ranges, ns a find", false },
};
enum { PANELS = sizeof panels / sizeof *panels };

static const char *const colours[LINES] = { "#444444", "#0b6e4f", "#d1495b", "#00798c", "#edae49",
                                            "#6a4c93", "#8d5a2b", "#2e5aac", "#999999" };

struct line {
    const char *name;
    unsigned count;
    double x[POINTS], y[POINTS];
};

struct plot {
    const struct panel *panel;
    struct line lines[LINES];
    unsigned count;
    double low_x, high_x, low_y, high_y; /* whole powers of ten */
    double left;
};

static bool belongs(const struct panel *p, const struct figure *f)
{
    const size_t scene = strlen(f->scene), ending = strlen(p->ending);
    return strcmp(f->section, p->section) == 0 && strncmp(f->scene, p->start, strlen(p->start)) == 0 &&
           scene >= ending && strcmp(f->scene + scene - ending, p->ending) == 0;
}

static struct line *line_of(struct plot *plot, const char *way)
{
    for (unsigned i = 0; i < plot->count; i++)
        if (strcmp(plot->lines[i].name, way) == 0)
            return &plot->lines[i];
    if (plot->count == LINES)
        return NULL;
    plot->lines[plot->count] = (struct line){ .name = way };
    return &plot->lines[plot->count++];
}

static void collect(struct plot *plot)
{
    for (size_t i = 0; figure_at(i); i++) {
        const struct figure *f = figure_at(i);
        struct line *line = belongs(plot->panel, f) ? line_of(plot, f->way) : NULL;
        if (!line || line->count == POINTS || f->value <= 0)
            continue;
        line->x[line->count] = f->x;
        line->y[line->count++] = plot->panel->per ? f->value * f->x : f->value;
    }
}

static void find_bounds(struct plot *plot)
{
    plot->low_x = plot->low_y = 9;
    plot->high_x = plot->high_y = -9;
    for (unsigned l = 0; l < plot->count; l++)
        for (unsigned i = 0; i < plot->lines[l].count; i++) {
            const double x = log10(plot->lines[l].x[i]), y = log10(plot->lines[l].y[i]);
            plot->low_x = fmin(plot->low_x, floor(x + 1e-9));
            plot->high_x = fmax(plot->high_x, ceil(x - 1e-9));
            plot->low_y = fmin(plot->low_y, floor(y));
            plot->high_y = fmax(plot->high_y, ceil(y));
        }
}

static double at_x(const struct plot *plot, double power)
{
    return plot->left + LEFT + (power - plot->low_x) / (plot->high_x - plot->low_x) * (PANEL_W - LEFT - RIGHT);
}

static double at_y(const struct plot *plot, double power)
{
    return PANEL_H - BOTTOM - (power - plot->low_y) / (plot->high_y - plot->low_y) * (PANEL_H - TOP - BOTTOM);
}

static const char *power_name(double power)
{
    static const char *const names[] = { "0.1", "1", "10", "100", "1,000", "10,000", "100,000", "10^6", "10^7" };
    const int i = (int)power + 1;
    return i >= 0 && i < (int)(sizeof names / sizeof *names) ? names[i] : "";
}

static void text(FILE *to, double x, double y, const char *anchor, const char *colour, int size, const char *what)
{
    fprintf(to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\" font-size=\"%d\">%s</text>\n", x, y, anchor,
            colour, size, what);
}

static void draw_axes(FILE *to, const struct plot *plot)
{
    const double x0 = at_x(plot, plot->low_x), x1 = at_x(plot, plot->high_x);
    const double y0 = at_y(plot, plot->low_y), y1 = at_y(plot, plot->high_y);
    for (double p = plot->low_x; p <= plot->high_x; p++) {
        fprintf(to, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#e4e4e4\"/>\n", at_x(plot, p), y0, y1);
        text(to, at_x(plot, p), y0 + 18, "middle", "#555555", 12, power_name(p));
    }
    for (double p = plot->low_y; p <= plot->high_y; p++) {
        fprintf(to, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#e4e4e4\"/>\n", x0, at_y(plot, p), x1);
        text(to, x0 - 8, at_y(plot, p) + 4, "end", "#555555", 12, power_name(p));
    }
    text(to, plot->left + 8, 24, "start", "#111111", 16, plot->panel->title);
    text(to, plot->left + 8, 44, "start", "#555555", 12, plot->panel->y_title);
    text(to, (x0 + x1) / 2, y0 + 38, "middle", "#555555", 12, plot->panel->x_title);
}

/* Where the names stand: beside the lines' ends, pushed apart so that none covers another. */
static void place_names(const struct plot *plot, double *y)
{
    enum { APART = 14 };
    unsigned order[LINES];
    for (unsigned l = 0; l < plot->count; l++) {
        const struct line *line = &plot->lines[l];
        y[l] = at_y(plot, log10(line->y[line->count - 1])) + 4;
        unsigned at = l;
        for (; at > 0 && y[order[at - 1]] > y[l]; at--)
            order[at] = order[at - 1];
        order[at] = l;
    }
    for (unsigned i = 1; i < plot->count; i++)
        if (y[order[i]] < y[order[i - 1]] + APART)
            y[order[i]] = y[order[i - 1]] + APART;
    for (unsigned i = plot->count; i-- > 0;) {
        const double most = i + 1 == plot->count ? PANEL_H - BOTTOM + 4 : y[order[i + 1]] - APART;
        y[order[i]] = fmin(y[order[i]], most);
    }
}

static void draw_lines(FILE *to, const struct plot *plot)
{
    double names[LINES];
    place_names(plot, names);
    for (unsigned l = 0; l < plot->count; l++) {
        const struct line *line = &plot->lines[l];
        const double end_x = at_x(plot, log10(line->x[line->count - 1])),
                     end_y = at_y(plot, log10(line->y[line->count - 1]));
        fprintf(to, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colours[l]);
        for (unsigned i = 0; i < line->count; i++)
            fprintf(to, "%.1f,%.1f ", at_x(plot, log10(line->x[i])), at_y(plot, log10(line->y[i])));
        fprintf(to, "\"/>\n");
        for (unsigned i = 0; i < line->count; i++)
            fprintf(to, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", at_x(plot, log10(line->x[i])),
                    at_y(plot, log10(line->y[i])), colours[l]);
        fprintf(to, "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"%s\" stroke-width=\"0.7\"/>\n", end_x + 4, end_y,
                end_x + 14, names[l] - 4, colours[l]);
        text(to, end_x + 17, names[l], "start", colours[l], 12, line->name);
    }
}

static void draw(FILE *to, const struct panel *panel, double left)
{
    struct plot plot = { .panel = panel, .left = left };
    collect(&plot);
    find_bounds(&plot);
    if (plot.count == 0 || plot.low_x >= plot.high_x)
        return;
    draw_axes(to, &plot);
    draw_lines(to, &plot);
}

bool plot_write(const char *path)
{
    FILE *to = fopen(path, "w");
    if (!to)
        return false;
    const int width = PANELS * (PANEL_W + GAP_X);
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
            "font-family=\"Helvetica, Arial, sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            width, PANEL_H, width, PANEL_H);
    for (int p = 0; p < PANELS; p++)
        draw(to, &panels[p], p * (PANEL_W + GAP_X));
    fprintf(to, "</svg>\n");
    return fclose(to) == 0;
}
