#define _GNU_SOURCE
#include "CWaybillFiles.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

// Returns whether the bytes after a boundary complete a delimiter: "--", or whitespace and CRLF. If there are too few
// bytes to decide, it counts as a delimiter. So does padding beyond the limit, which the caller reports as an error.
static int completes_delimiter(const unsigned char *rest, size_t count, size_t padding_limit) {
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

ssize_t wb_find_delimiter_scalar(
    const unsigned char *bytes, size_t count, const unsigned char *delimiter, size_t length, size_t padding_limit) {
    size_t from = 0;
    while (count - from >= length) {
        const unsigned char *found = memmem(bytes + from, count - from, delimiter, length);
        if (!found) return -1;
        size_t end = (size_t)(found - bytes) + length;
        if (completes_delimiter(bytes + end, count - end, padding_limit)) return found - bytes;
        from = end;
    }
    return -1;
}

#if defined(__SSE2__)
// At some addresses, the loop over candidates has 0.8 of its rate at others. The alignment makes the rate independent
// of where the linker places the function. Compilers that do not know the attribute place the loop as before.
#if defined(__has_c_attribute)
#if __has_c_attribute(clang::code_align)
#define ALIGNED_LOOP [[clang::code_align(64)]]
#endif
#endif
#ifndef ALIGNED_LOOP
#define ALIGNED_LOOP
#endif

// The vectorized search has two modes. scan() advances in fixed steps and tests 32 positions at a time for CR, LF and
// the last byte of the boundary. Where the delimiter's beginning matches, follow_candidates() continues. In content
// crafted to resemble delimiters, the next candidate is close behind. No other delimiter can begin within the compared
// bytes, because a delimiter contains only one CR. It therefore jumps from candidate to candidate and skips most bytes.

enum { step = 32, prefix_size = 16, padding_step = 16, window = 64 };

typedef struct {
    const unsigned char *delimiter;
    size_t length, padding_limit;
    __m128i first, last;
    // The bits of the bytes after a short delimiter.
    unsigned unused_prefix_bits;
    // The minimum distance of a candidate from the end, so that all bytes read after it exist.
    size_t min_distance;
} needle_t;

static inline __m128i load(const unsigned char *bytes) { return _mm_loadu_si128((const __m128i *)bytes); }

static inline unsigned bits(__m128i bytes) { return (unsigned)_mm_movemask_epi8(bytes); }

static inline unsigned equal_in_32(const unsigned char *bytes, unsigned char wanted) {
    const __m128i all = _mm_set1_epi8((char)wanted);
    return bits(_mm_cmpeq_epi8(load(bytes), all)) | bits(_mm_cmpeq_epi8(load(bytes + 16), all)) << 16;
}

static inline unsigned not_whitespace_in_16(const unsigned char *bytes) {
    const __m128i here = load(bytes);
    const __m128i space = _mm_cmpeq_epi8(here, _mm_set1_epi8(' ')), tab = _mm_cmpeq_epi8(here, _mm_set1_epi8('\t'));
    return bits(_mm_or_si128(space, tab)) ^ 0xFFFF;
}

static inline needle_t make_needle(const unsigned char *delimiter, size_t length, size_t padding_limit) {
    unsigned char first[prefix_size] = {0};
    memcpy(first, delimiter, length < prefix_size ? length : prefix_size);
    needle_t needle = {
        .delimiter = delimiter, .length = length, .padding_limit = padding_limit, .first = load(first),
        .unused_prefix_bits = length < prefix_size ? 0xFFFFu << length : 0,
        .min_distance = length + step + window + padding_step,
    };
    needle.last = length < prefix_size ? needle.first : load(delimiter + length - prefix_size);
    return needle;
}

static inline int begins_at(const unsigned char *bytes, const needle_t *needle) {
    return (uint16_t)(bits(_mm_cmpeq_epi8(load(bytes), needle->first)) | needle->unused_prefix_bits) == 0xFFFF;
}

// Returns whether the rest of the delimiter matches, too. An inlined memcmp(3).
static inline int rest_matches(const unsigned char *bytes, const needle_t *needle) {
    if (needle->length <= prefix_size) return 1;
    __m128i equal = _mm_cmpeq_epi8(load(bytes + needle->length - prefix_size), needle->last);
    if (needle->length > 2 * prefix_size)
        equal = _mm_and_si128(equal, _mm_cmpeq_epi8(load(bytes + 16), load(needle->delimiter + 16)));
    if (needle->length > 3 * prefix_size)
        equal = _mm_and_si128(equal, _mm_cmpeq_epi8(load(bytes + 32), load(needle->delimiter + 32)));
    for (size_t at = 3 * prefix_size; at + prefix_size < needle->length; at += prefix_size)
        equal = _mm_and_si128(equal, _mm_cmpeq_epi8(load(bytes + at), load(needle->delimiter + at)));
    return bits(equal) == 0xFFFF;
}

// `completes_delimiter` for at least 17 remaining bytes. Returns `delimiter_found`, or the number of bytes that are
// certainly content without a CR: the whitespace, if there is much of it.
static const size_t delimiter_found = SIZE_MAX;

static __attribute__((noinline)) size_t classify_long_padding(
    const unsigned char *rest, size_t count, size_t padding_limit) {
    size_t padding = padding_step;
    unsigned other = 0;
    while (padding <= padding_limit && padding + 2 * padding_step <= count) {
        other = not_whitespace_in_16(rest + padding);
        if (other != 0) break;
        padding += padding_step;
    }
    if (other == 0) return completes_delimiter(rest, count, padding_limit) ? delimiter_found : 0;
    const size_t all = padding + (size_t)__builtin_ctz(other);
    return all > padding_limit || (rest[all] == '\r' && rest[all + 1] == '\n') ? delimiter_found : padding;
}

static inline size_t classify_tail(const unsigned char *rest, size_t count, size_t padding_limit) {
    if (rest[0] > '-') return 0;
    if (rest[0] == '-') return rest[1] == '-' ? delimiter_found : 0;
    const unsigned other = not_whitespace_in_16(rest);
    if (other == 0) return classify_long_padding(rest, count, padding_limit);
    const size_t padding = (size_t)__builtin_ctz(other);
    return (rest[padding] == '\r' && rest[padding + 1] == '\n') || padding > padding_limit ? delimiter_found : 0;
}

// Skips candidates that repeat the previous one. If the bytes from one candidate up to the next equal those from the
// previous candidate, it is no delimiter either: the byte that ruled out the previous one lies in between, at the
// latest the CR of the next candidate, which occurs where a delimiter has none.
// Returns the first candidate for which that does not hold.
static inline const unsigned char *skip_repeats(
    const unsigned char *at, const unsigned char *limit, size_t distance) {
    while (limit - at > (ptrdiff_t)distance) {
        __m128i equal = _mm_cmpeq_epi8(load(at), load(at - distance));
        for (size_t more = prefix_size; more <= distance; more += prefix_size)
            equal = _mm_and_si128(equal, _mm_cmpeq_epi8(load(at + more), load(at + more - distance)));
        if (bits(equal) != 0xFFFF) break;
        at += distance;
    }
    return at;
}

// Jumps from one candidate, where the beginning of the delimiter matches, to the next.
// Returns the position of the delimiter, with `is_found` set, or the position at which to continue the search.
static __attribute__((noinline)) const unsigned char *follow_candidates(
    const unsigned char *at, const unsigned char *end, const needle_t *needle_in, int *is_found) {
    const needle_t needle = *needle_in;
    const unsigned char *const limit = end - needle.min_distance;
    size_t distance = 0, times = 0;
    ALIGNED_LOOP do {
        size_t next;
        if (rest_matches(at, &needle)) {
            const unsigned char *rest = at + needle.length;
            const size_t skipped = classify_tail(rest, (size_t)(end - rest), needle.padding_limit);
            if (__builtin_expect(skipped != 0, 0)) {
                if (skipped == delimiter_found) {
                    *is_found = 1;
                    return at;
                }
                rest += skipped;
                if (rest > limit) return rest;
            }
            const unsigned returns = equal_in_32(rest, '\r');
            if (returns == 0) return rest + step;
            next = (size_t)(rest - at) + (size_t)__builtin_ctz(returns);
        } else {
            // Only the beginning matches. The next CR can be no closer than the end of it.
            const unsigned char *rest = at + prefix_size;
            const uint64_t returns =
                equal_in_32(rest, '\r') | (uint64_t)equal_in_32(rest + step, '\r') << step;
            if (returns == 0) return rest + window;
            next = prefix_size + (size_t)__builtin_ctzll(returns);
        }
        times = next == distance ? times + 1 : 0;
        if (times == 4) {
            at = skip_repeats(at + distance, limit, distance);
            if (!begins_at(at, &needle)) return at + 1;
            continue;
        }
        if (times > 4) {
            // The distance is constant, but the bytes differ. Reading the distance from a register that has held it for
            // a while removes the dependency on the bytes that were just read, so the processor can execute ahead. The
            // barrier prevents the compiler from deriving the distance from them.
            __asm__ volatile("" : "+r"(distance));
        } else {
            distance = next;
        }
        at += distance;
        if (!begins_at(at, &needle)) return at + 1;
    } while (at <= limit);
    return at;
}

// Up to every third position can have CR, LF and the right last byte, as in repeated "\r\n1". Eliminates positions by
// the bytes after CR LF, all positions at a time, until few are left.
static inline unsigned filter_positions(unsigned positions, const unsigned char *base, const needle_t *needle) {
    for (size_t at = 2; at + 1 < needle->length && at < prefix_size; at += 2) {
        unsigned rest = positions & (positions - 1);
        rest &= rest - 1;
        rest &= rest - 1;
        if (__builtin_expect((rest & (rest - 1)) == 0, 1)) break;
        positions &= equal_in_32(base + at, needle->delimiter[at]);
        positions &= equal_in_32(base + at + 1, needle->delimiter[at + 1]);
    }
    return positions;
}

static const unsigned char *scan(
    const unsigned char *at, const unsigned char *end, const needle_t *needle, int *is_found) {
    const __m128i cr = _mm_set1_epi8('\r'), lf = _mm_set1_epi8('\n');
    const __m128i last = _mm_set1_epi8((char)needle->delimiter[needle->length - 1]);
    const unsigned char *const limit = end - needle->min_distance;
    while (at <= limit) {
        const unsigned char *const base = at, *const tail = at + needle->length - 1;
        __m128i low = _mm_and_si128(_mm_cmpeq_epi8(load(at), cr), _mm_cmpeq_epi8(load(at + 1), lf));
        __m128i high = _mm_and_si128(_mm_cmpeq_epi8(load(at + 16), cr), _mm_cmpeq_epi8(load(at + 17), lf));
        low = _mm_and_si128(low, _mm_cmpeq_epi8(load(tail), last));
        high = _mm_and_si128(high, _mm_cmpeq_epi8(load(tail + 16), last));
        at += step;
        if (__builtin_expect(bits(_mm_or_si128(low, high)) == 0, 1)) continue;
        unsigned positions = filter_positions(bits(low) | bits(high) << 16, base, needle);
        for (; positions != 0; positions &= positions - 1) {
            const unsigned char *candidate = base + __builtin_ctz(positions);
            if (!begins_at(candidate, needle)) continue;
            if (candidate > limit) return candidate;
            at = follow_candidates(candidate, end, needle, is_found);
            if (*is_found) return at;
            break;
        }
    }
    return at;
}
#endif

ssize_t wb_find_delimiter(
    const unsigned char *bytes, size_t count, const unsigned char *delimiter, size_t length, size_t padding_limit) {
    const unsigned char *at = bytes;
#if defined(__SSE2__)
    const needle_t needle = make_needle(delimiter, length, padding_limit);
    if (count >= needle.min_distance) {
        int is_found = 0;
        at = scan(bytes, bytes + count, &needle, &is_found);
        if (is_found) return at - bytes;
    }
#endif
    ssize_t found =
        wb_find_delimiter_scalar(at, count - (size_t)(at - bytes), delimiter, length, padding_limit);
    return found < 0 ? found : found + (at - bytes);
}
