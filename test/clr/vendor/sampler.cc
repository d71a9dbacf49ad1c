/*
 * The profiler's own thread, which never runs managed code, and the functions that the target calls: rounds over all
 * threads, with the runtime running and with it suspended. What is recorded of a round does not depend on time; what
 * happens while the target works is only counted.
 */
#include "vendor.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <semaphore.h>
#include <thread>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

typedef std::chrono::steady_clock Clock;

static std::mutex lock;
static std::condition_variable changed;
static std::map<Id, int> names;
static std::thread sampler;
static enum { Idle, Round, Busy, End } order;
static Clock::time_point until;
static bool is_detached;

/* Held while a thread that may end is walked, and for the list of those that have ended. */
static std::mutex alive;
static std::set<Id> ended;

/* ---- what the target calls; nothing happens when no runtime has loaded this library as its profiler ---- */

EXPORT void vendor_name(int number)
{
    Id thread = 0;
    if (!info || info->GetCurrentThreadID(&thread) != Ok)
        return;
    std::lock_guard<std::mutex> hold(lock);
    names[thread] = number;
}

/* The calling thread's stack in all ways, and what is refused. */
EXPORT void vendor_here(int occasion)
{
    const std::string at = "here " + std::to_string(occasion);
    Id thread = 0;
    if (!info)
        return;
    info->GetCurrentThreadID(&thread);
    look(at);
    record(at + " by id\t" + stack(thread));
    record(at + " with registers\t" + stack(0, 1));
    record(at + " with flag 2\t" + stack(0, 2));
    record(at + " with flag 4\t" + stack(thread, 4));
}

static void give(int what, int milliseconds)
{
    if (!info)
        return;
    std::unique_lock<std::mutex> hold(lock);
    until = Clock::now() + std::chrono::milliseconds(milliseconds);
    order = static_cast<decltype(order)>(what);
    changed.notify_all();
    changed.wait(hold, [] { return order == Idle; });
}

EXPORT void vendor_round()
{
    give(Round, 0);
}

EXPORT void vendor_busy(int milliseconds)
{
    give(Busy, milliseconds);
}

/* The profiler leaves the process; the sampler ended before. */
EXPORT void vendor_detach()
{
    if (!info)
        return;
    sampler_end();
    record_pause(false);
    record("detach\t" + hex(static_cast<std::uint32_t>(info->RequestProfilerDetach(100))));
    record("detaching\t" + stack(0));
    record("detaching twice\t" + hex(static_cast<std::uint32_t>(info->RequestProfilerDetach(100))));
    std::unique_lock<std::mutex> hold(lock);
    changed.wait_for(hold, std::chrono::seconds(30), [] { return is_detached; });
}

EXPORT void vendor_block()
{
    sem_t never;
    sem_init(&never, 0, 0);
    while (sem_wait(&never) != 0)
        ;
}

/* No tail call: this function's frame is the native run between two managed ones. */
EXPORT int vendor_call(void (*back)())
{
    back();
    return order;
}

/* ---- the thread ---- */

static std::vector<Id> threads()
{
    std::vector<Id> ids(1024);
    ThreadEnumerator *all = nullptr;
    std::uint32_t count = 0;
    if (info->EnumThreads(&all) == Ok) {
        all->Next(static_cast<std::uint32_t>(ids.size()), ids.data(), &count);
        all->Release();
    }
    ids.resize(count);
    return ids;
}

static std::string name_of(Id thread)
{
    std::lock_guard<std::mutex> hold(lock);
    const auto found = names.find(thread);
    return found == names.end() ? "unnamed" : std::to_string(found->second);
}

