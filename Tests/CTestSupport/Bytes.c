#define _GNU_SOURCE

#include "CTestSupport.h"

#include <pthread.h>
#include <string.h>

// Independent of the library's own checksum, which tests compare with this one: processes one byte per step, and
// joins checksums by multiplying polynomials instead of matrices.

static const uint64_t polynomial = UINT64_C(0xC96C5795D7870F42);
static uint64_t steps[256];
static pthread_once_t steps_made = PTHREAD_ONCE_INIT;

// Both factors have the coefficient of x^0 in the highest bit, as the checksum does.
static uint64_t multiplied(uint64_t one, uint64_t other) {
    uint64_t product = 0;
    for (uint64_t bit = UINT64_C(1) << 63; bit != 0; bit >>= 1) {
        if (one & bit) product ^= other;
        other = (other >> 1) ^ (other & 1 ? polynomial : 0);
    }
    return product;
}

static void make_steps(void) {
    // The remainder of byte * x^64, that is byte * x^56 multiplied by x^8.
    const uint64_t x8 = UINT64_C(1) << 55;
    for (uint64_t byte = 0; byte < 256; byte++) steps[byte] = multiplied(byte, x8);
}

uint64_t cts_crc64(uint64_t checksum, const void *bytes, size_t count) {
    pthread_once(&steps_made, make_steps);
    const uint8_t *next = bytes;
    checksum = ~checksum;
    for (const uint8_t *end = next + count; next != end; next++) {
        checksum = steps[(uint8_t)checksum ^ *next] ^ (checksum >> 8);
    }
    return ~checksum;
}

uint64_t cts_crc64_join(uint64_t first, uint64_t second, uint64_t count) {
    uint64_t power = UINT64_C(1) << 55;  // x^8, then its squares
    for (; count != 0; count >>= 1) {
        if (count & 1) first = multiplied(first, power);
        power = multiplied(power, power);
    }
    return first ^ second;
}

uint64_t cts_crc(uint64_t reflected, const void *bytes, size_t count) {
    const uint64_t ones = reflected >> 32 ? UINT64_MAX : UINT32_MAX;
    const uint8_t *next = bytes;
    uint64_t checksum = ones;
    for (const uint8_t *end = next + count; next != end; next++) {
        checksum ^= *next;
        for (int bit = 0; bit < 8; bit++) checksum = (checksum >> 1) ^ (checksum & 1 ? reflected : 0);
    }
    return checksum ^ ones;
}

ssize_t cts_find(const void *bytes, size_t count, const void *pattern, size_t pattern_count) {
    const uint8_t *found = memmem(bytes, count, pattern, pattern_count);
    return found ? found - (const uint8_t *)bytes : -1;
}
