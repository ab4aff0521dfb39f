// Checksums that object stores return. Written in C because a debug build in Swift is a hundred times slower.
#pragma once

#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

/// Updates a CRC-32 (ISO-HDLC, as in zlib and Ethernet). Start with a `crc` of 0.
uint32_t wb_crc32(uint32_t crc, const void *bytes, size_t count);

/// Updates a CRC-32C (Castagnoli, as in iSCSI). Start with a `crc` of 0.
uint32_t wb_crc32c(uint32_t crc, const void *bytes, size_t count);

/// Updates a CRC-64/XZ (ECMA-182, reflected). Start with a `crc` of 0.
uint64_t wb_crc64(uint64_t crc, const void *bytes, size_t count);

/// Updates a CRC-64/NVME (NVM Express, reflected). Start with a `crc` of 0.
uint64_t wb_crc64_nvme(uint64_t crc, const void *bytes, size_t count);

/// Returns a CRC, without inversion, after a number of zero bytes, for a reflected polynomial of 32 or 64 bits. With it,
/// the CRC of concatenated bytes is computed from those of its parts. Applies a linear map by repeated squaring:
/// O(log `count`).
uint64_t wb_crc_append_zeros(uint64_t polynomial, uint64_t crc, uint64_t count);

#pragma clang assume_nonnull end
