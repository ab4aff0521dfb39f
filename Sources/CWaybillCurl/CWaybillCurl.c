#define _GNU_SOURCE  // pthread_setname_np
#include "CWaybillCurl.h"
#include "ExitGate.h"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <locale.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static pthread_once_t global_once = PTHREAD_ONCE_INIT;
static CURLcode global_result;

static locale_t utf8_locale;

static void init_global(void) {
    global_result = curl_global_init(CURL_GLOBAL_DEFAULT);
    // After libcurl: the TLS library has registered its exit handler by now, and exit handlers run in reverse order.
    wb_set_up_exit_gate();
    utf8_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

CURLcode wb_global_init(void) {
    pthread_once(&global_once, init_global);
    return global_result;
}

int wb_has_idn(void) {
    wb_global_init();
    return utf8_locale != (locale_t)0 && (curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_IDN) != 0;
}

void wb_prepare_thread(const char *name) {
    pthread_setname_np(pthread_self(), name);
    if (utf8_locale != (locale_t)0) uselocale(utf8_locale);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

CURLcode wb_setopt_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

CURLcode wb_setopt_off(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

CURLcode wb_setopt_string(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

CURLcode wb_setopt_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

CURLcode wb_setopt_blob(CURL *handle, CURLoption option, const void *bytes, size_t count) {
    struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
    return curl_easy_setopt(handle, option, &blob);
}

CURLcode wb_setopt_slist(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

// Sets a callback and its context together, so that neither can be forgotten.
#define WB_SET_CALLBACK(name, type, function_option, data_option)                   \
    CURLcode name(CURL *handle, type callback, void *context) {                     \
        CURLcode code = curl_easy_setopt(handle, function_option, callback);        \
        return code != CURLE_OK ? code : curl_easy_setopt(handle, data_option, context); \
    }

WB_SET_CALLBACK(wb_setopt_read, wb_data_callback, CURLOPT_READFUNCTION, CURLOPT_READDATA)
WB_SET_CALLBACK(wb_setopt_write, wb_data_callback, CURLOPT_WRITEFUNCTION, CURLOPT_WRITEDATA)
WB_SET_CALLBACK(wb_setopt_header, wb_data_callback, CURLOPT_HEADERFUNCTION, CURLOPT_HEADERDATA)
WB_SET_CALLBACK(wb_setopt_seek, wb_seek_callback, CURLOPT_SEEKFUNCTION, CURLOPT_SEEKDATA)
WB_SET_CALLBACK(wb_setopt_prereq, wb_prereq_callback, CURLOPT_PREREQFUNCTION, CURLOPT_PREREQDATA)
WB_SET_CALLBACK(wb_setopt_progress, wb_progress_callback, CURLOPT_XFERINFOFUNCTION, CURLOPT_XFERINFODATA)
WB_SET_CALLBACK(wb_setopt_open_socket, wb_open_callback, CURLOPT_SOCKOPTFUNCTION, CURLOPT_SOCKOPTDATA)
WB_SET_CALLBACK(wb_setopt_close_socket, wb_close_callback, CURLOPT_CLOSESOCKETFUNCTION, CURLOPT_CLOSESOCKETDATA)

CURLcode wb_getinfo_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

CURLcode wb_getinfo_off(CURL *handle, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(handle, info, value);
}

CURLcode wb_getinfo_string(CURL *handle, CURLINFO info, char **value) {
    return curl_easy_getinfo(handle, info, value);
}

CURLcode wb_getinfo_socket(CURL *handle, CURLINFO info, curl_socket_t *value) {
    return curl_easy_getinfo(handle, info, value);
}

CURLMcode wb_multi_setopt_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

int wb_multi_next_done(CURLM *multi, CURL **handle, CURLcode *result) {
    int left = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
        if (message->msg == CURLMSG_DONE) {
            *handle = message->easy_handle;
            *result = message->data.result;
            return 1;
        }
    }
    return 0;
}

static int is_endpoint(const struct sockaddr_storage *endpoint, const char *address, int port) {
    char text[INET6_ADDRSTRLEN];
    const void *number;
    uint16_t network_port;
    if (endpoint->ss_family == AF_INET) {
        number = &((const struct sockaddr_in *)endpoint)->sin_addr;
        network_port = ((const struct sockaddr_in *)endpoint)->sin_port;
    } else if (endpoint->ss_family == AF_INET6) {
        number = &((const struct sockaddr_in6 *)endpoint)->sin6_addr;
        network_port = ((const struct sockaddr_in6 *)endpoint)->sin6_port;
    } else {
        return 0;
    }
    return ntohs(network_port) == port && inet_ntop(endpoint->ss_family, number, text, sizeof text) != NULL &&
           strcmp(text, address) == 0;
}

int wb_wait_for_input(const int *sockets, int count, int milliseconds) {
    enum { MOST = 64 };
    struct pollfd waiting[MOST];
    if (count > MOST) count = MOST;
    for (int index = 0; index < count; index++) waiting[index] = (struct pollfd){.fd = sockets[index], .events = POLLIN};
    return poll(waiting, (nfds_t)count, milliseconds) > 0;
}

int wb_socket_connects(int socket, const char *local_address, int local_port, const char *peer_address, int peer_port) {
    struct sockaddr_storage local, peer;
    socklen_t local_length = sizeof local, peer_length = sizeof peer;
    return getsockname(socket, (struct sockaddr *)&local, &local_length) == 0 &&
           getpeername(socket, (struct sockaddr *)&peer, &peer_length) == 0 &&
           is_endpoint(&local, local_address, local_port) && is_endpoint(&peer, peer_address, peer_port);
}

int wb_has_input(int socket) {
    char byte;
    return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

void wb_set_corked(int socket, int on) {
    setsockopt(socket, IPPROTO_TCP, TCP_CORK, &on, sizeof on);
}

static int get_acked(int socket, uint64_t *acked) {
    struct tcp_info info;
    memset(&info, 0, sizeof info);
    socklen_t length = sizeof info;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return -1;
    *acked = info.tcpi_bytes_acked;
    return 0;
}

static int get_pending(int socket, uint64_t *pending) {
    int queued = 0;
    if (ioctl(socket, SIOCOUTQ, &queued) != 0) return -1;
    *pending = queued > 0 ? (uint64_t)queued : 0;
    return 0;
}

int64_t wb_pending(int socket) {
    uint64_t pending;
    return get_pending(socket, &pending) == 0 ? (int64_t)pending : -1;
}

int wb_tcp_counters(int socket, uint64_t *acked, uint64_t *pending) {
    return get_acked(socket, acked) == 0 && get_pending(socket, pending) == 0 ? 0 : -1;
}

int wb_tcp_counters_reversed(int socket, uint64_t *acked, uint64_t *pending) {
    return get_pending(socket, pending) == 0 && get_acked(socket, acked) == 0 ? 0 : -1;
}
