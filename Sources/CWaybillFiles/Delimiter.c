#define _GNU_SOURCE
#include "CWaybillFiles.h"

#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

// Whether what follows a boundary makes a delimiter of it: "--", or blanks and CRLF. What the bytes don't decide counts
// as one, and so does padding beyond the limit, which is an error and for others to tell.
static int is_followed_rightly(const unsigned char *rest, size_t count, size_t padding_limit) {
    size_t at = 0;
    if (count == 0) return 1;
    if (rest[0] > '-') return 0;
    if (rest[0] == '-') return count < 2 || rest[1] == '-';
    while (at < count && (rest[at] == ' ' || rest[at] == '\t')) {
        if (++at > padding_limit) return 1;
    }
    if (at == count) return 1;
    if (rest[at] != '\r') return 0;
    return at + 1 == count || rest[at + 1] == '\n';
}

ssize_t wb_find_delimiter_plainly(
    const unsigned char *bytes, size_t count, const unsigned char *delimiter, size_t length, size_t padding_limit) {
    size_t from = 0;
    while (count - from >= length) {
        const unsigned char *found = memmem(bytes + from, count - from, delimiter, length);
        if (!found) return -1;
        size_t end = (size_t)(found - bytes) + length;
        if (is_followed_rightly(bytes + end, count - end, padding_limit)) return found - bytes;
        from = end;
    }
    return -1;
}

#if defined(__SSE2__)
static inline __m128i load(const unsigned char *bytes) { return _mm_loadu_si128((const __m128i *)bytes); }

// memcmp(3) without a call: a candidate costs no more than the bytes it is compared with.
static inline int is_delimiter(const unsigned char *bytes, const unsigned char *delimiter, size_t length) {
    if (length < 16) return memcmp(bytes, delimiter, length) == 0;
    __m128i equal = _mm_cmpeq_epi8(load(bytes + length - 16), load(delimiter + length - 16));
    for (size_t at = 0; at + 16 < length; at += 16)
        equal = _mm_and_si128(equal, _mm_cmpeq_epi8(load(bytes + at), load(delimiter + at)));
    return _mm_movemask_epi8(equal) == 0xFFFF;
}
#endif

ssize_t wb_find_delimiter(
    const unsigned char *bytes, size_t count, const unsigned char *delimiter, size_t length, size_t padding_limit) {
    size_t from = 0;
#if defined(__SSE2__)
    size_t gap = 0;
    // CR, LF and the last byte of the boundary at their distances: three bytes that no hostile content can have more
    // often than at every third place, and chance hardly ever. The rest is compared only there.
    const __m128i cr = _mm_set1_epi8('\r'), lf = _mm_set1_epi8('\n');
    const __m128i last = _mm_set1_epi8((char)delimiter[length - 1]);
    while (count >= length && from + 32 + length - 1 <= count) {
        const unsigned char *at = bytes + from, *end = at + length - 1;
        __m128i low = _mm_and_si128(_mm_cmpeq_epi8(load(at), cr), _mm_cmpeq_epi8(load(at + 1), lf));
        __m128i high = _mm_and_si128(_mm_cmpeq_epi8(load(at + 16), cr), _mm_cmpeq_epi8(load(at + 17), lf));
        low = _mm_and_si128(low, _mm_cmpeq_epi8(load(end), last));
        high = _mm_and_si128(high, _mm_cmpeq_epi8(load(end + 16), last));
        from += 32;
        if (__builtin_expect(_mm_movemask_epi8(_mm_or_si128(low, high)) == 0, 1)) continue;
        unsigned mask = (unsigned)_mm_movemask_epi8(low) | (unsigned)_mm_movemask_epi8(high) << 16;
        size_t base = from - 32;
        while (mask) {
            size_t place = (size_t)__builtin_ctz(mask), start = base + place;
            mask &= mask - 1;
            if (place == gap) {
                // Content full of near delimiters has them at one distance. Taken from the last one, the place need not
                // wait for these bytes to be looked at: the processor goes ahead, and three times as fast.
                size_t guess = gap;
                __asm__("" : "+r"(guess));
                start = base + guess;
            } else {
                gap = place;
                __asm__ volatile("" : "+r"(gap));
            }
            if (!is_delimiter(bytes + start, delimiter, length)) continue;
            if (is_followed_rightly(bytes + start + length, count - start - length, padding_limit))
                return (ssize_t)start;
            // No other one can begin in it, for it has but one CR.
            from = start + length;
            break;
        }
    }
#endif
    ssize_t found = wb_find_delimiter_plainly(bytes + from, count - from, delimiter, length, padding_limit);
    return found < 0 ? found : found + (ssize_t)from;
}
