#define _GNU_SOURCE
#include "Request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

void request_reset(request *request) {
  request->place = IN_HEAD;
  request->length = 0;
  request->left = request->taken = 0;
  request->expects_continue = request->is_broken = 0;
}

long long request_room(const request *request) {
  return request->place == IN_BODY || request->place == IN_CHUNK ? request->left : 0;
}

void request_discard(request *request, long long count) {
  request->left -= count;
  request->taken += count;
  if (request->left > 0) return;
  request->place = request->place == IN_CHUNK ? IN_CHUNK_END : IS_OVER;
}

static void read_field(request *request, const char *line, int *is_chunked) {
  static const char length[] = "content-length:", coding[] = "transfer-encoding:", expect[] = "expect:";
  if (strncasecmp(line, length, strlen(length)) == 0) request->left = atoll(line + strlen(length));
  if (strncasecmp(line, coding, strlen(coding)) == 0) *is_chunked = strcasestr(line, "chunked") != NULL;
  if (strncasecmp(line, expect, strlen(expect)) == 0) request->expects_continue = 1;
}

static void end_head(request *request) {
  int is_chunked = 0;
  char *rest;
  for (char *line = strtok_r(request->line, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
    read_field(request, line, &is_chunked);
  }
  request->length = 0;
  request->place = is_chunked ? IN_CHUNK_LINE : request->left > 0 ? IN_BODY : IS_OVER;
}

// The chunked transfer coding: RFC 9112, section 7.1.
static void end_line(request *request) {
  int is_empty = request->length == 2;
  request->length = 0;
  switch (request->place) {
    case IN_CHUNK_LINE:
      request->left = strtoll(request->line, NULL, 16);
      request->place = request->left > 0 ? IN_CHUNK : IN_TRAILER;
      break;
    case IN_CHUNK_END:
      request->is_broken |= !is_empty;
      request->place = IN_CHUNK_LINE;
      break;
    default:
      if (is_empty) request->place = IS_OVER;
  }
}

static void take(request *request, char byte) {
  if (request->length + 1 >= sizeof request->line) {
    request->is_broken = 1;
    request->length = 0;
  }
  request->line[request->length++] = byte;
  request->line[request->length] = 0;
  if (byte != '\n') return;
  if (request->place != IN_HEAD) return end_line(request);
  if (request->length >= 4 && memcmp(request->line + request->length - 4, "\r\n\r\n", 4) == 0) end_head(request);
}

size_t request_feed(request *request, const char *bytes, size_t count) {
  size_t fed = 0;
  while (fed < count && request->place != IS_OVER) {
    long long room = request_room(request);
    if (room == 0) {
      take(request, bytes[fed++]);
      continue;
    }
    size_t part = (long long)(count - fed) < room ? count - fed : (size_t)room;
    request_discard(request, (long long)part);
    fed += part;
  }
  return fed;
}
