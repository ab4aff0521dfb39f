#include "CTestSupport.h"

// Independent of the library's own checksum, which tests compare with this one: processes four bits per step.

uint32_t cts_crc32(uint32_t checksum, const void *bytes, size_t count) {
    static const uint32_t steps[16] = {
        0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4, 0x4DB26158, 0x5005713C,
        0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C, 0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C,
    };
    checksum = ~checksum;
    for (const uint8_t *next = bytes, *end = next + count; next != end; next++) {
        checksum ^= *next;
        checksum = steps[checksum & 15] ^ (checksum >> 4);
        checksum = steps[checksum & 15] ^ (checksum >> 4);
    }
    return ~checksum;
}
