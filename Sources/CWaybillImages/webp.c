#ifdef WAYBILL_IMAGES

#include "CWaybillImages.h"

#include <stdlib.h>
#include <string.h>
#include <webp/decode.h>
#include <webp/demux.h>

struct wb_webp {
    WebPDecoderConfig config;
    WebPIDecoder *decoder;
    const uint8_t *bytes;
    size_t count, given;
    int32_t rows;
};

// The first call. Each further call gets twice as much, because libwebp begins with the header of a lossless image anew
// until it is complete, and that header can be most of the file.
enum { first_bytes = 32 << 10 };

static void explain(VP8StatusCode code, wb_image_status *status) {
    const char *text = "the data is damaged";
    status->outcome = wb_image_failed;
    if (code == VP8_STATUS_OUT_OF_MEMORY) {
        status->outcome = wb_image_memory_exceeded;
        text = "out of memory";
    } else if (code == VP8_STATUS_SUSPENDED || code == VP8_STATUS_NOT_ENOUGH_DATA) {
        status->outcome = wb_image_truncated;
        text = "the data ends early";
    } else if (code == VP8_STATUS_UNSUPPORTED_FEATURE) {
        text = "an unknown feature";
    }
    strncpy(status->message, text, sizeof status->message - 1);
}

static wb_webp_range chunk(const WebPDemuxer *demuxer, const char *name, const uint8_t *bytes) {
    WebPChunkIterator iterator;
    wb_webp_range range = {0, 0};
    if (WebPDemuxGetChunk(demuxer, name, 1, &iterator))
        range = (wb_webp_range){(size_t)(iterator.chunk.bytes - bytes), iterator.chunk.size};
    WebPDemuxReleaseChunkIterator(&iterator);
    return range;
}

// The length of the file by its header.
static size_t declared_length(const uint8_t *bytes, size_t count) {
    if (count < 8) return 8;
    return 8 + ((size_t)bytes[4] | (size_t)bytes[5] << 8 | (size_t)bytes[6] << 16 | (size_t)bytes[7] << 24);
}

int32_t wb_webp_inspect(const uint8_t *bytes, size_t count, wb_webp_info *info, wb_image_status *status) {
    memset(info, 0, sizeof *info);
    memset(status, 0, sizeof *status);
    const WebPData data = {bytes, count};
    WebPDemuxState state;
    WebPDemuxer *demuxer = WebPDemuxPartial(&data, &state);
    WebPIterator frame = {0};
    VP8StatusCode code = VP8_STATUS_NOT_ENOUGH_DATA;
    if (state == WEBP_DEMUX_PARSE_ERROR) code = VP8_STATUS_BITSTREAM_ERROR;
    const size_t end = declared_length(bytes, count);
    // Some programs do not write the byte that pads the last chunk. Without more of the end, an orientation may be missing.
    if (demuxer && end <= count + 1 && WebPDemuxGetFrame(demuxer, 1, &frame)) {
        WebPBitstreamFeatures features;
        code = WebPGetFeatures(frame.fragment.bytes, frame.fragment.size, &features);
        if (code == VP8_STATUS_OK && !frame.complete) code = VP8_STATUS_NOT_ENOUGH_DATA;
        int width = (int)WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_WIDTH);
        int height = (int)WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_HEIGHT);
        if (frame.x_offset < 0 || frame.y_offset < 0 || features.width > width - frame.x_offset ||
            features.height > height - frame.y_offset)
            code = VP8_STATUS_BITSTREAM_ERROR;
        *info = (wb_webp_info){
            .width = width, .height = height, .has_alpha = frame.has_alpha,
            .is_lossless = features.format == 2, .is_animation = frame.num_frames > 1,
            .left = frame.x_offset, .top = frame.y_offset,
            .frame_width = features.width, .frame_height = features.height,
            .frame = {(size_t)(frame.fragment.bytes - bytes), frame.fragment.size},
            .profile = chunk(demuxer, "ICCP", bytes), .exif = chunk(demuxer, "EXIF", bytes),
            .xmp = chunk(demuxer, "XMP ", bytes), .end = end,
        };
        WebPDemuxReleaseIterator(&frame);
    }
    if (demuxer) WebPDemuxDelete(demuxer);
    if (code == VP8_STATUS_OK) return 0;
    explain(code, status);
    return -1;
}

wb_webp *wb_webp_open(const uint8_t *bytes, size_t count, int32_t width, int32_t height, int32_t has_alpha,
                      wb_image_status *status) {
    struct wb_webp *self = calloc(1, sizeof *self);
    memset(status, 0, sizeof *status);
    if (!self || !WebPInitDecoderConfig(&self->config)) {
        explain(VP8_STATUS_OUT_OF_MEMORY, status);
        free(self);
        return NULL;
    }
    self->bytes = bytes;
    self->count = count;
    VP8StatusCode code = WebPGetFeatures(bytes, count, &self->config.input);
    if (code == VP8_STATUS_OK) {
        WebPDecoderOptions *options = &self->config.options;
        options->use_scaling = width != self->config.input.width || height != self->config.input.height;
        options->scaled_width = width;
        options->scaled_height = height;
        self->config.output.colorspace = has_alpha ? MODE_RGBA : MODE_RGB;
        self->decoder = WebPIDecode(NULL, 0, &self->config);
        if (self->decoder) return self;
        code = VP8_STATUS_OUT_OF_MEMORY;
    }
    explain(code, status);
    wb_webp_close(self);
    return NULL;
}

int32_t wb_webp_read(wb_webp *self, int32_t *rows, wb_image_status *status) {
    size_t next = self->given ? 2 * self->given : first_bytes;
    self->given = next < self->count ? next : self->count;
    VP8StatusCode code = WebPIUpdate(self->decoder, self->bytes, self->given);
    int last = 0;
    if (WebPIDecGetRGB(self->decoder, &last, NULL, NULL, NULL)) self->rows = last;
    *rows = self->rows;
    if (code == VP8_STATUS_OK) return 0;
    if (code == VP8_STATUS_SUSPENDED && self->given < self->count) return 1;
    explain(code, status);
    return -1;
}

const uint8_t *wb_webp_row(const wb_webp *self, int32_t row) {
    const WebPRGBABuffer *buffer = &self->config.output.u.RGBA;
    return buffer->rgba + (size_t)buffer->stride * row;
}

void wb_webp_close(wb_webp *self) {
    if (self->decoder) WebPIDelete(self->decoder);
    WebPFreeDecBuffer(&self->config.output);
    free(self);
}

#endif
