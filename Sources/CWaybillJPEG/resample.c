// Row-based resampling. The loops are written so that the compiler can vectorize them for any instruction set.
#include "CWaybillJPEG.h"
#include "wide.h"

#include <string.h>

WB_BODY void wb_jpeg_vertical_u8_body(const uint8_t *const *rows, const int16_t *weights, int32_t taps, int32_t width,
                         int32_t *restrict sums, float *restrict out) {
    memset(sums, 0, sizeof *sums * width);
    int32_t tap = 0;
    // Four rows per pass: the sums stay in the L1 cache, and are read and written a quarter as often.
    for (; tap + 4 <= taps; tap += 4) {
        const uint8_t *a = rows[tap], *b = rows[tap + 1], *c = rows[tap + 2], *d = rows[tap + 3];
        const int16_t wa = weights[tap], wb = weights[tap + 1], wc = weights[tap + 2], wd = weights[tap + 3];
        for (int32_t x = 0; x < width; x++)
            sums[x] += (int16_t)a[x] * wa + (int16_t)b[x] * wb + (int16_t)c[x] * wc + (int16_t)d[x] * wd;
    }
    for (; tap < taps; tap++) {
        const uint8_t *a = rows[tap];
        const int16_t wa = weights[tap];
        for (int32_t x = 0; x < width; x++) sums[x] += (int16_t)a[x] * wa;
    }
    for (int32_t x = 0; x < width; x++) out[x] = (float)sums[x] * (1.0f / 16384);
}

WB_TWICE(void, wb_jpeg_vertical_u8,
         (const uint8_t *const *rows, const int16_t *weights, int32_t taps, int32_t width, int32_t *restrict sums,
          float *restrict out),
         (rows, weights, taps, width, sums, out))

WB_BODY void wb_jpeg_vertical_u16_body(const uint16_t *const *rows, const float *weights, int32_t taps, int32_t width,
                          float *restrict out) {
    memset(out, 0, sizeof *out * width);
    int32_t tap = 0;
    for (; tap + 4 <= taps; tap += 4) {
        const uint16_t *a = rows[tap], *b = rows[tap + 1], *c = rows[tap + 2], *d = rows[tap + 3];
        const float wa = weights[tap], wb = weights[tap + 1], wc = weights[tap + 2], wd = weights[tap + 3];
        for (int32_t x = 0; x < width; x++)
            out[x] += (float)a[x] * wa + (float)b[x] * wb + (float)c[x] * wc + (float)d[x] * wd;
    }
    for (; tap < taps; tap++) {
        const uint16_t *a = rows[tap];
        const float wa = weights[tap];
        for (int32_t x = 0; x < width; x++) out[x] += (float)a[x] * wa;
    }
}

WB_TWICE(void, wb_jpeg_vertical_u16,
         (const uint16_t *const *rows, const float *weights, int32_t taps, int32_t width, float *restrict out),
         (rows, weights, taps, width, out))

typedef float quad __attribute__((vector_size(16)));

static inline __attribute__((always_inline)) quad weigh(const float *from, const float *weights, int32_t taps) {
    quad sum = {0, 0, 0, 0};
    for (int32_t tap = 0; tap < taps; tap += 4) {
        quad samples, factors;
        memcpy(&samples, from + tap, sizeof samples);
        memcpy(&factors, weights + tap, sizeof factors);
        sum += samples * factors;
    }
    return sum;
}

WB_BODY void wb_jpeg_horizontal_body(const float *row, const int32_t *starts, const float *weights, int32_t taps, int32_t width,
                        float *restrict out) {
    int32_t x = 0;
    // Four outputs at a time: their sums are independent, and are added up together.
    for (; x + 4 <= width; x += 4, weights += 4 * taps) {
        quad a = weigh(row + starts[x], weights, taps), b = weigh(row + starts[x + 1], weights + taps, taps);
        quad c = weigh(row + starts[x + 2], weights + 2 * taps, taps);
        quad d = weigh(row + starts[x + 3], weights + 3 * taps, taps);
        quad ab = __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
        quad cd = __builtin_shufflevector(c, d, 0, 4, 1, 5) + __builtin_shufflevector(c, d, 2, 6, 3, 7);
        quad sums = __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
        memcpy(out + x, &sums, sizeof sums);
    }
    for (; x < width; x++, weights += taps) {
        quad sum = weigh(row + starts[x], weights, taps);
        out[x] = (sum[0] + sum[2]) + (sum[1] + sum[3]);
    }
}

WB_TWICE(void, wb_jpeg_horizontal,
         (const float *row, const int32_t *starts, const float *weights, int32_t taps, int32_t width,
          float *restrict out),
         (row, starts, weights, taps, width, out))

void wb_jpeg_widen_u8(const uint8_t *row, int32_t width, float *restrict out) {
    for (int32_t x = 0; x < width; x++) out[x] = row[x];
}

void wb_jpeg_widen_u16(const uint16_t *row, int32_t width, float *restrict out) {
    for (int32_t x = 0; x < width; x++) out[x] = (float)row[x] * (1.0f / 256);
}

void wb_jpeg_square_u8(const uint8_t *row, int32_t width, uint16_t *restrict out) {
    for (int32_t x = 0; x < width; x++) out[x] = (uint16_t)(row[x] * row[x]);
}

