#ifdef WAYBILL_IMAGES

#include "CWaybillImages.h"

#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

struct wb_png {
    png_structp png;
    png_infop info;
    const uint8_t *bytes;
    size_t count, position;
    wb_image_status status;
    int is_short;         // libpng wanted bytes beyond the end
    int is_out_of_memory; // malloc failed
    int is_over, is_finishing, is_end_missing;
    uint32_t width, height, next_row, pass, passes;
    int channels;
    size_t row_bytes;
    uint8_t *row;   // the current row, or all rows of an interlaced image
    jmp_buf jump;
};

// The largest ancillary chunk, such as a compressed profile, that is kept in memory.
enum { max_chunk_bytes = 4 << 20, max_side = 65500, rows_per_call = 64 };

static _Noreturn void fail(png_structp png, png_const_charp message) {
    struct wb_png *self = png_get_error_ptr(png);
    self->status.outcome = self->is_out_of_memory ? wb_image_memory_exceeded
                           : self->is_short       ? wb_image_truncated
                                                  : wb_image_failed;
    strncpy(self->status.message, message, sizeof self->status.message - 1);
    longjmp(self->jump, 1);
}

// The ancillary chunks that affect no pixel.
static const png_byte metadata[] = "bKGD\0eXIf\0hIST\0iTXt\0oFFs\0pCAL\0pHYs\0sBIT\0sCAL\0sPLT\0tEXt\0tIME\0zTXt";
enum { metadata_count = sizeof metadata / 5 };

static int is_metadata(png_const_charp message) {
    for (int index = 0; index < metadata_count; index++) {
        if (memcmp(message, metadata + 5 * index, 4) == 0) return 1;
    }
    return 0;
}

// Warnings concern ancillary chunks, which libpng then ignores. It begins them with the name of the chunk. Without its
// transparency, or with a chunk whose name or content is damaged, the image may look different.
static void warn(png_structp png, png_const_charp message) {
    if (strlen(message) < 4 || is_metadata(message)) return;
    if (memcmp(message, "tRNS", 4) == 0 || strstr(message, "CRC error")) fail(png, message);
}

static png_voidp allocate(png_structp png, png_alloc_size_t size) {
    struct wb_png *self = png_get_mem_ptr(png);
    void *memory = malloc(size);
    if (!memory) self->is_out_of_memory = 1;
    return memory;
}

static void release(png_structp png, png_voidp memory) {
    (void)png;
    free(memory);
}

static void read_bytes(png_structp png, png_bytep out, size_t count) {
    struct wb_png *self = png_get_io_ptr(png);
    if (self->count - self->position < count) {
        self->is_short = 1;
        png_error(png, "the file ends early");
    }
    memcpy(out, self->bytes + self->position, count);
    self->position += count;
}

// Metadata is skipped unread, texts above all, which may inflate to megabytes.
static void skip_metadata(png_structp png) {
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, 0);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, metadata, metadata_count);
}

static void set_gamma(struct wb_png *self) {
    double gamma;
    int intent;
    if (png_get_valid(self->png, self->info, PNG_INFO_iCCP) || png_get_sRGB(self->png, self->info, &intent)) return;
    if (png_get_gAMA(self->png, self->info, &gamma)) png_set_gamma(self->png, PNG_DEFAULT_sRGB, gamma);
}

