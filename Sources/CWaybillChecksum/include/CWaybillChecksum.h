// Checksums that object stores answer with. In C because a debug build of Swift takes a hundred times as long for them.
#pragma once

#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

/// CRC-32 (ISO-HDLC, as in zlib and Ethernet), carried on from `crc`; 0 to begin with.
uint32_t wb_crc32(uint32_t crc, const void *bytes, size_t count);

/// CRC-64/XZ (ECMA-182, reflected), carried on from `crc`; 0 to begin with.
uint64_t wb_crc64(uint64_t crc, const void *bytes, size_t count);

#pragma clang assume_nonnull end
