/*
 * The profiler's output: a set of lines, so that two runs can be compared however their threads took turns.
 */
#include "vendor.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>

static std::mutex lock;
static std::set<std::string> lines;
static bool paused;

void record(const std::string &line)
{
    std::lock_guard<std::mutex> hold(lock);
    if (!paused)
        lines.insert(line);
}

void record_always(const std::string &line)
{
    std::lock_guard<std::mutex> hold(lock);
    lines.insert(line);
}

void record_pause(bool pause)
{
    std::lock_guard<std::mutex> hold(lock);
    paused = pause;
}

void record_end()
{
    const char *path = std::getenv("VENDOR_OUT");
    std::FILE *file = path ? std::fopen(path, "w") : nullptr;
    if (!file)
        return;
    std::lock_guard<std::mutex> hold(lock);
    for (const std::string &line : lines)
        std::fprintf(file, "%s\n", line.c_str());
    std::fclose(file);
}

std::string hex(std::uint32_t value)
{
    char text[16];
    std::snprintf(text, sizeof(text), "%08x", static_cast<unsigned>(value));
    return text;
}