// Must be called with `jump` set.
static void start(struct wb_png *self) {
    png_structp png = self->png;
    png_set_read_fn(png, self, read_bytes);
    png_set_user_limits(png, max_side, max_side);
    png_set_chunk_malloc_max(png, max_chunk_bytes);
    skip_metadata(png);
    png_read_info(png, self->info);
    int type = png_get_color_type(png, self->info);
    int has_transparency = png_get_valid(png, self->info, PNG_INFO_tRNS) || (type & PNG_COLOR_MASK_ALPHA);
    png_set_scale_16(png);
    png_set_expand(png); // palettes to RGB, few bits to 8, transparent colors to alpha
    if (has_transparency && !(type & PNG_COLOR_MASK_COLOR)) png_set_gray_to_rgb(png);
    set_gamma(self);
    self->passes = (uint32_t)png_set_interlace_handling(png);
    png_read_update_info(png, self->info);
    self->width = png_get_image_width(png, self->info);
    self->height = png_get_image_height(png, self->info);
    self->channels = png_get_channels(png, self->info);
    self->row_bytes = png_get_rowbytes(png, self->info);
    if (png_get_bit_depth(png, self->info) != 8 || self->row_bytes != (size_t)self->width * self->channels ||
        self->channels == 2)
        png_error(png, "unexpected layout of a row");
    self->row = calloc(self->passes == 1 ? 1 : self->height, self->row_bytes);
    if (self->row) return;
    self->is_out_of_memory = 1;
    png_error(png, "out of memory");
}

wb_png *wb_png_open(const uint8_t *bytes, size_t count, wb_image_status *status) {
    struct wb_png *self = calloc(1, sizeof *self);
    memset(status, 0, sizeof *status);
    status->outcome = wb_image_memory_exceeded;
    if (!self) return NULL;
    self->bytes = bytes;
    self->count = count;
    if (setjmp(self->jump) == 0) {
        self->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, self, fail, warn, self, allocate, release);
        self->info = self->png ? png_create_info_struct(self->png) : NULL;
        if (self->info) {
            start(self);
            status->outcome = wb_image_ok;
            return self;
        }
    } else {
        *status = self->status;
    }
    wb_png_close(self);
    return NULL;
}

int32_t wb_png_width(const wb_png *self) { return (int32_t)self->width; }

int32_t wb_png_height(const wb_png *self) { return (int32_t)self->height; }

int32_t wb_png_channels(const wb_png *self) { return self->channels; }

const uint8_t *wb_png_profile(const wb_png *self, size_t *count) {
    png_charp name;
    png_bytep profile;
    png_uint_32 length;
    int method;
    if (!png_get_iCCP(self->png, self->info, &name, &method, &profile, &length)) return NULL;
    *count = length;
    return profile;
}

int32_t wb_png_is_end_missing(const wb_png *self) { return self->is_end_missing; }

// Reads some rows of an interlaced image. Returns whether it is complete.
static int read_passes(struct wb_png *self) {
    for (int rows = 0; rows < rows_per_call && self->pass < self->passes; rows++) {
        png_read_row(self->png, self->row + self->row_bytes * self->next_row, NULL);
        if (++self->next_row < self->height) continue;
        self->next_row = 0;
        self->pass++;
    }
    return self->pass == self->passes;
}

static int32_t after_end(const struct wb_png *self, wb_image_status *status) {
    if (self->status.outcome == wb_image_ok || self->is_end_missing) return 0;
    *status = self->status;
    return -1;
}

int32_t wb_png_read(wb_png *self, const uint8_t **row, wb_image_status *status) {
    if (self->is_over) return after_end(self, status);
    if (setjmp(self->jump)) {
        // No pixel is missing if the file ends after the last row.
        self->is_end_missing = self->is_finishing && self->status.outcome == wb_image_truncated;
        self->is_over = 1;
        return after_end(self, status);
    }
    if (self->passes > 1 && self->pass < self->passes && !read_passes(self)) return 2;
    if (self->next_row == self->height) {
        self->is_over = 1;
        self->is_finishing = 1;
        png_read_end(self->png, NULL);
        return 0;
    }
    if (self->passes > 1) {
        *row = self->row + self->row_bytes * self->next_row;
    } else {
        png_read_row(self->png, self->row, NULL);
        *row = self->row;
    }
    self->next_row++;
    return 1;
}

void wb_png_close(wb_png *self) {
    if (self->png) png_destroy_read_struct(&self->png, &self->info, NULL);
    free(self->row);
    free(self);
}

#endif
