// Gradient magnitude similarity deviation after Xue, Zhang, Mou and Bovik (IEEE Trans. Image Processing 23, 2014):
// Prewitt gradients divided by 3, constant 170; the caller provides the scales.
#include "CWaybillJPEG.h"
#include "wide.h"

#include <math.h>

WB_BODY void gradients(const uint8_t *up, const uint8_t *mid, const uint8_t *down, int32_t width,
                             float *restrict squares) {
    for (int32_t x = 0; x < width - 2; x++) {
        int32_t across = (up[x + 2] + mid[x + 2] + down[x + 2]) - (up[x] + mid[x] + down[x]);
        int32_t along = (down[x] + down[x + 1] + down[x + 2]) - (up[x] + up[x + 1] + up[x + 2]);
        squares[x] = (float)(across * across + along * along) * (1.0f / 9);
    }
}

enum { strip = 1024 };

WB_BODY double wb_jpeg_gradient_deviation_body(const uint8_t *one, const uint8_t *other, int32_t width, int32_t height) {
    if (width < 3 || height < 3) return 0;
    float first[strip], second[strip];
    double sum = 0, squares = 0;
    for (int32_t y = 0; y + 2 < height; y++) {
        const uint8_t *a = one + (size_t)y * width, *b = other + (size_t)y * width;
        for (int32_t left = 0; left + 2 < width; left += strip) {
            int32_t count = width - 2 - left < strip ? width - 2 - left : strip;
            gradients(a + left, a + width + left, a + 2 * width + left, count + 2, first);
            gradients(b + left, b + width + left, b + 2 * width + left, count + 2, second);
            for (int32_t x = 0; x < count; x++)
                first[x] = (2 * __builtin_elementwise_sqrt(first[x] * second[x]) + 170) / (first[x] + second[x] + 170);
            float lanes[8] = {0}, lane_squares[8] = {0};
            int32_t x = 0;
            for (; x + 8 <= count; x += 8) {
                for (int i = 0; i < 8; i++) {
                    // Summing the distance from 1 keeps the float sums small and sufficiently exact.
                    float distance = 1 - first[x + i];
                    lanes[i] += distance;
                    lane_squares[i] += distance * distance;
                }
            }
            for (; x < count; x++) {
                float distance = 1 - first[x];
                lanes[0] += distance;
                lane_squares[0] += distance * distance;
            }
            for (int i = 0; i < 8; i++) {
                sum += lanes[i];
                squares += lane_squares[i];
            }
        }
    }
    double count = (double)(width - 2) * (height - 2);
    double mean = sum / count;
    double variance = squares / count - mean * mean;
    return variance > 0 ? sqrt(variance) : 0;
}

WB_TWICE(double, wb_jpeg_gradient_deviation,
         (const uint8_t *one, const uint8_t *other, int32_t width, int32_t height),
         (one, other, width, height))
