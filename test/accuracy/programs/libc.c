/* Much of a C library: sorting, printing, reading numbers, patterns, memory; for libraries without unwind tables. */
#include <fnmatch.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile unsigned sum;

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_texts(unsigned n)
{
    char *texts[40];
    for (unsigned i = 0; i < 40; i++) {
        texts[i] = malloc(64);
        snprintf(texts[i], 64, "%u %.6g %-8s %#x", (i * 7919 + n) % 101, n / 3.7, "text", i);
    }
    qsort(texts, 40, sizeof *texts, compare);
    for (unsigned i = 0; i < 40; i++) {
        sum += (unsigned)strtoul(texts[i], NULL, 10) + (unsigned)strtod(texts[i] + 2, NULL);
        free(texts[i]);
    }
}

static void match(unsigned n)
{
    char text[64];
    regex_t pattern;
    regmatch_t found[3];
    snprintf(text, sizeof text, "line %u of %u", n % 977, n);
    if (regcomp(&pattern, "([0-9]+) of ([0-9]*7+)", REG_EXTENDED) != 0)
        return;
    sum += regexec(&pattern, text, 3, found, 0) == 0;
    sum += fnmatch("line *[0-4]", text, 0) == 0;
    regfree(&pattern);
}

static void calculate(unsigned n)
{
    char text[64];
    const time_t when = (time_t)n * 86400;
    strftime(text, sizeof text, "%Y-%m-%d %A", gmtime(&when));
    sum += (unsigned)strlen(text) + (unsigned)(pow(n % 100, 1.5) + sin(n) + exp(n % 7));
}

int main(void)
{
    for (unsigned n = 0; n < 200000; n++) {
        sort_texts(n);
        match(n);
        calculate(n);
    }
    printf("%u\n", sum);
    return 0;
}
