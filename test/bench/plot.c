/* What grows, drawn as SVG: some panels, logarithmic axes, each line named at its end. Needs no other program. */
#include "bench.h"
#include "figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    PANEL_W = 560,
    PANEL_H = 400,
    LEFT = 84,
    RIGHT = 150,
    TOP = 56,
    BOTTOM = 52,
    ACROSS = 2,
    LINES = 10,
    POINTS = 8
};

/* Figures of a section whose scene starts with `start` and ends in `ending`; of one way alone where it is named. */
struct source {
    const char *section, *start, *ending, *way;
};

/* per: the values are for one of x, they are multiplied by it. A line for each way. */
static const struct panel {
    const char *title, *x_title, *y_title;
    bool per;
    struct source sources[2];
} panels[] = {
    { "A walk, by depth",
      "frames (CFI, frame pointers, 16 pcs; replay: 10 % changed)",
      "ns a walk",
      true,
      { { "walk", "CFI, frame pointers, ", ", 16 pcs", NULL },
        { "replay", "CFI, frame pointers, ", ", 10 % changed", "replay" } } },
    { "A frame, by depth",
      "frames (CFI, frame pointers, 16 pcs; replay: 10 % changed)",
      "ns a frame",
      false,
      { { "walk", "CFI, frame pointers, ", ", 16 pcs", NULL },
        { "replay", "CFI, frame pointers, ", ", 10 % changed", "replay" } } },
    { "Another process, by threads",
      "threads, 50 calls deep",
      "µs stopped for a sample, after the first",
      false,
      { { "remote", "", ", us stopped, later", NULL } } },
    { "A code map's find, by ranges",
      "ranges, random addresses",
      "ns a find",
      false,
      { { "codemap", "", " ranges, ns a find", NULL } } },
};
enum { PANELS = sizeof panels / sizeof *panels };

/* This library's lines are thick. */
static const struct look {
    const char *way, *colour;
    double width;
} looks[] = {
    { "replay", "#d1495b", 3 },          { "warm", "#00798c", 3 },
    { "warm, all regs", "#2e5aac", 3 },  { "cold", "#6a4c93", 3 },
    { "snapwalk", "#00798c", 3 },        { "code map", "#00798c", 3 },
    { "chase", "#222222", 1.5 },         { "unw_step", "#b07d2b", 1.5 },
    { "unw_backtrace", "#8d5a2b", 1.5 }, { "glibc backtrace", "#777777", 1.5 },
    { "LLVM unw_step", "#5f8a3a", 1.5 }, { "libunwind", "#b07d2b", 1.5 },
    { "sorted array", "#222222", 1.5 },  { "ordered tree", "#8d5a2b", 1.5 },
    { "hash of pages", "#5f8a3a", 1.5 }, { NULL, "#999999", 1.5 },
};

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
    double left, top;
};

static bool belongs(const struct source *from, const struct figure *f)
{
    if (!from->section || strcmp(f->section, from->section) != 0 || (from->way && strcmp(f->way, from->way) != 0))
        return false;
    const size_t scene = strlen(f->scene), ending = strlen(from->ending);
    return strncmp(f->scene, from->start, strlen(from->start)) == 0 && scene >= ending &&
           strcmp(f->scene + scene - ending, from->ending) == 0;
}

static const struct look *look_of(const char *way)
{
    const struct look *look = looks;
    while (look->way && strcmp(look->way, way) != 0)
        look++;
    return look;
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
        struct line *line =
            belongs(&plot->panel->sources[0], f) || belongs(&plot->panel->sources[1], f) ? line_of(plot, f->way) : NULL;
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
    const double from = LEFT, width = PANEL_W - LEFT - RIGHT;
    return plot->left + from + (power - plot->low_x) / (plot->high_x - plot->low_x) * width;
}

static double at_y(const struct plot *plot, double power)
{
    const double to = PANEL_H - BOTTOM, height = PANEL_H - TOP - BOTTOM;
    return plot->top + to - (power - plot->low_y) / (plot->high_y - plot->low_y) * height;
}

static const char *power_name(double power)
{
    static const char *const names[] = { "0.1",    "1",       "10",        "100",       "1,000",
                                         "10,000", "100,000", "1,000,000", "10,000,000" };
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
    text(to, plot->left + 16, plot->top + 24, "start", "#111111", 16, plot->panel->title);
    text(to, plot->left + 16, plot->top + 44, "start", "#555555", 12, plot->panel->y_title);
    text(to, (x0 + x1) / 2, y0 + 40, "middle", "#555555", 12, plot->panel->x_title);
}

/* Where the names stand: beside the lines' ends, pushed apart so that none covers another. */
static void place_names(const struct plot *plot, double *y)
{
    const double apart = 14, below = PANEL_H - BOTTOM + 4;
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
        if (y[order[i]] < y[order[i - 1]] + apart)
            y[order[i]] = y[order[i - 1]] + apart;
    for (unsigned i = plot->count; i-- > 0;) {
        const double most = i + 1 == plot->count ? plot->top + below : y[order[i + 1]] - apart;
        y[order[i]] = fmin(y[order[i]], most);
    }
}

static void draw_line(FILE *to, const struct plot *plot, const struct line *line, double name_y)
{
    const struct look *look = look_of(line->name);
    double x = 0, y = 0;
    fprintf(to, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%.1f\" points=\"", look->colour, look->width);
    for (unsigned i = 0; i < line->count; i++)
        fprintf(to, "%.1f,%.1f ", at_x(plot, log10(line->x[i])), at_y(plot, log10(line->y[i])));
    fprintf(to, "\"/>\n");
    for (unsigned i = 0; i < line->count; i++) {
        x = at_x(plot, log10(line->x[i]));
        y = at_y(plot, log10(line->y[i]));
        fprintf(to, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\"/>\n", x, y, look->width + 1, look->colour);
    }
    fprintf(to, "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"%s\" stroke-width=\"0.7\"/>\n", x + 5, y, x + 14, name_y - 4,
            look->colour);
    text(to, x + 17, name_y, "start", look->colour, 12, line->name);
}

static void draw(FILE *to, const struct panel *panel, double left, double top)
{
    struct plot plot = { .panel = panel, .left = left, .top = top };
    double names[LINES];
    collect(&plot);
    find_bounds(&plot);
    if (plot.count == 0 || plot.low_x >= plot.high_x || plot.low_y >= plot.high_y)
        return;
    draw_axes(to, &plot);
    place_names(&plot, names);
    for (unsigned l = 0; l < plot.count; l++)
        draw_line(to, &plot, &plot.lines[l], names[l]);
}

bool plot_write(const char *path)
{
    const int width = ACROSS * PANEL_W, height = (PANELS + ACROSS - 1) / ACROSS * PANEL_H;
    FILE *to = fopen(path, "w");
    if (!to)
        return false;
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
            "font-family=\"Helvetica, Arial, sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            width, height, width, height);
    for (int p = 0; p < PANELS; p++)
        draw(to, &panels[p], p % ACROSS * PANEL_W, p / ACROSS * PANEL_H);
    fprintf(to, "</svg>\n");
    return fclose(to) == 0;
}
