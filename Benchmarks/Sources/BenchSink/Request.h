// A request as it arrives: how much of its body came, and when it is over. Knows nothing of sockets.
#pragma once
#include <stddef.h>

typedef struct {
  enum { IN_HEAD, IN_BODY, IN_CHUNK_LINE, IN_CHUNK, IN_CHUNK_END, IN_TRAILER, IS_OVER } place;
  char line[16384];
  size_t length;
  // Bytes of the body or of the chunk that are still to come.
  long long left;
  // Bytes of content that came.
  long long taken;
  int expects_continue;
  int is_broken;
} request;

void request_reset(request *request);

// Takes bytes as they came, up to the end of the request, and returns how many those were.
size_t request_feed(request *request, const char *bytes, size_t count);

// How many bytes may be thrown away without a look: 0 where the next one has to be read.
long long request_room(const request *request);

// Counts bytes that were thrown away.
void request_discard(request *request, long long count);
