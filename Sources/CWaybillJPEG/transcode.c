#include "sink.h"

#include <stdlib.h>
#include <string.h>

struct transcoder {
    struct jpeg_decompress_struct source;
    struct jpeg_compress_struct target;
    struct wb_guard guard; // shared by both, so that either can jump
    struct wb_watch source_watch, target_watch;
    jvirt_barray_ptr arrays[MAX_COMPONENTS];
    jpeg_scan_info scans[10];
    struct wb_sink sink;
    int is_transposed, mirrors_x, mirrors_y; // the axes of the source
};

static size_t rounded_up(size_t count, int unit) { return (count + unit - 1) / unit * unit; }

// Mirroring an axis negates the odd frequencies along it; a transposition swaps rows and columns.
static void turn_block(const struct transcoder *job, JCOEFPTR from, JCOEFPTR to) {
    for (int v = 0; v < 8; v++) {
        for (int u = 0; u < 8; u++) {
            int row = job->is_transposed ? u : v, column = job->is_transposed ? v : u;
            int is_negative = (job->mirrors_x & column & 1) ^ (job->mirrors_y & row & 1);
            JCOEF value = from[row * 8 + column];
            to[v * 8 + u] = is_negative ? -value : value;
        }
    }
}

static void turn_component(struct transcoder *job, int index, jvirt_barray_ptr from, jvirt_barray_ptr to) {
    jpeg_component_info *component = &job->source.comp_info[index];
    unsigned across = component->width_in_blocks, down = component->height_in_blocks;
    unsigned out_across = job->is_transposed ? down : across, out_down = job->is_transposed ? across : down;
    for (unsigned y = 0; y < out_down; y++) {
        JBLOCKARRAY out = job->target.mem->access_virt_barray((j_common_ptr)&job->target, to, y, 1, TRUE);
        for (unsigned x = 0; x < out_across; x++) {
            unsigned column = job->is_transposed ? y : x, row = job->is_transposed ? x : y;
            if (job->mirrors_x) column = across - 1 - column;
            if (job->mirrors_y) row = down - 1 - row;
            JBLOCKARRAY in = job->source.mem->access_virt_barray((j_common_ptr)&job->source, from, row, 1, FALSE);
            turn_block(job, in[0][column], out[0][x]);
        }
    }
}

// Swaps the parameters affected by a transposition, and requests arrays for the transformed coefficients.
static void prepare_turning(struct transcoder *job) {
    j_compress_ptr target = &job->target;
    if (job->is_transposed) {
        target->image_width = job->source.image_height;
        target->image_height = job->source.image_width;
        for (int slot = 0; slot < NUM_QUANT_TBLS; slot++) {
            JQUANT_TBL *table = target->quant_tbl_ptrs[slot];
            if (!table) continue;
            for (int v = 0; v < 8; v++) {
                for (int u = 0; u < v; u++) {
                    UINT16 entry = table->quantval[v * 8 + u];
                    table->quantval[v * 8 + u] = table->quantval[u * 8 + v];
                    table->quantval[u * 8 + v] = entry;
                }
            }
        }
    }
    for (int index = 0; index < target->num_components; index++) {
        jpeg_component_info *from = &job->source.comp_info[index], *to = &target->comp_info[index];
        size_t across = from->width_in_blocks, down = from->height_in_blocks;
        if (job->is_transposed) {
            to->h_samp_factor = from->v_samp_factor;
            to->v_samp_factor = from->h_samp_factor;
            across = from->height_in_blocks;
            down = from->width_in_blocks;
        }
        job->arrays[index] = target->mem->request_virt_barray(
            (j_common_ptr)target, JPOOL_IMAGE, TRUE, rounded_up(across, to->h_samp_factor),
            rounded_up(down, to->v_samp_factor), to->v_samp_factor);
    }
}

// Must be called within the guard.
static void transcode(struct transcoder *job, const uint8_t *input, size_t count, int32_t orientation, int32_t script,
                      size_t max_memory) {
    j_decompress_ptr source = &job->source;
    j_compress_ptr target = &job->target;
    jpeg_mem_src(source, input, count);
    source->mem->max_memory_to_use = (long)max_memory;
    jpeg_read_header(source, TRUE);
    jvirt_barray_ptr *coefficients = jpeg_read_coefficients(source);
    wb_guard_check_scans(source);
    wb_sink_install(target, &job->sink);
    jpeg_copy_critical_parameters(source, target);
    target->optimize_coding = TRUE;
    target->write_JFIF_header = TRUE;
    target->write_Adobe_marker = FALSE;
    // libjpeg copies the pixel density of the source, which is metadata, too.
    target->density_unit = 0;
    target->X_density = target->Y_density = 1;
    target->JFIF_major_version = target->JFIF_minor_version = 1;
    int is_turned = orientation != 1;
    if (is_turned) prepare_turning(job);
    wb_script_apply(target, script, job->scans);
    jpeg_write_coefficients(target, is_turned ? job->arrays : coefficients);
    if (is_turned) {
        for (int index = 0; index < target->num_components; index++)
            turn_component(job, index, coefficients[index], job->arrays[index]);
    }
    jpeg_finish_compress(target);
    jpeg_finish_decompress(source);
}

int32_t wb_jpeg_transcode(const uint8_t *input, size_t count, int32_t orientation, int32_t script, int32_t max_scans,
                          size_t max_memory, const wb_jpeg_flag *flag, wb_jpeg_bytes *bytes, wb_jpeg_status *status) {
    memset(bytes, 0, sizeof *bytes);
    memset(status, 0, sizeof *status);
    struct transcoder *job = calloc(1, sizeof *job);
    if (!job) return status->outcome = wb_jpeg_memory_exceeded;
    job->source.err = job->target.err = wb_guard_prepare(&job->guard);
    job->is_transposed = orientation >= 5;
    job->mirrors_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    job->mirrors_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    if (setjmp(job->guard.jump) == 0) {
        jpeg_create_decompress(&job->source);
        jpeg_create_compress(&job->target);
        wb_watch_install((j_common_ptr)&job->source, &job->source_watch, flag, max_scans);
        wb_watch_install((j_common_ptr)&job->target, &job->target_watch, flag, 0);
        transcode(job, input, count, orientation, script, max_memory);
    }
    *status = job->guard.status;
    jpeg_destroy_compress(&job->target);
    jpeg_destroy_decompress(&job->source);
    if (status->outcome == wb_jpeg_ok) {
        bytes->start = job->sink.bytes;
        bytes->count = job->sink.count;
    } else {
        free(job->sink.bytes);
    }
    int32_t outcome = status->outcome;
    free(job);
    return outcome;
}
