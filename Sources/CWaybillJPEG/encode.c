#include "sink.h"

#include <stdlib.h>
#include <string.h>

static const int natural_of_zigzag[64] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
};

static jpeg_scan_info scan(int component, int first, int last, int high, int low) {
    jpeg_scan_info scan = {.comps_in_scan = 1, .Ss = first, .Se = last, .Ah = high, .Al = low};
    scan.component_index[0] = component;
    return scan;
}

void wb_script_apply(j_compress_ptr info, int script, jpeg_scan_info *room) {
    if (script == wb_jpeg_script_library) {
        jpeg_simple_progression(info);
        return;
    }
    int count = 0;
    jpeg_scan_info dc = {.comps_in_scan = info->num_components};
    for (int index = 0; index < info->num_components; index++) dc.component_index[index] = index;
    room[count++] = dc;
    int split = script == wb_jpeg_script_wide ? 12 : 8;
    int low = script == wb_jpeg_script_split ? 2 : script == wb_jpeg_script_wide ? 1 : 0;
    room[count++] = scan(0, 1, split, 0, low);
    room[count++] = scan(0, split + 1, 63, 0, low);
    for (; low > 0; low--) room[count++] = scan(0, 1, 63, low, low - 1);
    for (int index = 1; index < info->num_components; index++) room[count++] = scan(index, 1, 63, 0, 0);
    info->scan_info = room;
    info->num_scans = count;
}

static size_t rounded_up(int count, int unit) { return (size_t)((count + unit - 1) / unit) * unit; }

struct wb_jpeg_writer {
    struct jpeg_compress_struct info;
    struct wb_guard guard;
    struct wb_watch watch;
    jvirt_barray_ptr arrays[MAX_COMPONENTS];
    int blocks_across[MAX_COMPONENTS], blocks_down[MAX_COMPONENTS];
    jpeg_scan_info scans[10];
    struct wb_sink sink;
};

// Must be called within the guard.
static void begin(wb_jpeg_writer *writer, int32_t width, int32_t height, const wb_jpeg_component *components,
                  int32_t component_count, const uint16_t *table, int32_t script) {
    j_compress_ptr info = &writer->info;
    wb_sink_install(info, &writer->sink);
    info->image_width = width;
    info->image_height = height;
    info->input_components = component_count;
    info->in_color_space = component_count == 1 ? JCS_GRAYSCALE : JCS_YCbCr;
    jpeg_set_defaults(info);
    jpeg_set_colorspace(info, info->in_color_space);
    unsigned int entries[64];
    for (int k = 0; k < 64; k++) entries[k] = table[k];
    jpeg_add_quant_table(info, 0, entries, 100, TRUE);
    for (int index = 0; index < component_count; index++) {
        jpeg_component_info *component = &info->comp_info[index];
        component->quant_tbl_no = 0;
        component->h_samp_factor = components[index].horizontal;
        component->v_samp_factor = components[index].vertical;
        writer->blocks_across[index] = components[index].blocks_across;
        writer->blocks_down[index] = components[index].blocks_down;
        writer->arrays[index] = info->mem->request_virt_barray(
            (j_common_ptr)info, JPOOL_IMAGE, TRUE,
            rounded_up(components[index].blocks_across, components[index].horizontal),
            rounded_up(components[index].blocks_down, components[index].vertical), components[index].vertical);
    }
    info->optimize_coding = TRUE;
    wb_script_apply(info, script, writer->scans);
    jpeg_write_coefficients(info, writer->arrays);
}

wb_jpeg_writer *wb_jpeg_writer_open(int32_t width, int32_t height, const wb_jpeg_component *components,
                                    int32_t component_count, const uint16_t *table, int32_t script,
                                    const wb_jpeg_flag *flag, wb_jpeg_status *status) {
    memset(status, 0, sizeof *status);
    wb_jpeg_writer *writer = calloc(1, sizeof *writer);
    if (!writer) {
        status->outcome = wb_jpeg_memory_exceeded;
        return NULL;
    }
    writer->info.err = wb_guard_prepare(&writer->guard);
    if (setjmp(writer->guard.jump)) {
        *status = writer->guard.status;
        wb_jpeg_writer_close(writer);
        return NULL;
    }
    jpeg_create_compress(&writer->info);
    wb_watch_install((j_common_ptr)&writer->info, &writer->watch, flag, 0);
    begin(writer, width, height, components, component_count, table, script);
    return writer;
}

int32_t wb_jpeg_writer_put(wb_jpeg_writer *writer, int32_t component, int32_t row, const int16_t *levels,
                           wb_jpeg_status *status) {
    j_common_ptr common = (j_common_ptr)&writer->info;
    if (setjmp(writer->guard.jump) == 0 && row < writer->blocks_down[component]) {
        JBLOCKARRAY rows =
            writer->info.mem->access_virt_barray(common, writer->arrays[component], (JDIMENSION)row, 1, TRUE);
        for (int across = 0; across < writer->blocks_across[component]; across++, levels += 64) {
            JCOEFPTR block = rows[0][across];
            for (int k = 0; k < 64; k++) block[natural_of_zigzag[k]] = levels[k];
        }
    }
    *status = writer->guard.status;
    return status->outcome;
}

int32_t wb_jpeg_writer_finish(wb_jpeg_writer *writer, wb_jpeg_bytes *bytes, wb_jpeg_status *status) {
    memset(bytes, 0, sizeof *bytes);
    if (setjmp(writer->guard.jump) == 0) jpeg_finish_compress(&writer->info);
    *status = writer->guard.status;
    if (status->outcome == wb_jpeg_ok) {
        bytes->start = writer->sink.bytes;
        bytes->count = writer->sink.count;
        writer->sink.bytes = NULL;
    }
    return status->outcome;
}

void wb_jpeg_writer_close(wb_jpeg_writer *writer) {
    jpeg_destroy_compress(&writer->info);
    free(writer->sink.bytes);
    free(writer);
}

int32_t wb_jpeg_write(int32_t width, int32_t height, const wb_jpeg_component *components, int32_t component_count,
                      const uint16_t *table, int32_t script, const wb_jpeg_flag *flag, wb_jpeg_bytes *bytes,
                      wb_jpeg_status *status) {
    memset(bytes, 0, sizeof *bytes);
    wb_jpeg_writer *writer =
        wb_jpeg_writer_open(width, height, components, component_count, table, script, flag, status);
    if (!writer) return status->outcome;
    for (int index = 0; index < component_count; index++) {
        const wb_jpeg_component *component = &components[index];
        for (int row = 0; row < component->blocks_down && component->levels; row++) {
            const int16_t *levels = component->levels + (size_t)row * component->blocks_across * 64;
            if (wb_jpeg_writer_put(writer, index, row, levels, status) != wb_jpeg_ok) break;
        }
    }
    if (status->outcome == wb_jpeg_ok) wb_jpeg_writer_finish(writer, bytes, status);
    wb_jpeg_writer_close(writer);
    return status->outcome;
}
