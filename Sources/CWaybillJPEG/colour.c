// Conversion of pixels to Y, Cb, Cr, and of colors between gamuts.
#include "CWaybillJPEG.h"

static inline uint8_t rounded(int value) {
    int unit = (value + (1 << 15)) >> 16;
    return unit < 0 ? 0 : unit > 255 ? 255 : (uint8_t)unit;
}

static inline int over_white(int value, int alpha) { return (value * alpha + 255 * (255 - alpha) + 127) / 255; }

void wb_jpeg_split_pixels(const uint8_t *pixels, int32_t width, int32_t channels, uint8_t *luma, uint8_t *blue,
                          uint8_t *red) {
    for (int32_t x = 0; x < width; x++, pixels += channels) {
        if (channels == 1 || !blue || !red) {
            luma[x] = pixels[0];
            continue;
        }
        int r = pixels[0], g = pixels[1], b = pixels[2];
        if (channels == 4) {
            r = over_white(r, pixels[3]);
            g = over_white(g, pixels[3]);
            b = over_white(b, pixels[3]);
        }
        // JFIF 1.02: YCbCr of ITU-R BT.601 with full range, with 16 fractional bits.
        luma[x] = rounded(19595 * r + 38470 * g + 7471 * b);
        blue[x] = rounded(-11059 * r - 21709 * g + 32768 * b + (128 << 16));
        red[x] = rounded(32768 * r - 27439 * g - 5329 * b + (128 << 16));
    }
}

enum { linear_count = 2049, linear_steps = 8, encoded_steps = 16384 };

static inline float light(const float *table, float value) {
    float place = value * linear_steps + 0.5f;
    place = place < 0 ? 0 : place;
    return table[(int32_t)(place > linear_count - 1 ? linear_count - 1 : place)];
}

static inline float encode(const float *table, float light) {
    float place = light * encoded_steps + 0.5f;
    place = place < 0 ? 0 : place;
    return table[(int32_t)(place > encoded_steps ? encoded_steps : place)];
}

// Converts one pixel and adds its colour differences to the sums.
static inline void convert(float *luma, float blue, float red, const wb_jpeg_gamut *gamut, float *blues, float *reds) {
    float r = light(gamut->linear, *luma + 1.402f * red);
    float g = light(gamut->linear + linear_count, *luma - 0.344136f * blue - 0.714136f * red);
    float b = light(gamut->linear + 2 * linear_count, *luma + 1.772f * blue);
    const float *m = gamut->matrix;
    float to_r = encode(gamut->encoded, m[0] * r + m[1] * g + m[2] * b);
    float to_g = encode(gamut->encoded, m[3] * r + m[4] * g + m[5] * b);
    float to_b = encode(gamut->encoded, m[6] * r + m[7] * g + m[8] * b);
    *luma = 0.299f * to_r + 0.587f * to_g + 0.114f * to_b;
    *blues += (to_b - *luma) * (1 / 1.772f);
    *reds += (to_r - *luma) * (1 / 1.402f);
}

void wb_jpeg_convert_gamut(float *upper, float *lower, int32_t width, float *blue, float *red,
                           const wb_jpeg_gamut *gamut) {
    for (int32_t x = 0; x < (width + 1) / 2; x++) {
        float from_blue = blue[x] - 128, from_red = red[x] - 128, blues = 0, reds = 0;
        int32_t across = 2 * x + 1 < width ? 2 : 1;
        for (int32_t i = 2 * x; i < 2 * x + across; i++) {
            convert(&upper[i], from_blue, from_red, gamut, &blues, &reds);
            if (lower) convert(&lower[i], from_blue, from_red, gamut, &blues, &reds);
        }
        float share = 1.0f / (float)(lower ? 2 * across : across);
        blue[x] = blues * share + 128;
        red[x] = reds * share + 128;
    }
}
