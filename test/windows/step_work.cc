/* What compilers make of C++: destructors, virtual functions, exceptions. */
#include "step.h"

#define APART __attribute__((noinline, noclone))

namespace
{
volatile unsigned sink;

struct guard {
    explicit guard(unsigned n) : n(n)
    {
    }
    APART ~guard()
    {
        sink += n;
    }
    unsigned n;
};

struct shape {
    virtual ~shape()
    {
    }
    virtual unsigned area(unsigned n) const
    {
        return n;
    }
};
struct square : shape {
    unsigned area(unsigned n) const override
    {
        guard g(n);
        return shape::area(n) * n;
    }
};

APART unsigned area_of(const shape &s, unsigned n)
{
    return s.area(n) + 1;
}

APART unsigned throw_at(unsigned depth)
{
    guard g(depth);
    if (depth == 0)
        throw depth;
    return throw_at(depth - 1) + g.n;
}

APART void catch_at(unsigned depth)
{
    try {
        sink += throw_at(depth);
    } catch (unsigned n) {
        arm();
        sink += n + area_of(square(), depth);
    }
}

template <class F> APART unsigned apply(F f, unsigned n)
{
    return f(n) + f(n + 1);
}
} // namespace

void work_in_cc(unsigned seed)
{
    sink += area_of(shape(), seed) + area_of(square(), seed);
    sink += apply(
        [seed](unsigned n) {
            guard g(seed);
            return g.n * n;
        },
        seed);
    catch_at(seed % 4);
    sink += area_of(square(), seed);
}
