#include "CWaybillChecksum.h"

#include <pthread.h>
#include <string.h>

// Slicing by eight: processes eight bytes per step, each with its own table, which accounts for the bytes that follow
// it. (Kounavis and Berry, "A Systematic Approach to Building High Performance Software-Based CRC Generators", 2005.)

// One set of tables for each polynomial, in its reflected form: CRC-32 and CRC-32C, CRC-64/XZ and CRC-64/NVME.
static const uint32_t polynomials32[2] = {UINT32_C(0xEDB88320), UINT32_C(0x82F63B78)};
static const uint64_t polynomials64[2] = {UINT64_C(0xC96C5795D7870F42), UINT64_C(0x9A6C9329AC4BC9B5)};
static uint32_t tables32[2][8][256];
static uint64_t tables64[2][8][256];
static pthread_once_t tables_made = PTHREAD_ONCE_INIT;

static void make_tables(void) {
    for (unsigned kind = 0; kind < 2; kind++) {
        uint32_t(*table32)[256] = tables32[kind];
        uint64_t(*table64)[256] = tables64[kind];
        for (unsigned byte = 0; byte < 256; byte++) {
            uint32_t narrow = byte;
            uint64_t wide = byte;
            for (int bit = 0; bit < 8; bit++) {
                narrow = (narrow >> 1) ^ ((narrow & 1) ? polynomials32[kind] : 0);
                wide = (wide >> 1) ^ ((wide & 1) ? polynomials64[kind] : 0);
            }
            table32[0][byte] = narrow;
            table64[0][byte] = wide;
        }
        for (unsigned slice = 1; slice < 8; slice++) {
            for (unsigned byte = 0; byte < 256; byte++) {
                uint32_t narrow = table32[slice - 1][byte];
                uint64_t wide = table64[slice - 1][byte];
                table32[slice][byte] = table32[0][narrow & 255] ^ (narrow >> 8);
                table64[slice][byte] = table64[0][wide & 255] ^ (wide >> 8);
            }
        }
    }
}

// Loads eight bytes in little-endian order, regardless of the processor's byte order.
static uint64_t load(const unsigned char *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static uint32_t update32(unsigned kind, uint32_t crc, const void *bytes, size_t count) {
    pthread_once(&tables_made, make_tables);
    uint32_t(*table32)[256] = tables32[kind];
    const unsigned char *at = bytes;
    crc = ~crc;
    for (; count >= 8; count -= 8, at += 8) {
        uint64_t word = load(at) ^ crc;
        crc = table32[7][word & 255] ^ table32[6][word >> 8 & 255] ^ table32[5][word >> 16 & 255] ^
              table32[4][word >> 24 & 255] ^ table32[3][word >> 32 & 255] ^ table32[2][word >> 40 & 255] ^
              table32[1][word >> 48 & 255] ^ table32[0][word >> 56];
    }
    for (; count > 0; count--, at++) crc = table32[0][(crc ^ *at) & 255] ^ (crc >> 8);
    return ~crc;
}

static uint64_t update64(unsigned kind, uint64_t crc, const void *bytes, size_t count) {
    pthread_once(&tables_made, make_tables);
    uint64_t(*table64)[256] = tables64[kind];
    const unsigned char *at = bytes;
    crc = ~crc;
    for (; count >= 8; count -= 8, at += 8) {
        uint64_t word = load(at) ^ crc;
        crc = table64[7][word & 255] ^ table64[6][word >> 8 & 255] ^ table64[5][word >> 16 & 255] ^
              table64[4][word >> 24 & 255] ^ table64[3][word >> 32 & 255] ^ table64[2][word >> 40 & 255] ^
              table64[1][word >> 48 & 255] ^ table64[0][word >> 56];
    }
    for (; count > 0; count--, at++) crc = table64[0][(crc ^ *at) & 255] ^ (crc >> 8);
    return ~crc;
}

uint32_t wb_crc32(uint32_t crc, const void *bytes, size_t count) { return update32(0, crc, bytes, count); }

uint32_t wb_crc32c(uint32_t crc, const void *bytes, size_t count) { return update32(1, crc, bytes, count); }

uint64_t wb_crc64(uint64_t crc, const void *bytes, size_t count) { return update64(0, crc, bytes, count); }

uint64_t wb_crc64_nvme(uint64_t crc, const void *bytes, size_t count) { return update64(1, crc, bytes, count); }

// A linear map of up to 64 bits is represented by the images of the individual bits.
static uint64_t apply(const uint64_t images[64], uint64_t bits) {
    uint64_t result = 0;
    for (unsigned bit = 0; bits != 0; bit++, bits >>= 1) result ^= (bits & 1) ? images[bit] : 0;
    return result;
}

static void square(uint64_t images[64]) {
    uint64_t squared[64];
    for (unsigned bit = 0; bit < 64; bit++) squared[bit] = apply(images, images[bit]);
    memcpy(images, squared, sizeof squared);
}

uint64_t wb_crc_append_zeros(uint64_t polynomial, uint64_t crc, uint64_t count) {
    uint64_t zeros[64] = {polynomial};  // one zero bit, then squared to one byte
    for (unsigned bit = 1; bit < 64; bit++) zeros[bit] = UINT64_C(1) << (bit - 1);
    for (int step = 0; step < 3; step++) square(zeros);
    for (; count > 0; count >>= 1) {
        if (count & 1) crc = apply(zeros, crc);
        square(zeros);
    }
    return crc;
}