static bool suspend()
{
    for (int tries = 0; tries < 5000; tries++) {
        if (info->SuspendRuntime() == Ok)
            return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

/* Waits until the named threads' stacks stay as they are. */
static void settle()
{
    std::string now, before;
    for (int tries = 0; tries < 100 && (tries < 2 || now != before); tries++) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        before = now;
        now.clear();
        if (!suspend())
            continue;
        for (const Id thread : threads())
            if (name_of(thread) != "unnamed")
                now += stack(thread) + "\n";
        info->ResumeRuntime();
    }
}

static void look_at_all(const char *how)
{
    for (const Id thread : threads()) {
        const std::string name = name_of(thread);
        if (name == "unnamed")
            continue;
        record(std::string(how) + " " + name + "\t" + stack(thread));
        record(std::string(how) + " " + name + " with registers\t" + stack(thread, 1));
    }
}

/* Behind this the target works, and what happens when is left to chance. */
static void round()
{
    settle();
    look_at_all("running");
    if (!suspend())
        return;
    look_at_all("suspended");
    record("suspended, no thread\t" + stack(0));
    info->ResumeRuntime();
    record("resumed twice\t" + hex(static_cast<std::uint32_t>(info->ResumeRuntime())));
    record_pause(true);
}

/* ---- while the target works ---- */

static HResult count_frame(Id function, std::uintptr_t, std::uintptr_t, std::uint32_t, unsigned char *, void *data)
{
    unsigned *seen = static_cast<unsigned *>(data);
    seen[0]++;
    seen[1] = function == 0;
    return Ok;
}

/* "walked" when the last callback was the native code that every thread begins with. */
static std::string outcome(Id thread)
{
    unsigned seen[2] = {};
    const HResult hr = info->DoStackSnapshot(thread, count_frame, 0, seen, nullptr, 0);
    if (hr == Ok)
        return seen[1] ? "walked to the base" : seen[0] ? "S_OK, not to the base" : "S_OK, nothing";
    return hex(static_cast<std::uint32_t>(hr)) + (seen[0] ? " behind frames" : "");
}

/* How the walks of a kind ended, and their time. */
struct Kind {
    const char *name = "";
    std::map<std::string, unsigned> counts;
    Clock::duration time{};
    unsigned walks = 0;
};

static void sample(Kind &kind)
{
    for (const Id thread : threads()) {
        std::lock_guard<std::mutex> hold(alive);
        if (ended.count(thread) != 0)
            continue;
        const auto begin = Clock::now();
        kind.counts[outcome(thread)]++;
        kind.time += Clock::now() - begin;
        kind.walks++;
    }
}

static void record_kind(const Kind &kind)
{
    for (const auto &count : kind.counts)
        record_always(std::string("count ") + kind.name + ": " + count.first + "\t" + std::to_string(count.second));
    const auto total = std::chrono::duration_cast<std::chrono::microseconds>(kind.time).count();
    if (kind.walks > 0)
        record_always(std::string("count microseconds of a walk, ") + kind.name + "\t" +
                      std::to_string(total / kind.walks));
}

static void busy()
{
    Kind running, suspended;
    running.name = "running";
    suspended.name = "suspended";
    for (unsigned turn = 0; Clock::now() < until; turn++) {
        sample(running);
        if (turn % 8 == 0 && suspend()) {
            sample(suspended);
            info->ResumeRuntime();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    record_kind(running);
    record_kind(suspended);
}

static void run()
{
    std::unique_lock<std::mutex> hold(lock);
    while (order != End) {
        const auto now = order;
        hold.unlock();
        if (now == Round)
            round();
        else if (now == Busy)
            busy();
        hold.lock();
        if (order == now)
            order = Idle;
        changed.notify_all();
        changed.wait(hold, [] { return order != Idle; });
    }
}

void sampler_start()
{
    sampler = std::thread(run);
}

void sampler_end()
{
    {
        std::lock_guard<std::mutex> hold(lock);
        order = End;
        changed.notify_all();
    }
    sampler.join();
}

void detached()
{
    std::lock_guard<std::mutex> hold(lock);
    is_detached = true;
    changed.notify_all();
}

/* A ThreadID is good until ThreadDestroyed returns. */
void thread_gone(Id thread)
{
    std::lock_guard<std::mutex> hold(alive);
    std::lock_guard<std::mutex> also(lock);
    ended.insert(thread);
    names.erase(thread);
}

void thread_new(Id thread)
{
    std::lock_guard<std::mutex> hold(alive);
    ended.erase(thread);
}
