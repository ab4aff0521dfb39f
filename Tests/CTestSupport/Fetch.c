#include "CTestSupport.h"

#include <curl/curl.h>

static size_t discard(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes, (void)context;
    return size * count;
}

int cts_fetch(const char *url, int timeout_milliseconds) {
    CURL *handle = curl_easy_init();
    if (!handle) return CURLE_FAILED_INIT;
    curl_easy_setopt(handle, CURLOPT_URL, url);
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_PROXY, "");
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, discard);
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, (long)timeout_milliseconds);
    // Without it libcurl waits for the thread of the name lookup, however long that takes.
    curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
    CURLcode code = curl_easy_perform(handle);
    curl_easy_cleanup(handle);
    return code;
}
