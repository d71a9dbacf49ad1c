/*
 * snapwalk in C++17: what the C calls create is owned, failures of set-up are exceptions, and a walk is a range of
 * frames. The calls are those of the C headers, whose cards hold; this header adds no code to the library.
 *
 *     snapwalk::images images = snapwalk::images::of_self();
 *     snapwalk::stack stack(images);
 *     for (const sw_frame &frame : stack.here())
 *         std::cout << images.name(frame.lookup).value_or("?") << '\n';
 */
#ifndef SNAPWALK_SNAPWALK_HPP
#define SNAPWALK_SNAPWALK_HPP

#include <snapwalk/snapwalk.h>

#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace snapwalk
{

/* A status that is not SW_OK. */
class error : public std::runtime_error
{
  public:
    explicit error(sw_status status) : std::runtime_error(sw_status_name(status)), status_(status) {}
    sw_status status() const noexcept { return status_; }

  private:
    sw_status status_;
};

inline void check(sw_status status)
{
    if (status != SW_OK)
        throw error(status);
}

/* Owns what sw_*_create made: moved, not copied; nullptr when it was moved from. */
template <typename T, void (*Destroy)(T *)> class owner
{
  public:
    T *get() const noexcept { return held_.get(); }
    operator T *() const noexcept { return held_.get(); }

  protected:
    explicit owner(T *made) noexcept : held_(made) {}

  private:
    struct destroy {
        void operator()(T *held) const noexcept { Destroy(held); }
    };
    std::unique_ptr<T, destroy> held_;
};

template <typename T, typename Create, typename... Args> T *created(Create create, Args... args)
{
    T *made = nullptr;
    check(create(args..., &made));
    return made;
}

/* The images of a target, with their tables. */
class images : public owner<sw_images, sw_images_destroy>
{
  public:
    images() : owner(created<sw_images>(sw_images_create, nullptr)) {}

    /* Those that this process has loaded. Refresh them by add_self after dlopen and dlclose. */
    static images of_self()
    {
        images made;
        made.add_self();
        return made;
    }
    void add_self() { check(sw_images_add_self(get())); }

    /* The name of the function at an address. Not in a signal handler. */
    std::optional<std::string> name(uint64_t address, uint64_t *start = nullptr) const
    {
        char text[512];
        const sw_status status = sw_images_name(get(), address, text, sizeof text, start);
        if (status == SW_E_NOT_FOUND)
            return std::nullopt;
        check(status);
        return std::string(text);
    }
};

/* The rules that walks found. */
class cache : public owner<sw_cache, sw_cache_destroy>
{
  public:
    explicit cache(std::size_t entries) : owner(created<sw_cache>(sw_cache_create, nullptr, entries)) {}
};

/*
 * A walk in progress, as a range: once from begin to end. It lives as long as the scratch and the walker that it was
 * made with, and is not copied.
 */
class walk
{
  public:
    walk(const sw_walker &walker, sw_scratch &scratch, const sw_regs &start, bool exact) noexcept
    {
        sw_walk_start(&walk_, &walker, &scratch, &start, exact);
    }
    walk(const walk &) = delete;
    walk &operator=(const walk &) = delete;

    class iterator
    {
      public:
        using iterator_category = std::input_iterator_tag;
        using value_type = sw_frame;
        using difference_type = std::ptrdiff_t;
        using pointer = const sw_frame *;
        using reference = const sw_frame &;

        iterator() noexcept = default;
        explicit iterator(sw_walk *walk) noexcept : walk_(walk) { ++*this; }
        reference operator*() const noexcept { return walk_->frame; }
        pointer operator->() const noexcept { return &walk_->frame; }
        iterator &operator++() noexcept
        {
            if (!sw_walk_next(walk_))
                walk_ = nullptr;
            return *this;
        }
        void operator++(int) noexcept { ++*this; }
        friend bool operator==(const iterator &a, const iterator &b) noexcept { return a.walk_ == b.walk_; }
        friend bool operator!=(const iterator &a, const iterator &b) noexcept { return a.walk_ != b.walk_; }

      private:
        sw_walk *walk_ = nullptr;
    };
    iterator begin() noexcept { return iterator(&walk_); }
    iterator end() const noexcept { return iterator(); }

    /* Why it ended; SW_STOP_NONE before that. */
    sw_stop stop() const noexcept { return walk_.stop; }

  private:
    sw_walk walk_;
};

/*
 * The stack of the thread that makes it: a walker and its working memory, for one walk at a time. The images, and a
 * cache where one is given, must live longer. Walks are safe in signal handlers, the constructor is not.
 */
class stack
{
  public:
    explicit stack(const images &images, const sw_codemap *codemap = nullptr, sw_cache *cache = nullptr)
        : scratch_(new sw_scratch)
    {
        check(sw_self_walker(&walker_, codemap, images));
        walker_.cache = cache;
    }

    /* From the caller on: its frame is the first. */
    __attribute__((always_inline)) inline walk here()
    {
        sw_regs regs;
        sw_self_capture(&regs);
        return walk(walker_, *scratch_, regs, false);
    }
    /* From registers whose pc was being executed: those of a signal's context (sw_context_load). */
    walk from(const sw_regs &regs) { return walk(walker_, *scratch_, regs, true); }

    sw_walker &walker() noexcept { return walker_; }

  private:
    sw_walker walker_;
    std::unique_ptr<sw_scratch> scratch_;
};

} // namespace snapwalk

#endif
