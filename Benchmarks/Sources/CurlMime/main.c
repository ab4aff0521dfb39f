// The same small forms by libcurl's own mime API: what a careful C program does.
//
//   CurlMime URL FILE COUNT
//
// One easy handle for all requests, so that the connection is kept; a fresh mime for each, since each form would
// carry other values.
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const fields[][2] = {
  {"TOKEN", "0123456789abcdef0123456789abcdef"}, {"BUSINESSNO", "20260101-000042"}, {"DOCTYPE", "IDCARD"}};

static size_t ignore(char *bytes, size_t size, size_t count, void *answers) {
  (void)bytes;
  *(long *)answers += 1;
  return size * count;
}

static int post(CURL *handle, const char *file) {
  curl_mime *mime = curl_mime_init(handle);
  for (size_t index = 0; index < sizeof fields / sizeof fields[0]; index++) {
    curl_mimepart *part = curl_mime_addpart(mime);
    curl_mime_name(part, fields[index][0]);
    curl_mime_data(part, fields[index][1], CURL_ZERO_TERMINATED);
  }
  curl_mimepart *part = curl_mime_addpart(mime);
  curl_mime_name(part, "FILE");
  curl_mime_filedata(part, file);
  curl_easy_setopt(handle, CURLOPT_MIMEPOST, mime);
  CURLcode code = curl_easy_perform(handle);
  curl_mime_free(mime);
  if (code != CURLE_OK) fprintf(stderr, "CurlMime: %s\n", curl_easy_strerror(code));
  return code == CURLE_OK;
}

int main(int count, char **arguments) {
  if (count != 4) return 2;
  curl_global_init(CURL_GLOBAL_DEFAULT);
  CURL *handle = curl_easy_init();
  long answers = 0;
  curl_easy_setopt(handle, CURLOPT_URL, arguments[1]);
  curl_easy_setopt(handle, CURLOPT_PROXY, "");
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, ignore);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &answers);
  for (long left = atol(arguments[3]); left > 0; left--) {
    if (!post(handle, arguments[2])) return 1;
  }
  curl_easy_cleanup(handle);
  printf("%ld\n", answers);
  return 0;
}
