/*
 * snapwalk-profile-convert: reads a profile, and writes it in the formats that the outputs' names end in. What the
 * input is, its first bytes say: gzip is pprof, anything else folded stacks ("outer;inner 42"). "-" is standard input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

static const char usage[] =
    "usage: snapwalk-profile-convert [OPTION...] IN OUT...\n"
    "       snapwalk-profile-convert [OPTION...] --before OLD NEW OUT.html...\n"
    "\n"
    "Reads a profile in pprof's format (gzip) or as folded stacks (\"outer;inner 42\"), \"-\" from standard input, "
    "and\n"
    "writes it in the formats that the names end in:\n"
    "  .pb.gz .pprof.gz   pprof             .speedscope.json   speedscope\n"
    "  .otlp              OpenTelemetry     .folded .txt       folded stacks\n"
    "  .html              a page with a flame graph; with --before, of what has changed\n"
    "\n"
    "  --before OLD       compare with this profile; only pages show that\n"
    "  --column TYPE      folded: the column of a profile with several, such as cpu or alloc_space\n"
    "  --threads          folded, pages: threads as the outermost frames\n"
    "  --value TYPE:UNIT  of folded stacks that are read: what they count, such as cpu:nanoseconds\n"
    "  --help, --version\n";

struct request {
    struct sw_profile_value_type value;
    const char *before, *column;
    bool threads;
};

static void fail(const char *what, const char *which)
{
    fprintf(stderr, "snapwalk-profile-convert: %s: %s\n", which, what);
    exit(1);
}

/* ---- reading ---- */

static bool is_gzip(FILE *file)
{
    const int first = getc(file);
    if (first != EOF)
        ungetc(first, file);
    return first == 0x1f;
}

static enum sw_profile_status read_as(const struct request *request, FILE *file, struct sw_profile **profile,
                                      uint64_t *refused)
{
    const struct sw_profile_options options = { .values = &request->value,
                                                .value_count = 1,
                                                .producer = "snapwalk-profile-convert",
                                                .max_bytes = (size_t)1 << 30 };
    if (is_gzip(file))
        return sw_profile_read_pprof(&options, file, profile, refused);
    const enum sw_profile_status status = sw_profile_create(&options, profile);
    return status == SW_PROFILE_OK ? sw_profile_read_folded(*profile, file, refused) : status;
}

static struct sw_profile *read_file(const char *name, const struct request *request)
{
    FILE *file = strcmp(name, "-") ? fopen(name, "r") : stdin;
    struct sw_profile *profile = NULL;
    uint64_t refused = 0;
    if (!file)
        fail("cannot be opened", name);
    const enum sw_profile_status status = read_as(request, file, &profile, &refused);
    if (ferror(file))
        fail("cannot be read", name);
    if (status == SW_PROFILE_E_FORMAT)
        fail("no profile of pprof, cut off, or more than 256 MB", name);
    if (status != SW_PROFILE_OK)
        fail("no memory", name);
    if (refused)
        fprintf(stderr, "snapwalk-profile-convert: %s: %llu lines or samples are none, and left out\n", name,
                (unsigned long long)refused);
    if (file != stdin)
        fclose(file);
    return profile;
}

/* ---- writing ---- */

static void write_file(const struct sw_profile *profile, const struct sw_profile *before, const struct request *request,
                       const char *name)
{
    const char *ending = sw_profile_format_ending(name);
    struct sw_profile_view view = { .threads = request->threads };
    if (!sw_profile_find_column(profile, request->column, &view.value))
        fail("it has no such column", request->column);
    FILE *file = fopen(name, "w");
    if (!file)
        fail("cannot be opened", name);
    const enum sw_profile_status status = before && !strcmp(ending, ".html")
                                              ? sw_profile_write_html(profile, before, &view, file)
                                              : sw_profile_write_as(profile, name, &view, file);
    if (fclose(file) || status == SW_PROFILE_E_WRITE)
        fail("cannot be written", name);
    if (status != SW_PROFILE_OK)
        fail("no memory", name);
}

/* ---- the command line ---- */

static void wrong(const char *what, const char *which)
{
    fprintf(stderr, "snapwalk-profile-convert: %s: %s; --help\n", which, what);
    exit(2);
}

static void take_value(struct request *request, char *text)
{
    char *colon = strchr(text, ':');
    if (!colon || colon == text || !colon[1])
        wrong("not TYPE:UNIT", text);
    *colon = 0;
    request->value = (struct sw_profile_value_type){ text, colon + 1 };
}

/* How many words the option at `words` takes; 0: it is none. */
static int take_option(struct request *request, char **words)
{
    const char *name = words[0];
    if (!strcmp(name, "--threads")) {
        request->threads = true;
        return 1;
    }
    const bool value = !strcmp(name, "--value"), before = !strcmp(name, "--before"), column = !strcmp(name, "--column");
    if (!value && !before && !column)
        return 0;
    if (!words[1])
        wrong("nothing behind it", name);
    if (value)
        take_value(request, words[1]);
    else
        *(before ? &request->before : &request->column) = words[1];
    return 2;
}

static void check_outputs(const struct request *request, char **names)
{
    bool page = false;
    for (; *names; names++) {
        const char *ending = sw_profile_format_ending(*names);
        if (!ending)
            wrong("ends in none of .pb.gz, .otlp, .folded, .speedscope.json, .html", *names);
        page = page || !strcmp(ending, ".html");
    }
    if (request->before && !page)
        wrong("only a page, .html, shows a comparison", "--before");
}

int main(int argc, char **argv)
{
    struct request request = { .value = { "samples", "count" } };
    char **words = argv + 1;
    if (argc == 2 && (!strcmp(*words, "--help") || !strcmp(*words, "--version"))) {
        fputs(!strcmp(*words, "--help") ? usage : "snapwalk-profile-convert " VERSION "\n", stdout);
        return 0;
    }
    for (int taken; *words && (taken = take_option(&request, words)) > 0;)
        words += taken;
    if (*words && words[0][0] == '-' && words[0][1])
        wrong("no such option", *words);
    if (!words[0] || !words[1]) {
        fputs(usage, stderr);
        return 2;
    }
    check_outputs(&request, words + 1);
    struct sw_profile *before = request.before ? read_file(request.before, &request) : NULL;
    struct sw_profile *profile = read_file(*words, &request);
    while (*++words)
        write_file(profile, before, &request, *words);
    sw_profile_destroy(profile);
    sw_profile_destroy(before);
    return 0;
}
