// The 8 x 8 DCT in single precision with the factorization of Arai, Agui and Nakajima (Trans. IEICE E-71, 1988): five
// multiplications per line, and one scale factor per frequency that is merged into the conversion for the quantizer.
#include "CWaybillJPEG.h"
#include "wide.h"

#include <string.h>

static const uint8_t natural_of_zigzag[64] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
};

// cos(k pi / 16) * sqrt(2), and 1 for k = 0: the factor that the factorization leaves on frequency k.
static const float scales[8] = {1.0f,         1.387039845f, 1.306562965f, 1.175875602f,
                                1.0f,         0.785694958f, 0.541196100f, 0.275899379f};

static const float half_root = 0.707106781f;  // cos(4 pi / 16)
static const float sine_6 = 0.382683433f;     // cos(6 pi / 16)
static const float difference = 0.541196100f; // cos(2 pi / 16) - cos(6 pi / 16)
static const float sum_2_6 = 1.306562965f;    // cos(2 pi / 16) + cos(6 pi / 16)

// Transforms eight columns at a time; element k of column i is in[k * stride + i].
WB_BODY void forward_columns(const float *in, int stride, float bias, float *restrict out) {
    for (int i = 0; i < 8; i++) {
        float a0 = in[i], a1 = in[stride + i], a2 = in[2 * stride + i], a3 = in[3 * stride + i];
        float a4 = in[4 * stride + i], a5 = in[5 * stride + i], a6 = in[6 * stride + i], a7 = in[7 * stride + i];
        float s0 = a0 + a7 + bias, s1 = a1 + a6 + bias, s2 = a2 + a5 + bias, s3 = a3 + a4 + bias;
        float d0 = a0 - a7, d1 = a1 - a6, d2 = a2 - a5, d3 = a3 - a4;
        float e0 = s0 + s3, e1 = s1 + s2, e2 = s1 - s2, e3 = s0 - s3;
        out[i] = e0 + e1;
        out[32 + i] = e0 - e1;
        float z = (e2 + e3) * half_root;
        out[16 + i] = e3 + z;
        out[48 + i] = e3 - z;
        float o0 = d3 + d2, o1 = d2 + d1, o2 = d1 + d0;
        float z5 = (o0 - o2) * sine_6;
        float z2 = difference * o0 + z5, z4 = sum_2_6 * o2 + z5, z3 = o1 * half_root;
        float p = d0 + z3, m = d0 - z3;
        out[40 + i] = m + z2;
        out[24 + i] = m - z2;
        out[8 + i] = p + z4;
        out[56 + i] = p - z4;
    }
}

WB_BODY void transpose(const float *restrict in, float *restrict out) {
    for (int v = 0; v < 8; v++)
        for (int u = 0; u < 8; u++) out[u * 8 + v] = in[v * 8 + u];
}

WB_BODY void wb_jpeg_forward_body(const float *rows, int32_t stride, int32_t blocks, int16_t *restrict coefficients,
                     float *restrict norms) {
    float factors[64]; // of the transposed block
    for (int v = 0; v < 8; v++)
        for (int u = 0; u < 8; u++) factors[u * 8 + v] = 1.0f / (scales[u] * scales[v]);
    for (int32_t block = 0; block < blocks; block++) {
        float first[64], turned[64], second[64];
        int16_t whole[64];
        // Both additions of a pair include the level shift: 2 * 128.
        forward_columns(rows + block * 8, stride, -256, first);
        transpose(first, turned);
        forward_columns(turned, 8, 0, second);
        float energy[8] = {0};
        for (int k = 0; k < 64; k += 8) {
            for (int i = 0; i < 8; i++) {
                float value = second[k + i] * factors[k + i];
                // Truncating a positive number yields the floor that rounding needs.
                whole[k + i] = (int16_t)((int32_t)(value + 32768.5f) - 32768);
                energy[i] += value * value;
            }
        }
        float dc = second[0] * factors[0];
        float total = 0;
        for (int i = 0; i < 8; i++) total += energy[i];
        total -= dc * dc;
        norms[block] = total > 0 ? total * (1.0f / 63) : 0;
        for (int k = 0; k < 64; k++) {
            int natural = natural_of_zigzag[k];
            coefficients[k] = whole[(natural & 7) * 8 + (natural >> 3)];
        }
        coefficients += 64;
    }
}

WB_TWICE(void, wb_jpeg_forward,
         (const float *rows, int32_t stride, int32_t blocks, int16_t *restrict coefficients, float *restrict norms),
         (rows, stride, blocks, coefficients, norms))

WB_BODY void inverse_columns(const float *restrict in, float *restrict out) {
    for (int i = 0; i < 8; i++) {
        float e0 = in[i] + in[32 + i], e1 = in[i] - in[32 + i];
        float e3 = in[16 + i] + in[48 + i], e2 = (in[16 + i] - in[48 + i]) * (2 * half_root) - e3;
        float s0 = e0 + e3, s3 = e0 - e3, s1 = e1 + e2, s2 = e1 - e2;
        float z13 = in[40 + i] + in[24 + i], z10 = in[40 + i] - in[24 + i];
        float z11 = in[8 + i] + in[56 + i], z12 = in[8 + i] - in[56 + i];
        float o7 = z11 + z13, o5 = (z11 - z13) * (2 * half_root);
        float z5 = (z10 + z12) * 1.847759065f; // 2 cos(2 pi / 16)
        float t10 = z5 - z12 * 1.082392200f;   // 2 (cos(2 pi / 16) - cos(6 pi / 16))
        float t12 = z5 - z10 * 2.613125930f;   // 2 (cos(2 pi / 16) + cos(6 pi / 16))
        float o6 = t12 - o7, o5b = o5 - o6, o4 = t10 - o5b;
        out[i] = s0 + o7;
        out[56 + i] = s0 - o7;
        out[8 + i] = s1 + o6;
        out[48 + i] = s1 - o6;
        out[16 + i] = s2 + o5b;
        out[40 + i] = s2 - o5b;
        out[24 + i] = s3 + o4;
        out[32 + i] = s3 - o4;
    }
}

WB_BODY void wb_jpeg_inverse_body(const int16_t *levels, const uint16_t *table, int32_t blocks, uint8_t *rows, int32_t stride) {
    float factors[64];
    for (int k = 0; k < 64; k++) {
        int natural = natural_of_zigzag[k];
        factors[k] = table[k] * scales[natural & 7] * scales[natural >> 3] * 0.125f;
    }
    for (int32_t block = 0; block < blocks; block++, levels += 64) {
        float first[64], second[64], turned[64];
        memset(first, 0, sizeof first);
        // Stored transposed, so that the rows come first and a single transposition suffices.
        for (int k = 0; k < 64; k++) {
            int natural = natural_of_zigzag[k];
            first[(natural & 7) * 8 + (natural >> 3)] = levels[k] * factors[k];
        }
        inverse_columns(first, second);
        transpose(second, turned);
        inverse_columns(turned, first);
        uint8_t *out = rows + block * 8;
        for (int y = 0; y < 8; y++, out += stride) {
            for (int x = 0; x < 8; x++) {
                float value = first[y * 8 + x] + 128.5f;
                value = value < 0 ? 0 : value;
                out[x] = (uint8_t)(int32_t)(value > 255 ? 255 : value);
            }
        }
    }
}

WB_TWICE(void, wb_jpeg_inverse,
         (const int16_t *levels, const uint16_t *table, int32_t blocks, uint8_t *rows, int32_t stride),
         (levels, table, blocks, rows, stride))
