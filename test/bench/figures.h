/*
 * What was measured: figures, each with a section, a scene (a row of the section's table) and a way (a column). Printed
 * as tables, written as JSON, looked up for targets and plots.
 */
#ifndef BENCH_FIGURES_H
#define BENCH_FIGURES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * ratio    To the section's reference (frame-pointer chase, unw_step, binary search), 0: none.
 * x        What it grows with (depth, ranges, threads), for plots.
 */
struct figure {
    char section[16];
    char scene[64];
    char way[32];
    double x;
    double value;
    double ratio;
};

void figure_note(const char *section, const char *scene, const char *way, double x, double value, double ratio);
/* Says in the section's row why there is no figure. */
void figure_skip(const char *section, const char *way, const char *why);

/* NULL: not measured. */
const struct figure *figure_find(const char *section, const char *scene, const char *way);
/* 0 where not measured. */
double figure_value(const char *section, const char *scene, const char *way);
double figure_ratio(const char *section, const char *scene, const char *way);
const struct figure *figure_at(size_t index);

/* The rows and columns of a section, in the order in which they were noted; `heading` says what is counted. */
void figure_print(const char *section, const char *heading);
bool figure_write_json(const char *path);

#endif
