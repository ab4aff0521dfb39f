// The C layer of WaybillJPEG: wrappers of libjpeg that return errors as data, and loops that a debug build of Swift
// would run hundreds of times slower.
//
// libjpeg reports errors with longjmp. Every jump stays within one call of this header and skips no Swift frame.
#pragma once

#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// The version of libjpeg-turbo that this module was built with.
const char *wb_jpeg_library_version(void);

// MARK: Cancellation flag, set and read by different threads

typedef struct wb_jpeg_flag wb_jpeg_flag;

wb_jpeg_flag *_Nullable wb_jpeg_flag_create(void);
void wb_jpeg_flag_raise(wb_jpeg_flag *flag);
int32_t wb_jpeg_flag_is_raised(const wb_jpeg_flag *flag);
void wb_jpeg_flag_destroy(wb_jpeg_flag *flag);

// MARK: Errors

enum {
    wb_jpeg_ok = 0,
    wb_jpeg_failed = 1,          // libjpeg's error_exit; `code` and `message` are those of libjpeg
    wb_jpeg_stopped = 2,         // the flag was raised
    wb_jpeg_scans_exceeded = 3,  // more scans than allowed
    wb_jpeg_memory_exceeded = 4, // libjpeg needs more memory than allowed, or malloc failed
    wb_jpeg_not_writable = 5,    // a coefficient of the input is outside the range that libjpeg writes
};

typedef struct {
    int32_t outcome;
    int32_t code;
    int32_t damage_warnings; // warnings that indicate a damaged image
    int32_t is_truncated;    // the data ended before the image did
    int32_t stray_bytes;     // stray bytes between segments, up to 64; not damage
    int32_t is_end_missing;  // the data has no EOI marker; not damage if no image data is missing
    char message[200];       // the error, or else the first warning
} wb_jpeg_status;

// MARK: Decoding, one row group per call

typedef struct wb_jpeg_decoder wb_jpeg_decoder;

typedef struct {
    int32_t width, height;   // samples of this plane that belong to the image
    double pitch_x, pitch_y; // distance between samples, in pixels of the full-size image
} wb_jpeg_plane_shape;

// Reads the header and starts decoding. `bytes` must remain valid until close. `eighths` is 8 (full size), 4 or 2. The
// planes are Y or Y, Cb, Cr, whatever the file contains: RGB and CMYK are converted row by row.
wb_jpeg_decoder *_Nullable wb_jpeg_decoder_open(const uint8_t *bytes, size_t count, int32_t eighths, int32_t max_scans,
                                                size_t max_memory, const wb_jpeg_flag *flag, wb_jpeg_status *status);
int32_t wb_jpeg_decoder_plane_count(const wb_jpeg_decoder *decoder);
wb_jpeg_plane_shape wb_jpeg_decoder_shape(const wb_jpeg_decoder *decoder, int32_t plane);
// Returns 1 if rows are available, 0 after all rows if the file was read to its end, -1 on an error in `status`.
int32_t wb_jpeg_decoder_read(wb_jpeg_decoder *decoder, wb_jpeg_status *status);
int32_t wb_jpeg_decoder_row_count(const wb_jpeg_decoder *decoder, int32_t plane);
const uint8_t *wb_jpeg_decoder_row(const wb_jpeg_decoder *decoder, int32_t plane, int32_t row);
wb_jpeg_status wb_jpeg_decoder_status(const wb_jpeg_decoder *decoder);
void wb_jpeg_decoder_close(wb_jpeg_decoder *decoder);

// MARK: Raw pixels

// Splits a row of pixels into Y, Cb, Cr (or only Y for gray), from 1 (gray), 3 (RGB) or 4 (RGBA) bytes per pixel.
// Transparent pixels are composited on white.
void wb_jpeg_split_pixels(const uint8_t *pixels, int32_t width, int32_t channels, uint8_t *luma,
                          uint8_t *_Nullable blue, uint8_t *_Nullable red);

// MARK: Gamut conversion

