// Statistics that tell a page of text from a photo.
#include "CWaybillJPEG.h"

// Returns a sample in 256ths.
static int32_t fine_at(const void *samples, size_t index, int32_t sample_bytes) {
    return sample_bytes == 1 ? ((const uint8_t *)samples)[index] << 8 : ((const uint16_t *)samples)[index];
}

static int32_t sample_at(const void *samples, size_t index, int32_t sample_bytes) {
    return fine_at(samples, index, sample_bytes) >> 8;
}

// Returns the most frequent value of the brighter half, which is that of the paper.
static int32_t paper_of(const void *samples, size_t count, int32_t sample_bytes) {
    size_t counts[256] = {0};
    for (size_t index = 0; index < count; index++) counts[sample_at(samples, index, sample_bytes)]++;
    int32_t paper = 128;
    for (int32_t value = 129; value < 256; value++)
        if (counts[value] >= counts[paper]) paper = value;
    return paper;
}

enum {
    blank_range = 20,    // of a block of paper, as a scanner records it
    blank_distance = 10, // of its middle from the paper
    text_range = 80,     // of a block with text
    text_distance = 20,  // of its brightest sample from the paper
};

wb_jpeg_page_blocks wb_jpeg_count_page_blocks(const void *samples, int32_t width, int32_t height,
                                              int32_t sample_bytes) {
    int32_t paper = paper_of(samples, (size_t)width * height, sample_bytes);
    wb_jpeg_page_blocks found = {0};
    uint64_t blank_sum = 0;
    for (int32_t top = 0; top + 8 <= height; top += 8) {
        for (int32_t left = 0; left + 8 <= width; left += 8) {
            int32_t darkest = 255, brightest = 0, sum = 0;
            for (int32_t y = top; y < top + 8; y++) {
                for (int32_t x = left; x < left + 8; x++) {
                    int32_t fine = fine_at(samples, (size_t)y * width + x, sample_bytes), sample = fine >> 8;
                    darkest = sample < darkest ? sample : darkest;
                    brightest = sample > brightest ? sample : brightest;
                    sum += fine;
                }
            }
            int32_t range = brightest - darkest, middle = (brightest + darkest) / 2;
            found.all++;
            if (range <= blank_range && middle >= paper - blank_distance && middle <= paper + blank_distance) {
                found.blank++;
                blank_sum += sum;
            }
            if (range >= text_range && brightest >= paper - text_distance && brightest <= paper + text_distance)
                found.text++;
        }
    }
    if (found.blank > 0) found.paper = (double)blank_sum / 256 / 64 / found.blank;
    return found;
}
