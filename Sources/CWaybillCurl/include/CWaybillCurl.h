// The fence around libcurl: everything of its API that Swift cannot call or should not be trusted to call.
//
// curl_easy_setopt, curl_easy_getinfo and curl_multi_setopt are variadic, which Swift cannot import. There is
// one wrapper per kind of argument, so that an `int` can never stand where libcurl reads a `long`. Macros with
// a cast are not imported either; they come as typed constants.
#ifndef CWAYBILLCURL_H
#define CWAYBILLCURL_H

#include <curl/curl.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// Initialises libcurl once per process. Returns CURLE_OK or why not.
CURLcode wb_global_init(void);

// Whether host names that are not ASCII can be looked up.
int wb_has_idn(void);

// Names the calling thread, keeps SIGPIPE from it (OpenSSL writes to sockets that the peer has closed), and has it read
// texts as UTF-8: libcurl turns a host's name into ASCII by the locale of the thread, and programs in Swift set none.
void wb_prepare_thread(const char *name);

// Around whatever a thread does with libcurl, but sleep. OpenSSL frees its locks and tables in exit(3), and a thread at work
// then crashes: after the last upload of a program, once in a hundred times. exit(3) waits until nobody is at work, but no
// longer than 2 seconds; whoever begins afterwards waits for ever. A thread that ends calls wb_end_thread() instead of
// wb_end_work(): OpenSSL has something to free at its very end, too.
void wb_begin_work(void);
void wb_end_work(void);
void wb_end_thread(void);

CURLcode wb_setopt_long(CURL *handle, CURLoption option, long value);
CURLcode wb_setopt_off(CURL *handle, CURLoption option, curl_off_t value);
CURLcode wb_setopt_string(CURL *handle, CURLoption option, const char *_Nullable value);
CURLcode wb_setopt_pointer(CURL *handle, CURLoption option, void *_Nullable value);
// Copies the bytes.
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

CURLMcode wb_multi_setopt_long(CURLM *multi, CURLMoption option, long value);

// A finished transfer, taken out of the union that CURLMsg hides it in. Returns 0 when there is none.
int wb_multi_next_done(CURLM *multi, CURL *_Nullable *_Nonnull handle, CURLcode *result);

// Whether a socket is the connection between these two ends, given as libcurl prints them.
int wb_socket_joins(int socket, const char *local_address, int local_port, const char *peer_address, int peer_port);

// Whether a read would give bytes or the end at once.
int wb_has_input(int socket);

// Has the kernel send whole segments only, until it is told otherwise (TCP_CORK, tcp(7)). Does nothing to other sockets.
void wb_hold_segments(int socket, int on);

// What the kernel knows of a TCP socket. Returns 0, or -1 when it is not one.
//   acked:   bytes that the peer acknowledged since the connection began (tcp_info.tcpi_bytes_acked, RFC 4898);
//            glibc's <netinet/tcp.h> lacks the field, the kernel's header has it.
//   pending: bytes written and not acknowledged (SIOCOUTQ, tcp(7)).
// What is acknowledged between the two questions is in neither of them, and their sum is at most what was written.
int wb_tcp_state(int socket, uint64_t *acked, uint64_t *pending);

// The same, asked the other way round: what is acknowledged in between is in both, and their sum is at least what was written.
int wb_tcp_state_reversed(int socket, uint64_t *acked, uint64_t *pending);

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
