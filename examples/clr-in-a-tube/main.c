/*
 * clr-in-a-tube: plays scenarios that are written as text (docs/harness.md), each in a process of its own, and says of
 * each whether it ended as it should, and if not what happened where. See usage below.
 */
#include "runner.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const char usage[] =
    "usage: clr-in-a-tube [option...] SCRIPT...\n"
    "Plays scenarios for .NET profilers, without .NET. docs/harness.md says how they are written.\n"
    "  --flavour F     documented, coreclr-windows or coreclr-unix, whatever the script says\n"
    "  --simulated     simulated threads, whatever the script says\n"
    "  --record FILE   writes what happened, a line of JSON for each callback, call and step; one script\n"
    "  --compare FILE  compares that with an earlier recording, thread by thread; one script\n"
    "  --timeout S     a scenario may take so many seconds (60, or what the script's `limit` says)\n"
    "Ends with 0 if all scenarios ended as expected, with 1 if one did not, with 2 if it was not played.\n";

/* What the command line says of all scenarios. */
struct wishes {
    const char *flavour, *record, *compare;
    bool simulated;
    unsigned seconds;
};

enum { OK, NOT_AS_EXPECTED, NOT_PLAYED };

static int refuse(const char *format, const char *what)
{
    (void)fflush(stdout);
    fprintf(stderr, format, what);
    return NOT_PLAYED;
}

static bool read_seconds(const char *text, unsigned *seconds)
{
    char *end;
    const unsigned long number = strtoul(text, &end, 10);
    *seconds = (unsigned)number;
    return *text >= '0' && *text <= '9' && !*end && number > 0 && number <= 86400;
}

/* The wishes go over what the script's heading says. */
static bool apply(const struct wishes *wishes, struct sw_tube_heading *heading)
{
    char line[64], problem[128];
    struct sw_tube_heading wanted;
    if (wishes->seconds)
        heading->seconds = wishes->seconds;
    heading->options.simulated |= wishes->simulated;
    if (!wishes->flavour)
        return true;
    snprintf(line, sizeof line, "flavour %s", wishes->flavour);
    if (sw_tube_heading_read("", line, &wanted, problem, sizeof problem) != SW_OK)
        return false;
    heading->options.flavour = wanted.options.flavour;
    return true;
}

static int compare(const char *with, const char *recording, char *difference, size_t size)
{
    char reason[512];
    char *earlier = file_read(with, reason, sizeof reason);
    if (!earlier)
        return refuse("clr-in-a-tube: %s\n", reason);
    const enum sw_status status = sw_tube_compare(earlier, recording, difference, size);
    free(earlier);
    return status == SW_OK || status == SW_E_MALFORMED ? OK : refuse("clr-in-a-tube: %s\n", sw_status_name(status));
}

static int judge(const struct wishes *wishes, const struct scenario *scenario, const struct page *page,
                 const struct result *result)
{
    char difference[1024] = "";
    int status = OK;
    if (!result->recording)
        return refuse("clr-in-a-tube: the recording of %s is lost\n", scenario->path);
    if (wishes->record && !file_write(wishes->record, result->recording))
        status = refuse("clr-in-a-tube: %s cannot be written\n", wishes->record);
    if (status == OK && wishes->compare)
        status = compare(wishes->compare, result->recording, difference, sizeof difference);
    report(scenario, page, result, difference);
    if (status == OK && (*difference || !is_as_expected(scenario, page, result)))
        status = NOT_AS_EXPECTED;
    return status;
}

static int play(const struct wishes *wishes, const char *path, struct page *page)
{
    char reason[512];
    struct scenario scenario = { .path = path, .text = file_read(path, reason, sizeof reason) };
    struct result result = { 0 };
    int status;
    if (!scenario.text)
        return refuse("clr-in-a-tube: %s\n", reason);
    if (sw_tube_heading_read(path, scenario.text, &scenario.heading, reason, sizeof reason) != SW_OK)
        status = refuse("clr-in-a-tube: %s\n", reason);
    else if (!apply(wishes, &scenario.heading))
        status = refuse("clr-in-a-tube: there is no flavour %s\n", wishes->flavour);
    else if (!watch(&scenario, page, &result))
        status = refuse("clr-in-a-tube: no process for it: %s\n", strerror(errno));
    else
        status = judge(wishes, &scenario, page, &result);
    free(result.recording);
    free(scenario.text);
    return status;
}

static bool read_options(int count, char **words, struct wishes *wishes)
{
    static const struct option options[] = {
        { "flavour", required_argument, NULL, 'f' }, { "simulated", no_argument, NULL, 's' },
        { "record", required_argument, NULL, 'r' },  { "compare", required_argument, NULL, 'c' },
        { "timeout", required_argument, NULL, 't' }, { NULL, 0, NULL, 0 },
    };
    for (int option; (option = getopt_long(count, words, "", options, NULL)) != -1;) {
        switch (option) {
        case 'f':
            wishes->flavour = optarg;
            break;
        case 's':
            wishes->simulated = true;
            break;
        case 'r':
            wishes->record = optarg;
            break;
        case 'c':
            wishes->compare = optarg;
            break;
        case 't':
            if (!read_seconds(optarg, &wishes->seconds))
                return false;
            break;
        default:
            return false;
        }
    }
    return optind < count && (optind + 1 == count || !(wishes->record || wishes->compare));
}

int main(int count, char **words)
{
    struct wishes wishes = { 0 };
    int worst = OK, good = 0;
    if (!read_options(count, words, &wishes))
        return refuse("%s", usage);
    struct page *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return refuse("clr-in-a-tube: no memory%s\n", "");
    for (int i = optind; i < count; i++) {
        const int status = play(&wishes, words[i], page);
        good += status == OK;
        worst = status > worst ? status : worst;
    }
    printf("%d of %d scenarios as expected\n", good, count - optind);
    return worst;
}
