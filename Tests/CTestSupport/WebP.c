#include "CTestSupport.h"

#include <webp/decode.h>
#include <webp/encode.h>

uint8_t *cts_webp_encode(const uint8_t *pixels, int32_t width, int32_t height, int32_t channels, int32_t is_lossless,
                         size_t *count) {
    uint8_t *out = 0;
    int stride = width * channels;
    if (channels == 3 && is_lossless) *count = WebPEncodeLosslessRGB(pixels, width, height, stride, &out);
    else if (channels == 3) *count = WebPEncodeRGB(pixels, width, height, stride, 80, &out);
    else if (is_lossless) *count = WebPEncodeLosslessRGBA(pixels, width, height, stride, &out);
    else *count = WebPEncodeRGBA(pixels, width, height, stride, 80, &out);
    return out;
}

uint8_t *cts_webp_decode(const uint8_t *bytes, size_t count, int32_t channels, int32_t *width, int32_t *height) {
    return channels == 4 ? WebPDecodeRGBA(bytes, count, width, height) : WebPDecodeRGB(bytes, count, width, height);
}

void cts_webp_free(uint8_t *bytes) { WebPFree(bytes); }
