#pragma once

#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

/// Encodes RGB pixels (three bytes each, row by row) as a baseline 4:2:0 JPEG in memory, with an APP1 segment.
///
/// Returns 0 and a buffer for free(3), or -1 and an error in `message`.
int ccard_encode(
    const uint8_t *pixels, int width, int height, int quality, const uint8_t *app1, size_t app1_count,
    uint8_t *_Nullable *_Nonnull bytes, size_t *count, char *message, size_t message_room);

#pragma clang assume_nonnull end
