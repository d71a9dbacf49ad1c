/* Texts that are counted, and written with their counts, the most frequent first. For any thread. */
#ifndef TALLY_H
#define TALLY_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TALLY_ROWS = 4096, TALLY_TEXT = 512 };

static struct {
    pthread_mutex_t lock;
    unsigned count, dropped;
    struct {
        unsigned times;
        char text[TALLY_TEXT];
    } rows[TALLY_ROWS];
} tally = { .lock = PTHREAD_MUTEX_INITIALIZER };

static inline void tally_add(const char *text)
{
    unsigned i = 0;
    pthread_mutex_lock(&tally.lock);
    while (i < tally.count && strcmp(tally.rows[i].text, text) != 0)
        i++;
    if (i == TALLY_ROWS)
        tally.dropped++;
    else {
        if (i == tally.count)
            snprintf(tally.rows[tally.count++].text, TALLY_TEXT, "%s", text);
        tally.rows[i].times++;
    }
    pthread_mutex_unlock(&tally.lock);
}

static inline int tally_order(const void *a, const void *b)
{
    const unsigned *x = a, *y = b;
    return (*y > *x) - (*y < *x);
}

/* To the file that the environment names, else to the standard error. */
static inline void tally_write(const char *variable)
{
    const char *path = getenv(variable);
    FILE *to = path ? fopen(path, "we") : stderr;
    if (!to)
        return;
    pthread_mutex_lock(&tally.lock);
    qsort(tally.rows, tally.count, sizeof tally.rows[0], tally_order);
    for (unsigned i = 0; i < tally.count; i++)
        fprintf(to, "%8u  %s\n", tally.rows[i].times, tally.rows[i].text);
    pthread_mutex_unlock(&tally.lock);
    if (path)
        fclose(to);
}

#endif
