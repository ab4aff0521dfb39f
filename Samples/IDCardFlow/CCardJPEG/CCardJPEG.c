#include "CCardJPEG.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

struct failure {
    struct jpeg_error_mgr base; // first member: a pointer to it is also a pointer to the struct
    jmp_buf back;
    char *message;
    size_t room;
};

static void fail(j_common_ptr codec) {
    struct failure *failure = (struct failure *)codec->err;
    char text[JMSG_LENGTH_MAX];
    codec->err->format_message(codec, text);
    snprintf(failure->message, failure->room, "%s", text);
    longjmp(failure->back, 1);
}

int ccard_encode(
    const uint8_t *pixels, int width, int height, int quality, const uint8_t *app1, size_t app1_count, uint8_t **bytes,
    size_t *count, char *message, size_t message_room) {
    struct jpeg_compress_struct encoder;
    struct failure failure = {.message = message, .room = message_room};
    // On the heap, because longjmp makes modified local variables indeterminate.
    struct {
        unsigned char *start;
        unsigned long size;
    } volatile *output = calloc(1, sizeof *output);
    if (!output) return -1;
    memset(&encoder, 0, sizeof encoder);
    encoder.err = jpeg_std_error(&failure.base);
    failure.base.error_exit = fail;
    if (setjmp(failure.back)) {
        jpeg_destroy_compress(&encoder);
        free(output->start);
        free((void *)output);
        return -1;
    }

    jpeg_create_compress(&encoder);
    jpeg_mem_dest(&encoder, (unsigned char **)&output->start, (unsigned long *)&output->size);
    encoder.image_width = (JDIMENSION)width;
    encoder.image_height = (JDIMENSION)height;
    encoder.input_components = 3;
    encoder.in_color_space = JCS_RGB;
    jpeg_set_defaults(&encoder);
    jpeg_set_quality(&encoder, quality, TRUE);
    encoder.write_JFIF_header = FALSE; // like a camera: Exif follows SOI immediately
    jpeg_start_compress(&encoder, TRUE);
    jpeg_write_marker(&encoder, JPEG_APP0 + 1, app1, (unsigned)app1_count);
    while (encoder.next_scanline < encoder.image_height) {
        JSAMPROW row = (JSAMPROW)(pixels + (size_t)encoder.next_scanline * (size_t)width * 3);
        jpeg_write_scanlines(&encoder, &row, 1);
    }
    jpeg_finish_compress(&encoder);
    jpeg_destroy_compress(&encoder);
    *bytes = output->start;
    *count = output->size;
    free((void *)output);
    return 0;
}
