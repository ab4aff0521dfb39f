#include "guard.h"

#include <jerror.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct wb_jpeg_flag {
    atomic_int raised;
};

wb_jpeg_flag *wb_jpeg_flag_create(void) {
    wb_jpeg_flag *flag = malloc(sizeof *flag);
    if (flag) atomic_init(&flag->raised, 0);
    return flag;
}

void wb_jpeg_flag_raise(wb_jpeg_flag *flag) { atomic_store_explicit(&flag->raised, 1, memory_order_release); }

int32_t wb_jpeg_flag_is_raised(const wb_jpeg_flag *flag) {
    return atomic_load_explicit(&((wb_jpeg_flag *)flag)->raised, memory_order_acquire);
}

void wb_jpeg_flag_destroy(wb_jpeg_flag *flag) { free(flag); }

void wb_jpeg_bytes_free(wb_jpeg_bytes bytes) { free(bytes.start); }

static void keep_message(j_common_ptr info) {
    struct wb_guard *guard = (struct wb_guard *)info->err;
    char text[JMSG_LENGTH_MAX];
    guard->base.format_message(info, text);
    strncpy(guard->status.message, text, sizeof guard->status.message - 1);
}

static void error_exit(j_common_ptr info) {
    struct wb_guard *guard = (struct wb_guard *)info->err;
    int code = guard->base.msg_code;
    guard->status.code = code;
    keep_message(info);
    // The two out-of-memory errors of the memory manager: more than max_memory_to_use, and a failed malloc.
    int memory = code == JERR_NO_BACKING_STORE || code == JERR_OUT_OF_MEMORY || code == JERR_WIDTH_OVERFLOW;
    if (code == JERR_INPUT_EOF || code == JERR_INPUT_EMPTY || guard->status.is_end_missing)
        guard->status.is_truncated = 1;
    guard->status.outcome = memory ? wb_jpeg_memory_exceeded : wb_jpeg_failed;
    if (code == JERR_BAD_DCT_COEF) guard->status.outcome = wb_jpeg_not_writable;
    longjmp(guard->jump, 1);
}

enum { max_stray_bytes = 64, max_stray_bytes_after_data = 9 };

// Some cameras leave a few bytes between segments, and some webcams 1 to 9 before restart markers. A larger number after
// image data is data that was skipped because preceding data is damaged: without restart markers, bytes that are left at
// the end are the only sign. A restart marker out of order has its own warning.
static int is_padding(struct wb_guard *guard, j_decompress_ptr info) {
    int count = guard->base.msg_parm.i[0];
    if (info->input_scan_number > 0 && count > max_stray_bytes_after_data) return 0;
    if (guard->status.stray_bytes + count > max_stray_bytes) return 0;
    guard->status.stray_bytes += count;
    return 1;
}

static void emit_message(j_common_ptr info, int level) {
    if (level >= 0) return;
    struct wb_guard *guard = (struct wb_guard *)info->err;
    int code = guard->base.msg_code;
    // These warnings concern header values that do not affect pixels.
    if (code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM || code == JWRN_NOT_SEQUENTIAL) return;
    if (code == JWRN_EXTRANEOUS_DATA && is_padding(guard, (j_decompress_ptr)info)) return;
    // libjpeg continues as if the file had an EOI marker. If image data is missing, Huffman decoding warns again;
    // arithmetic decoding reads zeros.
    if (code == JWRN_JPEG_EOF) {
        guard->status.is_end_missing = 1;
        if (!((j_decompress_ptr)info)->arith_code) return;
    }
    if (guard->status.is_end_missing) guard->status.is_truncated = 1;
    if (guard->status.damage_warnings++ == 0) {
        guard->status.code = code;
        keep_message(info);
    }
}

// Returns whether the file has all its scans, if it ended at the end of a scan.
static int has_all_scans(j_decompress_ptr info) {
    if (!jpeg_has_multiple_scans(info)) return 1;
    if (!info->progressive_mode || !info->coef_bits) return 0;
    // The number of bits of each coefficient that are still missing; -1 for a coefficient of which nothing was read.
    for (int component = 0; component < info->num_components; component++) {
        for (int index = 0; index < DCTSIZE2; index++) {
            if (info->coef_bits[component][index] != 0) return 0;
        }
    }
    return 1;
}

void wb_guard_check_scans(j_decompress_ptr info) {
    struct wb_guard *guard = (struct wb_guard *)info->err;
    if (guard->status.is_end_missing && !has_all_scans(info)) guard->status.is_truncated = 1;
}

static void output_message(j_common_ptr info) { (void)info; }

struct jpeg_error_mgr *wb_guard_prepare(struct wb_guard *guard) {
    memset(guard, 0, sizeof *guard);
    struct jpeg_error_mgr *manager = jpeg_std_error(&guard->base);
    manager->error_exit = error_exit;
    manager->emit_message = emit_message;
    manager->output_message = output_message;
    return manager;
}

_Noreturn void wb_guard_leave(j_common_ptr info, int outcome) {
    struct wb_guard *guard = (struct wb_guard *)info->err;
    guard->status.outcome = outcome;
    longjmp(guard->jump, 1);
}

static void watch(j_common_ptr info) {
    struct wb_watch *watch = (struct wb_watch *)info->progress;
    if (wb_jpeg_flag_is_raised(watch->flag)) wb_guard_leave(info, wb_jpeg_stopped);
    if (info->is_decompressor && ((j_decompress_ptr)info)->input_scan_number > watch->max_scans)
        wb_guard_leave(info, wb_jpeg_scans_exceeded);
}

void wb_watch_install(j_common_ptr info, struct wb_watch *monitor, const wb_jpeg_flag *flag, int max_scans) {
    memset(monitor, 0, sizeof *monitor);
    monitor->base.progress_monitor = watch;
    monitor->flag = flag;
    monitor->max_scans = max_scans;
    info->progress = &monitor->base;
}
