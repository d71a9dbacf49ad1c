/*
 * clr_image FILE...: a ReadyToRun image beside its own instructions. Every runtime function belongs to a method; its
 * rules follow what its instructions do, one after the other; a cold part belongs to the method of its hot part.
 * Composite images and images with hot/cold splitting are what this is for: the framework's own have neither.
 */
#include "clr/clr.h"
#include "../unit/unwind_flow.h"

#include <inttypes.h>
#include <stdlib.h>

enum { PAIR_SIZE = 8 };

static void *get(void *arg, size_t size)
{
    (void)arg;
    return malloc(size);
}

static void put(void *arg, void *block, size_t size)
{
    (void)arg;
    (void)size;
    free(block);
}

/* One image, and what was counted. here: the method that the function being looked at belongs to. */
struct run {
    struct sw_clr_image image;
    struct flow flow;
    uint64_t here;
    uint64_t named;
    uint64_t homeless; /* functions without a method, or with bounds that are not theirs */
    uint64_t strayed;  /* cold parts of another method than their hot part's */
};

static enum sw_status rule(void *arg, uint64_t address, bool exact, struct sw_rule *out)
{
    const struct run *run = arg;
    return sw_clr_image_rule(&run->image, address, exact, out);
}

static bool same_function(void *arg, uint64_t address)
{
    const struct run *run = arg;
    struct sw_range method;
    return sw_clr_image_method(&run->image, address, &method) == SW_OK && method.id == run->here &&
           address != method.id;
}

static const uint8_t *entry_of(const struct run *run, uint64_t index)
{
    return run->image.functions.bytes + sw_pe_entry_size(run->image.pe.machine) * index;
}

static uint64_t address_of(const struct run *run, uint64_t index)
{
    return run->image.pe.bytes.address + sw_load32(entry_of(run, index));
}

static void check_function(struct run *run, uint64_t index)
{
    const struct sw_pe_reader reader = sw_pe_reader_of(&run->image.pe);
    const uint64_t address = address_of(run, index);
    struct sw_pe_function function;
    struct sw_bytes code = { 0 };
    struct sw_range method;
    char name[256];
    if (sw_pe_entry(run->image.pe.machine, &reader, entry_of(run, index), &function) == SW_OK)
        code = sw_pe_at(&run->image.pe, function.begin, function.end - function.begin);
    if (!code.size || sw_clr_image_method(&run->image, address, &method) != SW_OK || method.begin != address ||
        method.end - method.begin != code.size) {
        run->homeless++;
        return;
    }
    run->here = method.id;
    run->named += sw_clr_image_name(&run->image, address, name, sizeof name) == SW_OK;
    run->flow.code = code.bytes;
    run->flow.size = code.size;
    run->flow.address = address;
    flow_run(&run->flow);
}

static void check_cold(struct run *run)
{
    for (uint64_t at = 0; at + PAIR_SIZE <= run->image.cold.size; at += PAIR_SIZE) {
        const uint8_t *pair = run->image.cold.bytes + at;
        struct sw_range cold, hot;
        if (sw_clr_image_method(&run->image, address_of(run, sw_load32(pair)), &cold) != SW_OK ||
            sw_clr_image_method(&run->image, address_of(run, sw_load32(pair + 4)), &hot) != SW_OK || cold.id != hot.id)
            run->strayed++;
    }
}

static bool check(struct run *run, const char *name)
{
    const struct flow *flow = &run->flow;
    const uint64_t functions = run->image.functions.size / sw_pe_entry_size(run->image.pe.machine);
    for (uint64_t i = 0; i < functions; i++)
        check_function(run, i);
    check_cold(run);
    const bool good = functions && !run->homeless && !run->strayed && !flow->wrong && !flow->undecoded;
    printf("%s - %s: %" PRIu64 " of %" PRIu64 " runtime functions in %zu methods, %" PRIu64 " cold parts, %" PRIu64
           " steps compared, %" PRIu64 " functions named, %" PRIu64 " instructions\n",
           good ? "ok" : "not ok", name, functions - run->homeless, functions, run->image.method_count,
           run->image.cold.size / PAIR_SIZE, flow->compared, run->named, flow->instructions);
    if (!good)
        printf("# %" PRIu64 " strayed, %" PRIu64 " wrong, %" PRIu64 " undecoded; first: %s\n", run->strayed,
               flow->wrong, flow->undecoded, flow->first_wrong);
    return good;
}

static bool read_image(const char *path, struct sw_bytes *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    fseek(file, 0, SEEK_END);
    const size_t size = (size_t)ftell(file);
    rewind(file);
    uint8_t *to = malloc(size + 1);
    const bool read = to && fread(to, 1, size, file) == size;
    fclose(file);
    *bytes = (struct sw_bytes){ to, size, UINT64_C(0x7f0000000000) };
    return read;
}

static bool check_image(const char *path)
{
    static struct run run;
    const struct sw_alloc alloc = { get, put, NULL };
    struct sw_bytes bytes;
    struct sw_pe pe;
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    memset(&run, 0, sizeof run);
    run.flow = (struct flow){ .rule = rule, .same_function = same_function, .arg = &run };
    if (!read_image(path, &bytes) || sw_pe_open(bytes, false, &pe) != SW_OK ||
        sw_clr_image_open(&pe, &alloc, &run.image) != SW_OK) {
        printf("not ok - %s: no ReadyToRun image\n", name);
        return false;
    }
    run.flow.machine = pe.machine;
    const bool good = check(&run, name);
    sw_clr_image_close(&run.image);
    free((void *)(uintptr_t)bytes.bytes);
    return good;
}

int main(int argc, char **argv)
{
    bool good = argc > 1;
    for (int i = 1; i < argc; i++)
        good = check_image(argv[i]) && good;
    return good ? 0 : 1;
}
