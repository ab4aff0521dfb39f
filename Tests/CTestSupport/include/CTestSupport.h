#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// System calls for tests in a form that Swift can call without pointers to structures. Unless stated otherwise a
// function returns a non-negative value, or -errno.

#pragma clang assume_nonnull begin

// Sockets (Sockets.c). All on 127.0.0.1 and close-on-exec: a child process must not keep a connection open.

/// Listens on a free port. `receive_buffer` (0 for the system default) is set before listen(2), because the window
/// scale is negotiated in the handshake.
int cts_listen(int receive_buffer, int backlog, uint16_t *port);
/// Binds a free port without listening.
int cts_bind(uint16_t *port);
/// Accepts a waiting connection. Returns -EAGAIN if no connection waits.
int cts_accept(int listener);
/// Connects. With `is_blocking` 0 it only starts connecting.
int cts_connect(uint16_t port, int is_blocking);
/// Reads the available bytes without blocking. 0 means that the peer has closed its side.
ssize_t cts_receive(int socket, void *buffer, size_t room);
/// Like `cts_receive`, but leaves the bytes in the buffer.
ssize_t cts_peek(int socket, void *buffer, size_t room);
/// Writes the bytes that fit, without blocking and without SIGPIPE.
ssize_t cts_send(int socket, const void *bytes, size_t count);
/// Sends a FIN. Reading remains possible.
int cts_finish(int socket);
/// Closes with a RST (SO_LINGER of zero seconds).
void cts_reset(int socket);
/// Lets the kernel delay acknowledgements by up to 40 ms, as on a connection that is in use.
void cts_delay_acknowledgements(int socket);
/// Closes. The kernel sends a RST instead of a FIN if unread bytes remain.
void cts_close(int socket);
/// Returns 1 if the program at the other end of a loopback connection has closed its descriptor, even if its FIN is
/// still queued behind unread bytes; otherwise 0. Reads the socket table (proc(5), /proc/net/tcp).
int cts_peer_has_closed(int socket);

// Waiting (Sockets.c).

enum {
    cts_readable = 1,
    cts_writable = 2,
    cts_hung_up = 4,
    cts_raised = 8,
    cts_stopped = 16,
};

/// Waits for the interests in `socket` (a union of the first three), for `event`, for `stop`, or for the timeout. A
/// descriptor of -1 is ignored; a timeout of -1 never expires. Returns the union of what occurred, 0 for the timeout.
int cts_wait(int socket, int interests, int event, int stop, int milliseconds);
/// Creates an event (eventfd(2)) that stays raised once raised.
int cts_event_make(void);
void cts_event_raise(int event);

/// Computes FNV-1a with 64 bits, continued from `state`. In C because a debug build must keep up with a fast sender.
uint64_t cts_digest(uint64_t state, const void *bytes, size_t count);

/// Computes CRC-64/XZ (the reflected ECMA-182 polynomial), continued from the checksum of earlier bytes; 0 for none.
/// (Bytes.c)
uint64_t cts_crc64(uint64_t checksum, const void *bytes, size_t count);
/// Returns the checksum of two concatenated sequences from their checksums; `count` is the length of the second.
/// (Bytes.c)
uint64_t cts_crc64_join(uint64_t first, uint64_t second, uint64_t count);

/// Computes the CRC with a reflected polynomial of 32 or 64 bits, bit by bit. (Bytes.c)
uint64_t cts_crc(uint64_t reflected, const void *bytes, size_t count);

/// Returns the offset of the first occurrence of a pattern, or -1. (Bytes.c)
ssize_t cts_find(const void *bytes, size_t count, const void *pattern, size_t pattern_count);

/// Computes CRC-32 as in zlib, continued from the checksum of earlier bytes; 0 for none. (Checksum32.c)
uint32_t cts_crc32(uint32_t checksum, const void *bytes, size_t count);

/// Encodes RGB or RGBA pixels as a WebP file, which must be freed; sets the number of its bytes. (WebP.c)
uint8_t *cts_webp_encode(const uint8_t *pixels, int32_t width, int32_t height, int32_t channels, int32_t is_lossless,
                         size_t *count);
/// Decodes a WebP file to RGB or RGBA pixels, which must be freed. (WebP.c)
uint8_t *cts_webp_decode(const uint8_t *bytes, size_t count, int32_t channels, int32_t *width, int32_t *height);
void cts_webp_free(uint8_t *bytes);

/// Removes a directory recursively. Links are removed, not followed.
void cts_remove_tree(const char *path);

// Child processes (Child.c).

struct cts_child {
    int pid;
    int pidfd;
};

struct cts_child_end {
    /// The exit status, or -1 if a signal ended the process.
    int status;
    /// The signal, or 0.
    int signal;
    /// `ru_maxrss` in bytes. At least the resident size of the *parent* when it spawned: exec(2) preserves that
    /// value.
    int64_t peak_resident_bytes;
    int64_t user_microseconds;
    int64_t system_microseconds;
};

/// Starts a program that inherits only the three given descriptors.
int cts_spawn(
    const char *program, char *_Nullable const *_Nonnull arguments, char *_Nullable const *_Nonnull environment,
    const char *_Nullable directory, const int descriptors[_Nonnull 3], struct cts_child *child);
/// Creates a close-on-exec pipe: [0] for reading, [1] for writing.
int cts_pipe(int ends[_Nonnull 2]);
/// Makes a descriptor non-blocking.
void cts_never_wait(int descriptor);
/// Waits for the end of a process and reaps it.
int cts_collect(int pid, struct cts_child_end *end);
/// Forks a copy of the process, with only the calling thread, that calls exit(3) with 0. Returns its exit status, or
/// 127.
int cts_exit_in_copy(void);
/// Forks a copy of the process, with only the calling thread, that stores `count` results of `next` in `results`.
/// Returns 0, or a negative errno.
int cts_call_in_copy(uint64_t (*_Nonnull next)(void), uint64_t *_Nonnull results, int count);
/// Returns `VmHWM` of a running process in bytes, or 0.
int64_t cts_peak_resident_bytes(int pid);

// Name lookups (Resolver.c).
//
// The file defines getaddrinfo, so that calls of libcurl in this program are intercepted:
//   *.never.invalid     waits until the name is released, then fails with EAI_AGAIN
//   *.loopback.invalid  is 127.0.0.1
//   *.absent.invalid    does not exist (EAI_NONAME), without using the network
// All other names are passed to the C library.

/// Returns how many lookups of this name have begun.
int cts_lookups_begun(const char *name);
/// Waits until `count` lookups of this name have begun in total, or until it is released.
void cts_await_lookups(const char *name, int count);
/// Ends every current and future lookup of this name.
void cts_release_name(const char *name);

/// Returns whether the kernel has cachestat(2) (Linux 6.5), which reports the cached pages of a file. (Kernel.c)
int cts_has_cachestat(void);
/// Makes linkat(2) fail with EPERM on this thread until the thread ends, as on a file system without hard links. (Kernel.c)
int cts_refuse_hard_links(void);

/// Requests a URL with libcurl only, without Waybill, and returns the CURLcode. (Fetch.c)
int cts_fetch(const char *url, int timeout_milliseconds);

#pragma clang assume_nonnull end