void wb_jpeg_square_u16(const uint16_t *row, int32_t width, uint16_t *restrict out) {
    for (int32_t x = 0; x < width; x++) out[x] = (uint16_t)(((uint32_t)row[x] * row[x] + (1 << 15)) >> 16);
}

void wb_jpeg_root(float *row, int32_t width) {
    for (int32_t x = 0; x < width; x++) row[x] = __builtin_elementwise_sqrt(row[x] > 0 ? row[x] : 0);
}

WB_BODY void wb_jpeg_store_u8_body(const float *row, int32_t width, uint8_t *restrict out) {
    for (int32_t x = 0; x < width; x++) {
        float value = row[x] + 0.5f;
        value = value < 0 ? 0 : value;
        out[x] = (uint8_t)(int32_t)(value > 255 ? 255 : value);
    }
}

WB_TWICE(void, wb_jpeg_store_u8,
         (const float *row, int32_t width, uint8_t *restrict out),
         (row, width, out))

WB_BODY void wb_jpeg_store_u16_body(const float *row, int32_t width, uint16_t *restrict out) {
    for (int32_t x = 0; x < width; x++) {
        float value = row[x] * 256 + 0.5f;
        value = value < 0 ? 0 : value;
        out[x] = (uint16_t)(int32_t)(value > 65280 ? 65280 : value);
    }
}

WB_TWICE(void, wb_jpeg_store_u16,
         (const float *row, int32_t width, uint16_t *restrict out),
         (row, width, out))

WB_BODY void wb_jpeg_pad_body(const float *row, int32_t width, int32_t padded, float *restrict out) {
    for (int32_t x = 0; x < width; x++) {
        float value = row[x] < 0 ? 0 : row[x];
        out[x] = value > 255 ? 255 : value;
    }
    for (int32_t x = width; x < padded; x++) out[x] = out[width - 1];
}

WB_TWICE(void, wb_jpeg_pad,
         (const float *row, int32_t width, int32_t padded, float *restrict out),
         (row, width, padded, out))

struct turn {
    int transposes, mirrors_x, mirrors_y;
    int32_t width, height; // of the source
};

static inline size_t source_index(const struct turn *turn, int32_t x, int32_t y) {
    int32_t column = turn->transposes ? y : x, row = turn->transposes ? x : y;
    if (turn->mirrors_x) column = turn->width - 1 - column;
    if (turn->mirrors_y) row = turn->height - 1 - row;
    return (size_t)row * turn->width + column;
}

void wb_jpeg_orient(const void *source, int32_t width, int32_t height, int32_t sample_bytes, int32_t orientation,
                    void *out) {
    const struct turn turn = {
        .transposes = orientation >= 5,
        .mirrors_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8,
        .mirrors_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7,
        .width = width,
        .height = height,
    };
    const int32_t out_width = turn.transposes ? height : width, out_height = turn.transposes ? width : height;
    // Process tiles, so that rows and columns of both sides stay in the cache.
    enum { tile = 32 };
    for (int32_t top = 0; top < out_height; top += tile) {
        const int32_t bottom = top + tile < out_height ? top + tile : out_height;
        for (int32_t left = 0; left < out_width; left += tile) {
            const int32_t right = left + tile < out_width ? left + tile : out_width;
            for (int32_t y = top; y < bottom; y++) {
                for (int32_t x = left; x < right; x++) {
                    const size_t from = source_index(&turn, x, y), to = (size_t)y * out_width + x;
                    if (sample_bytes == 1) ((uint8_t *)out)[to] = ((const uint8_t *)source)[from];
                    else ((uint16_t *)out)[to] = ((const uint16_t *)source)[from];
                }
            }
        }
    }
}

WB_BODY void wb_jpeg_halve_u8_body(const uint8_t *source, int32_t width, int32_t height, uint8_t *restrict out) {
    const int32_t across = width / 2, down = height / 2;
    for (int32_t y = 0; y < down; y++) {
        const uint8_t *upper = source + (size_t)2 * y * width, *lower = upper + width;
        for (int32_t x = 0; x < across; x++)
            out[x] = (uint8_t)((upper[2 * x] + upper[2 * x + 1] + lower[2 * x] + lower[2 * x + 1] + 2) >> 2);
        out += across;
    }
}

WB_TWICE(void, wb_jpeg_halve_u8,
         (const uint8_t *source, int32_t width, int32_t height, uint8_t *restrict out),
         (source, width, height, out))

int32_t wb_jpeg_spread_u8(const uint8_t *samples, size_t count) {
    uint8_t largest = 0;
    for (size_t index = 0; index < count; index++) {
        uint8_t size = samples[index] < 128 ? 128 - samples[index] : samples[index] - 128;
        largest = size > largest ? size : largest;
    }
    return largest * 256;
}

int32_t wb_jpeg_spread_u16(const uint16_t *samples, size_t count) {
    uint16_t largest = 0;
    for (size_t index = 0; index < count; index++) {
        uint16_t size = samples[index] < 32768 ? 32768 - samples[index] : samples[index] - 32768;
        largest = size > largest ? size : largest;
    }
    return largest;
}
