#include "guard.h"

#include <stdlib.h>
#include <string.h>

enum {
    most_rows = 32,   // MAX_SAMP_FACTOR * DCTSIZE: one row group of a plane
    packed_rows = 16, // rows read per call if libjpeg converts colors
};

struct wb_jpeg_decoder {
    struct jpeg_decompress_struct info;
    struct wb_guard guard;
    struct wb_watch watch;
    int is_packed; // libjpeg upsamples and returns RGB or CMYK, which is split into planes here
    int plane_count;
    int is_over;
    wb_jpeg_plane_shape shapes[3];
    int rows_given[3], rows_here[3];
    uint8_t *samples[3];
    JSAMPROW rows[3][most_rows];
    JSAMPARRAY groups[3];
    uint8_t *packed;
};

static void prepare_raw(struct wb_jpeg_decoder *decoder) {
    j_decompress_ptr info = &decoder->info;
    decoder->plane_count = info->num_components;
    for (int plane = 0; plane < decoder->plane_count; plane++) {
        jpeg_component_info *component = &info->comp_info[plane];
        int size = component->DCT_scaled_size;
        size_t across = component->width_in_blocks + component->h_samp_factor;
        size_t stride = (across * size + 63) & ~(size_t)63;
        int count = component->v_samp_factor * size;
        decoder->samples[plane] = malloc(stride * count);
        if (!decoder->samples[plane]) wb_guard_leave((j_common_ptr)info, wb_jpeg_memory_exceeded);
        for (int row = 0; row < count; row++) decoder->rows[plane][row] = decoder->samples[plane] + stride * row;
        decoder->groups[plane] = decoder->rows[plane];
        decoder->shapes[plane] = (wb_jpeg_plane_shape){
            .width = component->downsampled_width,
            .height = component->downsampled_height,
            .pitch_x = 8.0 * info->max_h_samp_factor / (component->h_samp_factor * size),
            .pitch_y = 8.0 * info->max_v_samp_factor / (component->v_samp_factor * size),
        };
    }
}

static void prepare_packed(struct wb_jpeg_decoder *decoder) {
    j_decompress_ptr info = &decoder->info;
    decoder->plane_count = 3;
    size_t width = info->output_width;
    decoder->packed = malloc(width * info->output_components);
    if (!decoder->packed) wb_guard_leave((j_common_ptr)info, wb_jpeg_memory_exceeded);
    for (int plane = 0; plane < 3; plane++) {
        decoder->samples[plane] = malloc(width * packed_rows);
        if (!decoder->samples[plane]) wb_guard_leave((j_common_ptr)info, wb_jpeg_memory_exceeded);
        for (int row = 0; row < packed_rows; row++) decoder->rows[plane][row] = decoder->samples[plane] + width * row;
        double pitch = (double)info->scale_denom / info->scale_num;
        decoder->shapes[plane] = (wb_jpeg_plane_shape){
            .width = info->output_width, .height = info->output_height, .pitch_x = pitch, .pitch_y = pitch};
    }
}

// Must be called within the guard.
static void start(struct wb_jpeg_decoder *decoder, const uint8_t *bytes, size_t count, int32_t eighths,
                  size_t max_memory) {
    j_decompress_ptr info = &decoder->info;
    jpeg_mem_src(info, bytes, count);
    info->mem->max_memory_to_use = (long)max_memory;
    jpeg_read_header(info, TRUE);
    J_COLOR_SPACE space = info->jpeg_color_space;
    decoder->is_packed = !(space == JCS_GRAYSCALE || space == JCS_YCbCr);
    info->raw_data_out = !decoder->is_packed;
    if (info->raw_data_out) info->out_color_space = space;
    if (decoder->is_packed) info->out_color_space = info->num_components == 4 ? JCS_CMYK : JCS_RGB;
    info->scale_num = eighths;
    info->scale_denom = 8;
    jpeg_start_decompress(info);
    wb_guard_check_scans(info);
    if (decoder->is_packed) prepare_packed(decoder);
    else prepare_raw(decoder);
}

wb_jpeg_decoder *wb_jpeg_decoder_open(const uint8_t *bytes, size_t count, int32_t eighths, int32_t max_scans,
                                      size_t max_memory, const wb_jpeg_flag *flag, wb_jpeg_status *status) {
    struct wb_jpeg_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder) {
        memset(status, 0, sizeof *status);
        status->outcome = wb_jpeg_memory_exceeded;
        return NULL;
    }
    decoder->info.err = wb_guard_prepare(&decoder->guard);
    if (setjmp(decoder->guard.jump)) {
        *status = decoder->guard.status;
        wb_jpeg_decoder_close(decoder);
        return NULL;
    }
    jpeg_create_decompress(&decoder->info);
    wb_watch_install((j_common_ptr)&decoder->info, &decoder->watch, flag, max_scans);
    start(decoder, bytes, count, eighths, max_memory);
    *status = decoder->guard.status;
    return decoder;
}

