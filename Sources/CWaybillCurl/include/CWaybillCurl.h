// Wrappers for the parts of libcurl's API that Swift cannot call or cannot call safely.
//
// curl_easy_setopt, curl_easy_getinfo and curl_multi_setopt are variadic, which Swift cannot import. There is one
// wrapper per argument type, so that an `int` is never passed where libcurl reads a `long`. Macros with a cast are not
// imported either; they are typed constants here.
#ifndef CWAYBILLCURL_H
#define CWAYBILLCURL_H

#include <curl/curl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#pragma clang assume_nonnull begin

// Initializes libcurl once per process. Returns CURLE_OK or the error.
CURLcode wb_global_init(void);

// Returns whether non-ASCII host names can be resolved.
int wb_has_idn(void);

// Names the calling thread, blocks SIGPIPE (OpenSSL writes to sockets that the peer has closed), and sets a UTF-8
// locale: libcurl converts host names to ASCII according to the thread's locale, and Swift programs do not set one.
void wb_prepare_thread(const char *name);

// Enclose everything that a thread does with libcurl, except sleeping. OpenSSL frees its locks and tables in exit(3),
// and a thread at work would then crash: once in a hundred times after a program's last upload. exit(3) waits until no
// thread is at work, for 2 seconds at most; a thread that begins work afterwards waits indefinitely. A thread that ends
// calls wb_end_thread() instead of wb_end_work(), because OpenSSL also frees resources at the very end of a thread.
void wb_begin_work(void);
void wb_end_work(void);
void wb_end_thread(void);

CURLcode wb_setopt_long(CURL *handle, CURLoption option, long value);
CURLcode wb_setopt_off(CURL *handle, CURLoption option, curl_off_t value);
CURLcode wb_setopt_string(CURL *handle, CURLoption option, const char *_Nullable value);
CURLcode wb_setopt_pointer(CURL *handle, CURLoption option, void *_Nullable value);
// libcurl copies the bytes.
CURLcode wb_setopt_blob(CURL *handle, CURLoption option, const void *bytes, size_t count);
CURLcode wb_setopt_slist(CURL *handle, CURLoption option, struct curl_slist *_Nullable value);

typedef size_t (*wb_data_callback)(char *buffer, size_t size, size_t count, void *_Nullable context);
typedef int (*wb_seek_callback)(void *_Nullable context, curl_off_t offset, int origin);
typedef int (*wb_prereq_callback)(void *_Nullable context, char *_Nullable peer_address,
                                  char *_Nullable local_address, int peer_port, int local_port);
typedef int (*wb_progress_callback)(void *_Nullable context, curl_off_t download_total, curl_off_t downloaded,
                                    curl_off_t upload_total, curl_off_t uploaded);
typedef int (*wb_open_callback)(void *_Nullable context, curl_socket_t socket, curlsocktype purpose);
typedef int (*wb_close_callback)(void *_Nullable context, curl_socket_t socket);

CURLcode wb_setopt_read(CURL *handle, wb_data_callback callback, void *context);
CURLcode wb_setopt_write(CURL *handle, wb_data_callback callback, void *context);
CURLcode wb_setopt_header(CURL *handle, wb_data_callback callback, void *context);
CURLcode wb_setopt_seek(CURL *handle, wb_seek_callback callback, void *context);
CURLcode wb_setopt_prereq(CURL *handle, wb_prereq_callback callback, void *context);
CURLcode wb_setopt_progress(CURL *handle, wb_progress_callback callback, void *context);
CURLcode wb_setopt_open_socket(CURL *handle, wb_open_callback callback, void *context);
CURLcode wb_setopt_close_socket(CURL *handle, wb_close_callback callback, void *context);

CURLcode wb_getinfo_long(CURL *handle, CURLINFO info, long *value);
CURLcode wb_getinfo_off(CURL *handle, CURLINFO info, curl_off_t *value);
// libcurl owns the string, which is valid until the next call with the handle.
CURLcode wb_getinfo_string(CURL *handle, CURLINFO info, char *_Nullable *_Nonnull value);
CURLcode wb_getinfo_socket(CURL *handle, CURLINFO info, curl_socket_t *value);

CURLMcode wb_multi_setopt_long(CURLM *multi, CURLMoption option, long value);

// Returns 1 and a finished transfer from the CURLMsg union, or 0 if no transfer has finished.
int wb_multi_next_done(CURLM *multi, CURL *_Nullable *_Nonnull handle, CURLcode *result);

// Waits until one of the sockets has input, or the time has passed. Returns whether one has.
int wb_wait_for_input(const int *sockets, int count, int milliseconds);

// Returns whether a socket connects these two endpoints, given as libcurl prints them.
int wb_socket_connects(int socket, const char *local_address, int local_port, const char *peer_address, int peer_port);

// Returns whether a read would immediately return bytes or the end of the stream.
int wb_has_input(int socket);

// Makes the kernel send only full segments until turned off (TCP_CORK, tcp(7)). Has no effect on other sockets.
void wb_set_corked(int socket, int on);

// Reads the kernel's counters of a TCP socket. Returns 0, or -1 if it is not a TCP socket.
//   acked:   bytes acknowledged by the peer since the connection began (tcp_info.tcpi_bytes_acked, RFC 4898);
//            glibc's <netinet/tcp.h> lacks the field, the kernel's header has it.
//   pending: bytes written and not acknowledged (SIOCOUTQ, tcp(7)).
// Bytes acknowledged between the two system calls are in neither count, so the sum is at most the bytes written.
int wb_tcp_counters(int socket, uint64_t *acked, uint64_t *pending);

// Returns the number of bytes written to a TCP socket and not acknowledged, or -1.
int64_t wb_pending(int socket);

// Queries in reverse order: bytes acknowledged in between are in both counts, so the sum is at least the bytes written.
int wb_tcp_counters_reversed(int socket, uint64_t *acked, uint64_t *pending);

static const size_t wb_readfunc_abort = CURL_READFUNC_ABORT;
static const size_t wb_readfunc_pause = CURL_READFUNC_PAUSE;
static const long wb_auth_digest = (long)CURLAUTH_DIGEST;
static const long wb_sslversion_tls_1_2 = CURL_SSLVERSION_TLSv1_2;
static const long wb_http_version_1_1 = CURL_HTTP_VERSION_1_1;
static const long wb_http_version_2_tls = CURL_HTTP_VERSION_2TLS;
static const long wb_ipresolve_any = CURL_IPRESOLVE_WHATEVER;
static const long wb_ipresolve_v4 = CURL_IPRESOLVE_V4;
static const long wb_ipresolve_v6 = CURL_IPRESOLVE_V6;
static const long wb_http_1_0 = CURL_HTTP_VERSION_1_0;
static const long wb_http_1_1 = CURL_HTTP_VERSION_1_1;
static const long wb_http_2 = CURL_HTTP_VERSION_2_0;
static const CURLversion wb_version_now = CURLVERSION_NOW;

#pragma clang assume_nonnull end

#endif
