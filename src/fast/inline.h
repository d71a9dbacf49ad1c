/*
 * What the fast path asks of the compiler. A step takes some 20 cycles, so that a call in it would be felt.
 */
#ifndef SW_FAST_INLINE_H
#define SW_FAST_INLINE_H

/* SW_OTHERS_FRAMES: words of other functions' frames are read, which AddressSanitizer would take for a mistake. */
#if defined(__GNUC__)
#define SW_OTHERS_FRAMES __attribute__((no_sanitize_address))
#define SW_LIKELY(x)     __builtin_expect_with_probability(!!(x), 1, 0.999)
#define SW_UNLIKELY(x)   __builtin_expect_with_probability(!!(x), 0, 0.999)
#define SW_INLINE        inline __attribute__((always_inline))
#define SW_APART         __attribute__((noinline))
#else
#define SW_OTHERS_FRAMES
#define SW_LIKELY(x)   (x)
#define SW_UNLIKELY(x) (x)
#define SW_INLINE      inline
#define SW_APART
#endif

/* ThreadSanitizer does not know that words which another thread writes meanwhile are not believed. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SW_UNDER_TSAN
#endif
#endif

#endif
