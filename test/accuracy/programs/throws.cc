/* Throws through many shapes of frames: destructors, nested handlers, rethrows, function try blocks, stored exceptions. */
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

volatile unsigned sink;

struct guard {
    std::string text;
    explicit guard(unsigned n) : text(n % 40, 'g') {}
    ~guard() { sink += static_cast<unsigned>(text.size()); }
};

struct error : std::runtime_error {
    unsigned depth;
    explicit error(unsigned d) : std::runtime_error("depth " + std::to_string(d)), depth(d) {}
};

struct base {
    virtual ~base() = default;
    virtual unsigned visit(unsigned depth) = 0;
};

struct thrower : base {
    unsigned visit(unsigned depth) override
    {
        guard g(depth);
        if (depth == 0)
            throw error(depth);
        const unsigned got = visit(depth - 1);
        return got + static_cast<unsigned>(g.text.size());
    }
};

struct catcher : base {
    thrower inner;
    unsigned visit(unsigned depth) override
    try {
        return inner.visit(depth);
    } catch (const error &e) {
        sink += e.depth;
        throw;
    }
};

unsigned nested(base &b, unsigned depth)
{
    try {
        guard g(depth);
        try {
            return b.visit(depth);
        } catch (const std::logic_error &) {
            return 1;
        }
    } catch (const std::runtime_error &e) {
        try {
            throw std::length_error(e.what());
        } catch (const std::exception &again) {
            return static_cast<unsigned>(std::string(again.what()).size());
        }
    }
}

unsigned stored(unsigned n)
{
    std::exception_ptr kept;
    try {
        std::vector<int>(n).at(n + 1) = 1;
    } catch (...) {
        kept = std::current_exception();
    }
    try {
        std::rethrow_exception(kept);
    } catch (const std::out_of_range &e) {
        return static_cast<unsigned>(e.what()[0]);
    }
}

unsigned bound(unsigned n)
{
    std::map<std::string, std::function<unsigned(unsigned)>> table;
    table["a"] = [](unsigned x) -> unsigned { return x > 3 ? throw error(x) : x; };
    table["b"] = [&table](unsigned x) { return table.at("a")(x) + 1; };
    table["c"] = [&table](unsigned x) { return table.at("z")(x); };
    unsigned sum = 0;
    for (const char *name : { "a", "b", "c" })
        try {
            sum += table.at(name)(n);
        } catch (const error &e) {
            sum += e.depth;
        } catch (const std::out_of_range &) {
            sum += 7;
        }
    return sum;
}

} // namespace

int main()
{
    for (unsigned i = 0; i < 60; i++) {
        catcher c;
        thrower t;
        sink += nested(c, i % 9) + nested(t, i % 5) + stored(i) + bound(i % 6);
    }
    std::printf("%u\n", sink);
}
