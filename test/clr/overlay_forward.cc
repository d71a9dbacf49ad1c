/*
 * Every slot of every profiling interface, called through forward.S: the same method of the real object must be called,
 * with the real object as `this`, with the same arguments, and its result must come back. Signatures come from the
 * SW_OWN_SLOTS_* lists by template, on both sides of the call, so each call is laid out by the compiler: integers of
 * all widths, pointers, references, a structure by value, and more arguments than registers.
 *
 * Needs neither runtime nor library; runs under qemu-aarch64 as well.
 */
#include <snapwalk/corprof.h>

#include <cstdio>
#include <cstring>
#include <utility>

#include "../../examples/clr-overlay/forward.h"

extern "C" const void *const sw_forward_slots[SW_FORWARD_SLOTS];

namespace
{

/* As struct sw_forward, whose layout forward.h asserts. */
struct Face {
    const void *const *table;
    void *real;
    const unsigned char *skip;
};
static_assert(offsetof(Face, real) == SW_FORWARD_REAL && offsetof(Face, skip) == SW_FORWARD_SKIP, "as in forward.S");

const void *real_table[SW_FORWARD_SLOTS];
const void *const *real_object = real_table;
unsigned char skip[SW_FORWARD_SLOTS];
Face face = { sw_forward_slots, &real_object, skip };

/* What the real object saw. */
struct {
    int calls, slot;
    bool self, arguments;
} seen;

int failures, number;

void report(bool good, const char *interface, const char *name, const char *what)
{
    failures += !good;
    std::printf("%s %d - %s::%s %s\n", good ? "ok" : "not ok", ++number, interface, name, what);
}

/* A value whose every byte differs from its neighbours' and from the other arguments'. */
void fill(void *bytes, size_t size, int index)
{
    for (size_t i = 0; i < size; i++)
        static_cast<unsigned char *>(bytes)[i] = static_cast<unsigned char>(0x91 + index * 16 + static_cast<int>(i));
}

template <class T> struct Sample {
    static T make(int index)
    {
        T value;
        fill(&value, sizeof(value), index);
        return value;
    }
    static bool equal(const T &a, const T &b)
    {
        return std::memcmp(&a, &b, sizeof(a)) == 0;
    }
};

template <class T> struct Sample<const T &> {
    static T referred[16];
    static const T &make(int index)
    {
        return referred[index];
    }
    static bool equal(const T &a, const T &b)
    {
        return &a == &b;
    }
};
template <class T> T Sample<const T &>::referred[16];

/* Padding need not be copied. */
template <>
bool Sample<COR_PRF_EVENTPIPE_PROVIDER_CONFIG>::equal(const COR_PRF_EVENTPIPE_PROVIDER_CONFIG &a,
                                                      const COR_PRF_EVENTPIPE_PROVIDER_CONFIG &b)
{
    return a.providerName == b.providerName && a.keywords == b.keywords && a.loggingLevel == b.loggingLevel &&
           a.filterData == b.filterData;
}

template <class Method> struct Slot;
template <class R, class Self, class... A> struct Slot<R(STDMETHODCALLTYPE *)(Self *, A...)> {
    typedef R(STDMETHODCALLTYPE *Method)(Self *, A...);

    typedef std::make_integer_sequence<int, sizeof...(A)> Indices;

    template <int... Is> static bool all_equal(std::integer_sequence<int, Is...>, A... arguments)
    {
        return (Sample<A>::equal(arguments, Sample<A>::make(Is)) && ... && true);
    }

    template <int slot> static R STDMETHODCALLTYPE real(Self *self, A... arguments)
    {
        seen.calls++;
        seen.slot = slot;
        seen.self = static_cast<void *>(self) == &real_object;
        seen.arguments = all_equal(Indices(), arguments...);
        return static_cast<R>(0x80010000u + slot);
    }

    template <int... Is> static R call(int slot, std::integer_sequence<int, Is...>)
    {
        Method method;
        std::memcpy(&method, &face.table[slot], sizeof(method));
        return method(reinterpret_cast<Self *>(&face), Sample<A>::make(Is)...);
    }

    template <int slot> static void check(const char *interface, const char *name)
    {
        const Method method = real<slot>;
        std::memcpy(&real_table[slot], &method, sizeof(method));
        seen = {};
        const R result = call(slot, Indices());
        report(seen.calls == 1 && seen.slot == slot && seen.self && seen.arguments &&
                   result == static_cast<R>(0x80010000u + slot),
               interface, name, "is forwarded");
        skip[slot] = 1;
        seen = {};
        const R skipped = call(slot, Indices());
        skip[slot] = 0;
        report(seen.calls == 0 && skipped == 0, interface, name, "is answered when skipped");
    }
};

#define CHECK(Self, result, name, parameters)                                                                          \
    Slot<decltype(Self##Vtbl::name)>::check<offsetof(Self##Vtbl, name) / sizeof(void *)>(#Self, #name);

} // namespace

int main()
{
    SW_SLOTS_ICorProfilerInfo15(CHECK, ICorProfilerInfo15);
    SW_SLOTS_ICorProfilerCallback11(CHECK, ICorProfilerCallback11);
    std::printf("1..%d\n", number);
    std::printf("overlay forwarding: %d of %d calls exact\n", number - failures, number);
    return failures != 0;
}
