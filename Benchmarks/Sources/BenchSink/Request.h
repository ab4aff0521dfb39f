// Parses a request incrementally: the size of its body and its end. It does not use sockets.
#pragma once
#include <stddef.h>

typedef struct {
  enum { IN_HEAD, IN_BODY, IN_CHUNK_LINE, IN_CHUNK, IN_CHUNK_END, IN_TRAILER, IS_OVER } place;
  char line[16384];
  size_t length;
  // Remaining bytes of the body or of the chunk.
  long long left;
  // Bytes of content received.
  long long taken;
  int expects_continue;
  int is_broken;
} request;

void request_reset(request *request);

// Parses bytes up to the end of the request and returns their number.
size_t request_feed(request *request, const char *bytes, size_t count);

// Returns the number of bytes that may be discarded unread; 0 if the next one must be parsed.
long long request_room(const request *request);

// Counts discarded bytes.
void request_discard(request *request, long long count);
