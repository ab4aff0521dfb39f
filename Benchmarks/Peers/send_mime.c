// Sends the forms with libcurl's mime API, as a careful C program does.
//
//   send_mime URL FILE COUNT AT_ONCE [AUTHORITY]
//
// One easy handle per concurrent form reuses connections; each form has a new mime, because values usually differ.
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "order.h"

// A slot, which sends its forms sequentially.
typedef struct {
  CURL *handle;
  curl_mime *mime;
  char answer[64];
  size_t answer_length;
  long long started;
} place;

static size_t keep(char *bytes, size_t size, size_t count, void *context) {
  place *place = context;
  size_t length = size * count;
  if (place->answer_length + length >= sizeof place->answer) return 0;
  memcpy(place->answer + place->answer_length, bytes, length);
  place->answer_length += length;
  place->answer[place->answer_length] = 0;
  return length;
}

static void prepare(place *place, const driver_order *order) {
  place->handle = curl_easy_init();
  curl_easy_setopt(place->handle, CURLOPT_URL, order->url);
  curl_easy_setopt(place->handle, CURLOPT_PROXY, "");
#ifdef HTTP2
  curl_easy_setopt(place->handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
#else
  curl_easy_setopt(place->handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
#endif
  curl_easy_setopt(place->handle, CURLOPT_WRITEFUNCTION, keep);
  curl_easy_setopt(place->handle, CURLOPT_WRITEDATA, place);
  curl_easy_setopt(place->handle, CURLOPT_PRIVATE, place);
  if (order->authority) curl_easy_setopt(place->handle, CURLOPT_CAINFO, order->authority);
}

static void begin(CURLM *multi, place *place, const char *file) {
  place->mime = curl_mime_init(place->handle);
  for (int index = 0; index < DRIVER_FIELDS; index++) {
    curl_mimepart *part = curl_mime_addpart(place->mime);
    curl_mime_name(part, driver_fields[index][0]);
    curl_mime_data(part, driver_fields[index][1], CURL_ZERO_TERMINATED);
  }
  curl_mimepart *part = curl_mime_addpart(place->mime);
  curl_mime_name(part, "FILE");
  curl_mime_filedata(part, file);
  curl_easy_setopt(place->handle, CURLOPT_MIMEPOST, place->mime);
  place->answer_length = 0;
  place->started = driver_nanoseconds();
  curl_multi_add_handle(multi, place->handle);
}

// Returns a slot whose form has finished since the last call, or NULL.
static place *ended(CURLM *multi) {
  int left;
  for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
    if (message->msg != CURLMSG_DONE) continue;
    if (message->data.result != CURLE_OK) {
      fprintf(stderr, "send_mime: %s\n", curl_easy_strerror(message->data.result));
      exit(1);
    }
    place *found;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&found);
    curl_multi_remove_handle(multi, found->handle);
    curl_mime_free(found->mime);
    return found;
  }
  return NULL;
}

int main(int count, char **arguments) {
  driver_order order;
  if (!driver_read_order(count, arguments, &order)) return 2;
  curl_global_init(CURL_GLOBAL_DEFAULT);
  CURLM *multi = curl_multi_init();
  place *places = calloc((size_t)order.at_once, sizeof *places);
  long long *latencies = malloc((size_t)order.count * sizeof *latencies), bytes = 0;
  long begun = 0, responses = 0;
  long long started = driver_nanoseconds();
  for (; begun < order.at_once && begun < order.count; begun++) {
    prepare(&places[begun], &order);
    begin(multi, &places[begun], order.path);
  }
  while (responses < order.count) {
    int running;
    curl_multi_perform(multi, &running);
    for (place *place; (place = ended(multi));) {
      latencies[responses++] = driver_nanoseconds() - place->started;
      bytes += atoll(place->answer);
      if (begun < order.count) {
        begin(multi, place, order.path);
        begun++;
      }
    }
    if (responses < order.count) curl_multi_poll(multi, NULL, 0, 1000, NULL);
  }
  driver_print(responses, bytes, latencies, started);
  return 0;
}
