/* Stacks as a profile: one sample a thread, in the formats of tools/profile. */
#include "output.h"

#include "profile/profile.h"
#include "refuse.h"

#include <stdlib.h>
#include <string.h>

/* ORDER sw_kind. */
static const enum sw_profile_kind kinds[] = { SW_PROFILE_OTHER, SW_PROFILE_JIT, SW_PROFILE_PRECOMPILED,
                                              SW_PROFILE_OTHER, SW_PROFILE_NATIVE };

static void must_be_ok(enum sw_profile_status status)
{
    if (status == SW_PROFILE_E_MEMORY)
        must(SW_E_NO_MEMORY, "profile");
    if (status != SW_PROFILE_OK && status != SW_PROFILE_E_BOUND)
        refuse_with(EXIT_FAILED, "profile", "could not be written");
}

static uint32_t add_frame(struct sw_profile *profile, const struct frame *frame)
{
    const struct place *place = frame->place;
    const struct sw_profile_mapping mapping = { .file = place->module };
    const struct sw_profile_line line = { .function = place->function };
    const struct sw_profile_location location = {
        .address = place->lookup,
        .mapping = *place->module ? sw_profile_mapping_add(profile, &mapping) : 0,
        .kind = frame->kind < sizeof kinds / sizeof kinds[0] ? kinds[frame->kind] : SW_PROFILE_OTHER,
        .lines = &line,
        .line_count = *place->function ? 1 : 0,
    };
    return sw_profile_location_add(profile, &location);
}

static void add_stack(struct sw_profile *profile, const struct stack *stack)
{
    static const int64_t one = 1;
    uint32_t *frames = calloc(stack->count ? stack->count : 1, sizeof *frames);
    must(frames ? SW_OK : SW_E_NO_MEMORY, "profile");
    for (uint32_t i = 0; i < stack->count; i++)
        frames[i] = add_frame(profile, &stack->frames[i]);
    const struct sw_profile_sample sample = { .stack = frames,
                                              .depth = stack->count,
                                              .values = &one,
                                              .thread = sw_profile_thread_add(profile, stack->tid, stack->name) };
    must_be_ok(sw_profile_sample_add(profile, &sample));
    free(frames);
}

static enum sw_profile_status write_as(const struct report *r, const struct sw_profile *profile, FILE *file)
{
    const struct sw_profile_view view = { .title = r->name };
    switch (r->format) {
    case FORMAT_FOLDED:
        return sw_profile_write_folded(profile, &view, file);
    case FORMAT_SPEEDSCOPE:
        return sw_profile_write_speedscope(profile, &view, file);
    default:
        return sw_profile_write_pprof(profile, file);
    }
}

void write_profile(const struct report *r, FILE *file)
{
    static const struct sw_profile_value_type threads = { "threads", "count" };
    const struct sw_profile_options options = { .values = &threads,
                                                .value_count = 1,
                                                .service = r->name,
                                                .runtime = r->runtime,
                                                .pid = r->pid,
                                                .producer = "snapstacks",
                                                .producer_version = sw_version() };
    struct sw_profile *profile;
    must_be_ok(sw_profile_create(&options, &profile));
    for (size_t i = 0; i < r->stacks->count; i++)
        add_stack(profile, &r->stacks->at[i]);
    must_be_ok(write_as(r, profile, file));
    sw_profile_destroy(profile);
}