typedef struct {
    const float *linear;     // three tables of 2,049 entries: linear light for a value in eighths of a unit
    const float *encoded;    // 16,385 entries: the sRGB value (0 to 255) for linear light in 16,384ths
    float matrix[9];         // linear light of the profile's primaries to that of sRGB's, row by row
} wb_jpeg_gamut;

// Converts YCbCr to YCbCr of another gamut, in place. Each sample of `blue` and `red` belongs to 2 x 2 samples of luma;
// `lower` is NULL for an odd last row.
void wb_jpeg_convert_gamut(float *upper, float *_Nullable lower, int32_t width, float *blue, float *red,
                           const wb_jpeg_gamut *gamut);

// MARK: Writing

typedef struct {
    uint8_t *_Nullable start; // to be released with wb_jpeg_bytes_free
    size_t count;
} wb_jpeg_bytes;

void wb_jpeg_bytes_free(wb_jpeg_bytes bytes);

// The distribution of coefficients over progressive scans.
enum {
    wb_jpeg_script_split = 0,   // luma 1-8 and 9-63 with two refinements, whole chroma
    wb_jpeg_script_plain = 1,   // luma 1-8 and 9-63 without refinement
    wb_jpeg_script_wide = 2,    // luma 1-12 and 13-63 with one refinement
    wb_jpeg_script_library = 3, // jpeg_simple_progression
};

typedef struct {
    const int16_t *_Nullable levels; // quantized, 64 per block in zigzag order, block rows from top to bottom
    int32_t blocks_across, blocks_down;
    int32_t horizontal, vertical; // sampling factors
} wb_jpeg_component;

// Writes a progressive JFIF file with optimized Huffman tables and no metadata. One component is gray, three are Y, Cb,
// Cr. `table` is in natural order and is used for all components.
int32_t wb_jpeg_write(int32_t width, int32_t height, const wb_jpeg_component *components, int32_t component_count,
                      const uint16_t *table, int32_t script, const wb_jpeg_flag *flag, wb_jpeg_bytes *bytes,
                      wb_jpeg_status *status);

// Writes a file one row of blocks at a time, in any order; the `levels` of the components are ignored. Rows that are
// not put are zero. Closing releases all resources, finished or not.
typedef struct wb_jpeg_writer wb_jpeg_writer;
wb_jpeg_writer *_Nullable wb_jpeg_writer_open(int32_t width, int32_t height, const wb_jpeg_component *components,
                                              int32_t component_count, const uint16_t *table, int32_t script,
                                              const wb_jpeg_flag *flag, wb_jpeg_status *status);
int32_t wb_jpeg_writer_put(wb_jpeg_writer *writer, int32_t component, int32_t row, const int16_t *levels,
                           wb_jpeg_status *status);
int32_t wb_jpeg_writer_finish(wb_jpeg_writer *writer, wb_jpeg_bytes *bytes, wb_jpeg_status *status);
void wb_jpeg_writer_close(wb_jpeg_writer *writer);

// Rewrites a gray or YCbCr file with the same coefficients: progressive, without metadata, transformed by the Exif
// orientation (1 to 8). The caller must have checked that the transformation is lossless (mirrored sides are whole
// MCUs).
int32_t wb_jpeg_transcode(const uint8_t *input, size_t count, int32_t orientation, int32_t script, int32_t max_scans,
                          size_t max_memory, const wb_jpeg_flag *flag, wb_jpeg_bytes *bytes, wb_jpeg_status *status);

// MARK: Pages of text

// Blocks of 8 x 8 samples: all, those of blank paper, and those with text on it.
typedef struct {
    int32_t all, blank, text;
    double paper; // the mean of the samples of blank blocks, 0 to 255
} wb_jpeg_page_blocks;

// Counts the blocks of a plane of 1- or 2-byte samples, the latter with 8 fractional bits.
wb_jpeg_page_blocks wb_jpeg_count_page_blocks(const void *samples, int32_t width, int32_t height,
                                              int32_t sample_bytes);

// MARK: Kernels. Loops over plain memory; the tests compare each with a reference in Swift.

