#include "sink.h"

#include <stdlib.h>
#include <string.h>

static void grow(j_compress_ptr info, size_t used) {
    struct wb_sink *sink = (struct wb_sink *)info->dest;
    size_t room = sink->room ? sink->room * 2 : 64 * 1024;
    unsigned char *bytes = realloc(sink->bytes, room);
    if (!bytes) wb_guard_leave((j_common_ptr)info, wb_jpeg_memory_exceeded);
    sink->bytes = bytes;
    sink->room = room;
    sink->base.next_output_byte = bytes + used;
    sink->base.free_in_buffer = room - used;
}

static void init_destination(j_compress_ptr info) { (void)info; }

static boolean empty_output_buffer(j_compress_ptr info) {
    // libjpeg calls this when the buffer is full, regardless of free_in_buffer.
    grow(info, ((struct wb_sink *)info->dest)->room);
    return TRUE;
}

static void term_destination(j_compress_ptr info) {
    struct wb_sink *sink = (struct wb_sink *)info->dest;
    sink->count = sink->room - sink->base.free_in_buffer;
}

void wb_sink_install(j_compress_ptr info, struct wb_sink *sink) {
    memset(sink, 0, sizeof *sink);
    sink->base.init_destination = init_destination;
    sink->base.empty_output_buffer = empty_output_buffer;
    sink->base.term_destination = term_destination;
    info->dest = &sink->base;
    grow(info, 0);
}
