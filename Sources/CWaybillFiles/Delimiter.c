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

ssize_t wb_find_delimiter(
    const unsigned char *bytes, size_t count, const unsigned char *delimiter, size_t length, size_t padding_limit) {
    size_t from = 0;
#if defined(__SSE2__)
    // CR, LF and the last byte of the boundary at their distances: three bytes that no hostile content can have more
    // often than at every third place, and chance hardly ever. The rest is compared only there.
    const __m128i cr = _mm_set1_epi8('\r'), lf = _mm_set1_epi8('\n');
    const __m128i last = _mm_set1_epi8((char)delimiter[length - 1]);
    while (count >= length && from + 16 + length - 1 <= count) {
        const unsigned char *at = bytes + from;
        __m128i hits = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)at), cr);
        hits = _mm_and_si128(hits, _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(at + 1)), lf));
        hits = _mm_and_si128(hits, _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(at + length - 1)), last));
        unsigned mask = (unsigned)_mm_movemask_epi8(hits);
        while (__builtin_expect(mask != 0, 0)) {
            size_t start = from + (size_t)__builtin_ctz(mask);
            mask &= mask - 1;
            if (bytes[start + 2] == '-' && memcmp(bytes + start, delimiter, length) == 0
                && is_followed_rightly(bytes + start + length, count - start - length, padding_limit))
                return (ssize_t)start;
        }
        from += 16;
    }
#endif
    ssize_t found = wb_find_delimiter_plainly(bytes + from, count - from, delimiter, length, padding_limit);
    return found < 0 ? found : found + (ssize_t)from;
}
