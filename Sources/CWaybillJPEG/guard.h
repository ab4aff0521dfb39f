// Shared by the files that call libjpeg: an error manager that jumps instead of exiting.
#pragma once

#include <setjmp.h>
#include <stdio.h>
// jpeglib.h needs FILE and size_t before it.
#include <jpeglib.h>

#include "CWaybillJPEG.h"

struct wb_guard {
    struct jpeg_error_mgr base; // must be first: libjpeg's pointer is cast back
    jmp_buf jump;
    wb_jpeg_status status;
};

// A progress monitor with the values that it checks.
struct wb_watch {
    struct jpeg_progress_mgr base; // must be first
    const wb_jpeg_flag *flag;
    int max_scans;
};

struct jpeg_error_mgr *wb_guard_prepare(struct wb_guard *guard);
void wb_watch_install(j_common_ptr info, struct wb_watch *watch, const wb_jpeg_flag *flag, int max_scans);
// Jumps with the given outcome. Call only within a function that has set the guard's jump.
_Noreturn void wb_guard_leave(j_common_ptr info, int outcome);
// Records a truncated file if its end is missing and any of its scans may be. Call when all scans have been read.
void wb_guard_check_scans(j_decompress_ptr info);
// Applies one of the scan scripts to a compressor whose components are set.
void wb_script_apply(j_compress_ptr info, int script, jpeg_scan_info *room);