static void convert_row(struct wb_jpeg_decoder *decoder, int row) {
    uint8_t *pixels = decoder->packed;
    unsigned width = decoder->info.output_width;
    if (decoder->info.out_color_space == JCS_CMYK) {
        // Photoshop stores inverted ink values and adds an Adobe segment; other programs store them directly.
        int flip = decoder->info.saw_Adobe_marker ? 0 : 255;
        const uint8_t *from = pixels;
        uint8_t *to = pixels;
        for (unsigned x = 0; x < width; x++, from += 4, to += 3) {
            // The light that the inks leave of white paper: (255 - C)(255 - K) / 255, rounded.
            int black = from[3] ^ flip;
            for (int ink = 0; ink < 3; ink++) to[ink] = (uint8_t)(((from[ink] ^ flip) * black * 2 + 255) / 510);
        }
    }
    wb_jpeg_split_pixels(pixels, (int32_t)width, 3, decoder->rows[0][row], decoder->rows[1][row],
                         decoder->rows[2][row]);
}

// Must be called within the guard.
static void take_rows(struct wb_jpeg_decoder *decoder) {
    j_decompress_ptr info = &decoder->info;
    if (decoder->is_packed) {
        int row = 0;
        while (row < packed_rows && info->output_scanline < info->output_height) {
            JSAMPROW line = decoder->packed;
            if (jpeg_read_scanlines(info, &line, 1) == 1) convert_row(decoder, row++);
        }
        for (int plane = 0; plane < 3; plane++) decoder->rows_here[plane] = row;
        return;
    }
    jpeg_read_raw_data(info, decoder->groups, info->max_v_samp_factor * info->min_DCT_scaled_size);
    for (int plane = 0; plane < decoder->plane_count; plane++) {
        jpeg_component_info *component = &info->comp_info[plane];
        int count = component->v_samp_factor * component->DCT_scaled_size;
        int left = decoder->shapes[plane].height - decoder->rows_given[plane];
        decoder->rows_here[plane] = count < left ? count : left;
        decoder->rows_given[plane] += decoder->rows_here[plane];
    }
}

int32_t wb_jpeg_decoder_read(wb_jpeg_decoder *decoder, wb_jpeg_status *status) {
    if (decoder->is_over) {
        *status = decoder->guard.status;
        return decoder->guard.status.outcome == wb_jpeg_ok ? 0 : -1;
    }
    if (setjmp(decoder->guard.jump)) {
        decoder->is_over = 1;
        *status = decoder->guard.status;
        return -1;
    }
    j_common_ptr common = (j_common_ptr)&decoder->info;
    if (wb_jpeg_flag_is_raised(decoder->watch.flag)) wb_guard_leave(common, wb_jpeg_stopped);
    int has_more = decoder->info.output_scanline < decoder->info.output_height;
    if (has_more) {
        take_rows(decoder);
    } else {
        // Reads to the end of the image, so that data missing after the last row is detected, too.
        jpeg_finish_decompress(&decoder->info);
        decoder->is_over = 1;
    }
    *status = decoder->guard.status;
    return has_more;
}

int32_t wb_jpeg_decoder_plane_count(const wb_jpeg_decoder *decoder) { return decoder->plane_count; }

wb_jpeg_plane_shape wb_jpeg_decoder_shape(const wb_jpeg_decoder *decoder, int32_t plane) {
    return decoder->shapes[plane];
}

int32_t wb_jpeg_decoder_row_count(const wb_jpeg_decoder *decoder, int32_t plane) { return decoder->rows_here[plane]; }

const uint8_t *wb_jpeg_decoder_row(const wb_jpeg_decoder *decoder, int32_t plane, int32_t row) {
    return decoder->rows[plane][row];
}

wb_jpeg_status wb_jpeg_decoder_status(const wb_jpeg_decoder *decoder) { return decoder->guard.status; }

void wb_jpeg_decoder_close(wb_jpeg_decoder *decoder) {
    jpeg_destroy_decompress(&decoder->info);
    for (int plane = 0; plane < 3; plane++) free(decoder->samples[plane]);
    free(decoder->packed);
    free(decoder);
}
