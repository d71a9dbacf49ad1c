/*
 * What is said to people about the runtime: its version, and what it means that its structures are not known. Refuses
 * to know why they are not.
 */
#include "clr/internal.h"

#include <snapwalk/status.h>

struct line {
    char *at, *end; /* end: of the final NUL */
};

static void add(struct line *line, const char *more)
{
    while (*more && line->at < line->end)
        *line->at++ = *more++;
}

static void add_number(struct line *line, unsigned number)
{
    char digits[8] = { 0 };
    unsigned at = sizeof digits - 1;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0 && at > 0);
    add(line, digits + at);
}

static void add_version(struct line *line, const USHORT version[3])
{
    add(line, ".NET ");
    for (unsigned i = 0; i < 3; i++) {
        add(line, i ? "." : "");
        add_number(line, version[i]);
    }
}

bool sw_clr_about(const struct sw_clr *clr, char *text, size_t size)
{
    const enum sw_status status = clr->layout_status;
    struct line line = { text, text + size - 1 };
    add_version(&line, clr->version);
    if (status == SW_OK) {
        add(&line, ": structures known");
    } else {
        add(&line, ": structures not known (");
        add(&line, sw_status_name(status));
        add(&line,
            "), stacks by analysis alone, other answers than the runtime's own; known are .NET 8, 9 and 10: use one "
            "of these, or a newer snapwalk");
    }
    *line.at = 0;
    return status == SW_OK;
}