// out[x] = sum of weights[t] * rows[t][x]. 8-bit rows take weights with 14 fractional bits, 16-bit rows floats.
void wb_jpeg_vertical_u8(const uint8_t *const _Nonnull *_Nonnull rows, const int16_t *weights, int32_t taps,
                         int32_t width, int32_t *sums, float *out);
void wb_jpeg_vertical_u16(const uint16_t *const _Nonnull *_Nonnull rows, const float *weights, int32_t taps,
                          int32_t width, float *out);
// out[x] = sum of weights[x * taps + t] * row[starts[x] + t]; taps is a multiple of 4.
void wb_jpeg_horizontal(const float *row, const int32_t *starts, const float *weights, int32_t taps, int32_t width,
                        float *out);
void wb_jpeg_widen_u8(const uint8_t *row, int32_t width, float *out);
void wb_jpeg_widen_u16(const uint16_t *row, int32_t width, float *out);  // 256ths to units
void wb_jpeg_square_u8(const uint8_t *row, int32_t width, uint16_t *out);
void wb_jpeg_square_u16(const uint16_t *row, int32_t width, uint16_t *out); // 256ths to squared units
void wb_jpeg_root(float *row, int32_t width);                             // squared units back to units
void wb_jpeg_store_u8(const float *row, int32_t width, uint8_t *out);     // clamped and rounded
void wb_jpeg_store_u16(const float *row, int32_t width, uint16_t *out);   // in 256ths
// Clamps a row to 0...255 and repeats its last sample up to `padded`.
void wb_jpeg_pad(const float *row, int32_t width, int32_t padded, float *out);
// Transforms a plane of 1- or 2-byte samples by the Exif orientation (1 to 8).
void wb_jpeg_orient(const void *source, int32_t width, int32_t height, int32_t sample_bytes, int32_t orientation,
                    void *out);
void wb_jpeg_halve_u8(const uint8_t *source, int32_t width, int32_t height, uint8_t *out); // 2 x 2 boxes
// The largest distance from 128, in 256ths.
int32_t wb_jpeg_spread_u8(const uint8_t *samples, size_t count);
int32_t wb_jpeg_spread_u16(const uint16_t *samples, size_t count);

// Transforms eight rows (0 to 255) to coefficients times 8 in zigzag order; `norms` is the mean square without DC.
void wb_jpeg_forward(const float *rows, int32_t stride, int32_t blocks, int16_t *coefficients, float *norms);
// Transforms one row of blocks back to eight rows of samples. `table` is in zigzag order.
void wb_jpeg_inverse(const int16_t *levels, const uint16_t *table, int32_t blocks, uint8_t *rows, int32_t stride);

// level = trunc(|coefficient| * reciprocal + rounding); DC is always rounded to nearest.
void wb_jpeg_quantise(const int16_t *coefficients, size_t blocks, const float *reciprocals, float rounding,
                      int16_t *levels);
// Adds the Huffman symbols of the blocks to `dc` (16) and `ac` (256); returns the number of additional bits.
uint64_t wb_jpeg_count(const int16_t *levels, size_t blocks, int32_t *last_dc, uint32_t *dc, uint32_t *ac);
// Does the same for blocks that are quantized in the process and not stored.
uint64_t wb_jpeg_count_quantised(const int16_t *coefficients, size_t blocks, const float *reciprocals, float rounding,
                                 int32_t *last_dc, uint32_t *dc, uint32_t *ac);
// Quantizes for the minimum of rate + strength * distortion. `table` is in zigzag order, `bits` contains the length of
// each AC symbol.
void wb_jpeg_trellis(const int16_t *coefficients, const float *norms, size_t blocks, const uint16_t *table,
                     const float *bits, float strength, int16_t *levels);

// Returns the standard deviation of the gradient similarity map of two planes; 0 for planes smaller than 3 x 3.
double wb_jpeg_gradient_deviation(const uint8_t *one, const uint8_t *other, int32_t width, int32_t height);

#pragma clang assume_nonnull end
