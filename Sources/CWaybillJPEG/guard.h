// Shared by the files that call libjpeg: an error manager that jumps instead of exiting.
#pragma once

#include <setjmp.h>
#include <stdio.h>
// jpeglib.h needs FILE and size_t before it.
#include <jpeglib.h>

#include "CWaybillJPEG.h"

struct wb_guard {
    struct jpeg_error_mgr base; // first, so that libjpeg's pointer is ours
    jmp_buf jump;
    wb_jpeg_trouble trouble;
};

// What a progress monitor watches.
struct wb_watch {
    struct jpeg_progress_mgr base; // first
    const wb_jpeg_flag *flag;
    int max_scans;
};

struct jpeg_error_mgr *wb_guard_prepare(struct wb_guard *guard);
void wb_watch_install(j_common_ptr info, struct wb_watch *watch, const wb_jpeg_flag *flag, int max_scans);
// Jumps with this outcome. Only inside a call that has set the guard's jump.
_Noreturn void wb_guard_leave(j_common_ptr info, int outcome);
// Applies one of the scan scripts to a compressor whose components are set.
void wb_script_apply(j_compress_ptr info, int script, jpeg_scan_info *room);
