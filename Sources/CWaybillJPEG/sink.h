// A growing destination. libjpeg's own jpeg_mem_dest leaks its newest buffer if a jump interrupts it.
#pragma once

#include "guard.h"

struct wb_sink {
    struct jpeg_destination_mgr base; // must be first
    unsigned char *bytes;
    size_t room, count; // count is set when the file is finished
};

// Call within the guard, because allocating the first buffer may fail.
void wb_sink_install(j_compress_ptr info, struct wb_sink *sink);
