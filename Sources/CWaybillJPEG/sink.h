// A destination that grows. libjpeg's own jpeg_mem_dest forgets its newest buffer when a jump leaves it half way.
#pragma once

#include "guard.h"

struct wb_sink {
    struct jpeg_destination_mgr base; // first
    unsigned char *bytes;
    size_t room, count; // count is set when the file is finished
};

// Inside the guard: the first buffer may fail.
void wb_sink_install(j_compress_ptr info, struct wb_sink *sink);
