#include "CWaybillJPEG.h"
#include "wide.h"

#include <math.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "zero coefficients are skipped four at a time");

WB_BODY void quantise_block(const int16_t *coefficients, const float *reciprocals, float rounding,
                                  int16_t *restrict levels) {
    for (int k = 0; k < 64; k++) {
        int32_t value = coefficients[k];
        int32_t size = value < 0 ? -value : value;
        // ISO/IEC 10918-1 F.1.2.2: at most 10 bits of magnitude for AC of 8-bit samples.
        int32_t level = (int32_t)((float)size * reciprocals[k] + rounding);
        level = level > 1023 ? 1023 : level;
        levels[k] = (int16_t)(value < 0 ? -level : level);
    }
    int32_t dc = coefficients[0];
    int32_t level = (int32_t)((float)(dc < 0 ? -dc : dc) * reciprocals[0] + 0.5f);
    levels[0] = (int16_t)(dc < 0 ? -level : level);
}

WB_BODY int bits_of(int32_t value) {
    uint32_t size = (uint32_t)(value < 0 ? -value : value);
    return size == 0 ? 0 : 32 - __builtin_clz(size);
}

WB_BODY uint64_t count_block(const int16_t *levels, int32_t *last_dc, uint32_t *dc, uint32_t *ac) {
    int size = bits_of(levels[0] - *last_dc);
    *last_dc = levels[0];
    dc[size]++;
    uint64_t extra = size;
    int last = 0;
    for (int group = 0; group < 16; group++) {
        uint64_t word;
        memcpy(&word, levels + group * 4, sizeof word);
        if (group == 0) word &= ~(uint64_t)0xFFFF;
        while (word) {
            int lane = __builtin_ctzll(word) / 16;
            int position = group * 4 + lane;
            word &= ~((uint64_t)0xFFFF << (lane * 16));
            int run = position - last - 1;
            last = position;
            ac[0xF0] += run >> 4;
            size = bits_of(levels[position]);
            ac[(run & 15) << 4 | size]++;
            extra += size;
        }
    }
    if (last < 63) ac[0]++;
    return extra;
}

WB_BODY void wb_jpeg_quantise_body(const int16_t *coefficients, size_t blocks, const float *reciprocals, float rounding,
                      int16_t *levels) {
    for (size_t block = 0; block < blocks; block++)
        quantise_block(coefficients + block * 64, reciprocals, rounding, levels + block * 64);
}

WB_TWICE(void, wb_jpeg_quantise,
         (const int16_t *coefficients, size_t blocks, const float *reciprocals, float rounding, int16_t *levels),
         (coefficients, blocks, reciprocals, rounding, levels))

WB_BODY uint64_t wb_jpeg_count_body(const int16_t *levels, size_t blocks, int32_t *last_dc, uint32_t *dc, uint32_t *ac) {
    uint64_t extra = 0;
    for (size_t block = 0; block < blocks; block++) extra += count_block(levels + block * 64, last_dc, dc, ac);
    return extra;
}

WB_TWICE(uint64_t, wb_jpeg_count,
         (const int16_t *levels, size_t blocks, int32_t *last_dc, uint32_t *dc, uint32_t *ac),
         (levels, blocks, last_dc, dc, ac))

WB_BODY uint64_t wb_jpeg_count_quantised_body(const int16_t *coefficients, size_t blocks, const float *reciprocals, float rounding,
                                 int32_t *last_dc, uint32_t *dc, uint32_t *ac) {
    uint64_t extra = 0;
    int16_t levels[64];
    for (size_t block = 0; block < blocks; block++) {
        quantise_block(coefficients + block * 64, reciprocals, rounding, levels);
        extra += count_block(levels, last_dc, dc, ac);
    }
    return extra;
}

WB_TWICE(uint64_t, wb_jpeg_count_quantised,
         (const int16_t *coefficients, size_t blocks, const float *reciprocals, float rounding, int32_t *last_dc,
          uint32_t *dc, uint32_t *ac),
         (coefficients, blocks, reciprocals, rounding, last_dc, dc, ac))

