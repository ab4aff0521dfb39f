// The decoders of PNG and WebP for WaybillJPEG: wrappers of libpng and libwebp that return rows, and errors as data.
//
// libpng reports errors with longjmp. Every jump stays within one call of this header and skips no Swift frame.
// Without the trait Images, only these declarations exist, and nothing calls them.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "CWaybillProcess.h"

#pragma clang assume_nonnull begin

enum {
    wb_image_ok = 0,
    wb_image_failed = 1,          // the data is damaged; `message` is that of the library
    wb_image_truncated = 2,       // the data ended before the image did
    wb_image_memory_exceeded = 3, // malloc failed, or the library's own limit was exceeded
};

typedef struct {
    int32_t outcome;
    char message[120];
} wb_image_status;

// MARK: PNG, one row per call

typedef struct wb_png wb_png;

// Reads everything before the image data. `bytes` must remain valid until close. Rows are 8-bit gray, RGB or RGBA. A
// gamma value is applied, so that rows are approximately sRGB, unless the file has an ICC profile.
wb_png *_Nullable wb_png_open(const uint8_t *bytes, size_t count, wb_image_status *status);
int32_t wb_png_width(const wb_png *png);
int32_t wb_png_height(const wb_png *png);
int32_t wb_png_channels(const wb_png *png); // 1, 3 or 4
// The ICC profile, or NULL. The memory belongs to the decoder.
const uint8_t *_Nullable wb_png_profile(const wb_png *png, size_t *count);
// Reads the next row, of width * channels bytes. Returns 1; 2 without a row while an interlaced image, which must be
// decoded as a whole, is being decoded; 0 after the last row; or -1 on an error.
int32_t wb_png_read(wb_png *png, const uint8_t *_Nullable *_Nonnull row, wb_image_status *status);
// Whether the file ends after the image data, but before its end marker (IEND).
int32_t wb_png_is_end_missing(const wb_png *png);
void wb_png_close(wb_png *png);

// MARK: WebP, the whole image

// A part of the file; `count` is 0 if the file lacks it.
typedef struct {
    size_t start, count;
} wb_webp_range;

typedef struct {
    int32_t width, height; // of the still image, or of the whole animation
    int32_t has_alpha, is_lossless, is_animation;
    int32_t left, top, frame_width, frame_height; // the place of the first frame of an animation
    wb_webp_range frame; // the image data of the still image, or of the first frame of an animation
    wb_webp_range profile, exif, xmp;
    size_t end;          // the length of the file by its header
} wb_webp_info;

// Reads the structure of a file, without its pixels. Returns 0, or -1 on an error.
int32_t wb_webp_inspect(const uint8_t *bytes, size_t count, wb_webp_info *info, wb_image_status *status);

typedef struct wb_webp wb_webp;

// Starts to decode a frame to `width` x `height` pixels, to which it may be scaled down. `frame` must remain valid until
// close. Rows are RGB or RGBA.
wb_webp *_Nullable wb_webp_open(const uint8_t *frame, size_t count, int32_t width, int32_t height, int32_t has_alpha,
                                wb_image_status *status);
// Decodes a part of the data and sets the number of finished rows. Returns 1, 0 when all rows are finished, or -1 on an
// error.
int32_t wb_webp_read(wb_webp *webp, int32_t *rows, wb_image_status *status);
const uint8_t *wb_webp_row(const wb_webp *webp, int32_t row);
void wb_webp_close(wb_webp *webp);

#pragma clang assume_nonnull end
