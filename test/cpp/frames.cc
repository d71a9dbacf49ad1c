/*
 * The C++ header: a walk is a range, failures are exceptions, what was made is given back. TAP on standard output.
 */
#include <snapwalk/snapwalk.hpp>

#include <algorithm>
#include <cstdio>
#include <vector>

static int status;

static void verdict(bool good, const char *what)
{
    std::printf("%s - %s\n", good ? "ok" : "not ok", what);
    status |= !good;
}

struct seen {
    std::vector<std::string> names;
    sw_stop stop;
};

/* Visible, so that they have names. */
seen inner_of_two(const snapwalk::images &images, snapwalk::stack &stack);
__attribute__((noinline)) seen inner_of_two(const snapwalk::images &images, snapwalk::stack &stack)
{
    seen all;
    snapwalk::walk walk = stack.here();
    for (const sw_frame &frame : walk)
        all.names.push_back(images.name(frame.lookup).value_or("?"));
    all.stop = walk.stop();
    return all;
}

seen outer_of_two(const snapwalk::images &images, snapwalk::stack &stack);
__attribute__((noinline)) seen outer_of_two(const snapwalk::images &images, snapwalk::stack &stack)
{
    seen all = inner_of_two(images, stack);
    all.names.push_back("");
    return all;
}

static bool leads_to_main(const seen &all)
{
    return all.stop == SW_STOP_ROOT && all.names.size() > 3 && all.names[0].find("inner_of_two") != std::string::npos &&
           all.names[1].find("outer_of_two") != std::string::npos &&
           std::find(all.names.begin(), all.names.end(), "main") != all.names.end();
}

int main()
{
    snapwalk::images images = snapwalk::images::of_self();
    snapwalk::stack stack(images);
    verdict(leads_to_main(outer_of_two(images, stack)), "a range from the caller to the root");

    snapwalk::cache cache(1024);
    snapwalk::stack cached(images, nullptr, cache);
    const bool first = leads_to_main(outer_of_two(images, cached)),
               second = leads_to_main(outer_of_two(images, cached));
    verdict(first && second && sw_cache_get_counts(cache).hits > 0, "the same by a cache");

    snapwalk::images moved = std::move(images);
    verdict(images.get() == nullptr && moved.name(reinterpret_cast<uint64_t>(&inner_of_two)),
            "what was moved from holds nothing");
    verdict(!moved.name(1), "no name is no failure");
    try {
        snapwalk::cache none(0);
        verdict(false, "a failure is an exception");
    } catch (const snapwalk::error &failure) {
        verdict(failure.status() == SW_E_ARGUMENT && std::string(failure.what()) == "SW_E_ARGUMENT",
                "a failure is an exception");
    }
    return status;
}