struct step {
    int position; // in zigzag order
    int16_t level;
    int from; // index of the previous step, -1 for none
    float zeros; // cost of dropping every step before this one
    float best; // minimum cost of a block that ends here
};

struct weights {
    float reciprocals[64]; // of 8 q
    float shares[64];      // distortion of one level, squared, before the block's strength
};

// Computes the cost of keeping step `index` with magnitude `level`, over all possible previous steps.
WB_BODY void try_level(struct step *steps, int index, int32_t level, float distortion, const float *bits) {
    struct step *step = &steps[index];
    int size = bits_of(level);
    for (int before = index - 1; before >= -1; before--) {
        // The cost of dropping the steps in between only increases with the distance.
        float dropped = before < 0 ? step->zeros : step->zeros - steps[before + 1].zeros;
        float cost = distortion + dropped;
        if (cost >= step->best) break;
        if (before >= 0) cost += steps[before].best;
        int run = step->position - (before < 0 ? 0 : steps[before].position) - 1;
        cost += (float)(run >> 4) * bits[0xF0] + bits[(run & 15) << 4 | size] + (float)size;
        if (cost < step->best) {
            step->best = cost;
            step->level = (int16_t)level;
            step->from = before;
        }
    }
}

WB_BODY void trellis_block(const int16_t *coefficients, const struct weights *weights, float strength,
                          const float *bits, int16_t *levels) {
    struct step steps[64];
    int count = 0;
    float zeros = 0;
    for (int k = 1; k < 64; k++) {
        if (levels[k] == 0) continue;
        float exact = fabsf((float)coefficients[k] * weights->reciprocals[k]);
        float weight = strength * weights->shares[k];
        int32_t plain = levels[k] < 0 ? -levels[k] : levels[k];
        struct step *step = &steps[count];
        *step = (struct step){.position = k, .level = 0, .from = -1, .zeros = zeros, .best = INFINITY};
        int32_t tries[3] = {plain, plain - 1, 0};
        int power = bits_of(plain) - 1; // the largest 2^n - 1 below
        if (power > 0) tries[2] = (1 << power) - 1;
        for (int index = 0; index < 3; index++) {
            int32_t level = tries[index];
            if (level < 1 || (index == 2 && level >= plain - 1)) continue;
            float error = (float)level - exact;
            try_level(steps, count, level, weight * error * error, bits);
        }
        zeros += weight * exact * exact;
        count++;
    }
    float least = zeros + bits[0];
    int last = -1;
    for (int index = 0; index < count; index++) {
        float after = index + 1 < count ? zeros - steps[index + 1].zeros : 0;
        float cost = steps[index].best + after + (steps[index].position < 63 ? bits[0] : 0);
        if (cost < least) {
            least = cost;
            last = index;
        }
    }
    memset(levels + 1, 0, 63 * sizeof *levels);
    for (int index = last; index >= 0; index = steps[index].from) {
        int k = steps[index].position;
        levels[k] = coefficients[k] < 0 ? -steps[index].level : steps[index].level;
    }
}

WB_BODY void wb_jpeg_trellis_body(const int16_t *coefficients, const float *norms, size_t blocks, const uint16_t *table,
                     const float *bits, float strength, int16_t *levels) {
    struct weights weights;
    for (int k = 0; k < 64; k++) {
        weights.reciprocals[k] = 1.0f / (8.0f * table[k]);
        weights.shares[k] = 64.0f * table[k] / table[0];
    }
    // Errors are masked in busy blocks; the exponent 0.7 masks them less than the usual 1.
    const float knee = 92681.9f; // 2^16.5
    for (size_t block = 0; block < blocks; block++, coefficients += 64, levels += 64) {
        quantise_block(coefficients, weights.reciprocals, 0.5f, levels);
        float masking = powf(knee / (knee + norms[block]), 0.7f);
        trellis_block(coefficients, &weights, strength / knee * masking, bits, levels);
    }
}

WB_TWICE(void, wb_jpeg_trellis,
         (const int16_t *coefficients, const float *norms, size_t blocks, const uint16_t *table, const float *bits,
          float strength, int16_t *levels),
         (coefficients, norms, blocks, table, bits, strength, levels))
