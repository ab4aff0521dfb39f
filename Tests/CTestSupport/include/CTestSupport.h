#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// The system calls of the test ground in a shape that Swift reads without pointers to structures. Unless told
// otherwise a function answers a value that is not negative, or -errno.

#pragma clang assume_nonnull begin

// Sockets (Sockets.c). All of 127.0.0.1, all close-on-exec: a child process must not keep a connection open.

/// Listens on a free port. `receive_buffer` (0: the system's choice) is set before listen(2), because the window
/// scale is agreed upon in the handshake.
int cts_listen(int receive_buffer, int backlog, uint16_t *port);
/// Binds a free port and does not listen.
int cts_bind(uint16_t *port);
/// Takes a waiting connection; -EAGAIN when none is there.
int cts_accept(int listener);
/// Connects. With `is_blocking` 0 it only starts to.
int cts_connect(uint16_t port, int is_blocking);
/// Reads what is there, never waits. 0 is the peer's end.
ssize_t cts_receive(int socket, void *buffer, size_t room);
/// The same, and leaves the bytes where they are.
ssize_t cts_peek(int socket, void *buffer, size_t room);
/// Writes what fits, never waits, never raises SIGPIPE.
ssize_t cts_send(int socket, const void *bytes, size_t count);
/// Sends a FIN; reading goes on.
int cts_finish(int socket);
/// Closes with a RST (SO_LINGER of zero seconds).
void cts_reset(int socket);
/// Lets the kernel take its time (40 ms) to acknowledge what comes, as it does on a connection that is in use.
void cts_delay_acknowledgements(int socket);
/// Closes. The kernel sends a RST instead of a FIN when bytes lie unread.
void cts_close(int socket);
/// 1 when the program at the other end of a loopback connection has closed its descriptor, even if its FIN still
/// waits behind bytes that nobody reads; else 0. Looks at the socket table (proc(5), /proc/net/tcp).
int cts_peer_has_let_go(int socket);

// Waiting (Sockets.c).

enum {
    cts_readable = 1,
    cts_writable = 2,
    cts_hung_up = 4,
    cts_raised = 8,
    cts_stopped = 16,
};

/// Waits for what is asked of `socket` (a union of the first three), for `event`, for `stop`, or for the time to pass.
/// A descriptor of -1 takes no part; a time of -1 never passes. Answers the union of what came true, 0 for the time.
int cts_wait(int socket, int interests, int event, int stop, int milliseconds);
/// An event (eventfd(2)) that stays raised once it is raised.
int cts_event_make(void);
void cts_event_raise(int event);

/// FNV-1a, 64 bits, continued from `state`. In C because a debug build must keep up with a fast sender.
uint64_t cts_digest(uint64_t state, const void *bytes, size_t count);

/// CRC-64/XZ (the reflected ECMA-182 polynomial), continued from the checksum of earlier bytes; 0 for none. (Bytes.c)
uint64_t cts_crc64(uint64_t checksum, const void *bytes, size_t count);
/// The checksum of bytes followed by `count` others, from the two checksums. (Bytes.c)
uint64_t cts_crc64_join(uint64_t first, uint64_t second, uint64_t count);

/// Where a pattern begins first, or -1. (Bytes.c)
ssize_t cts_find(const void *bytes, size_t count, const void *pattern, size_t pattern_count);

/// CRC-32 as in zlib, continued from the checksum of earlier bytes; 0 for none. (Checksum32.c)
uint32_t cts_crc32(uint32_t checksum, const void *bytes, size_t count);

/// Removes a directory with all that is in it; links are removed, not followed.
void cts_remove_tree(const char *path);

// Child processes (Child.c).

struct cts_child {
    int pid;
    int pidfd;
};

struct cts_child_end {
    /// The exit status, or -1 when a signal ended it.
    int status;
    /// The signal, or 0.
    int signal;
    /// `ru_maxrss` in bytes. Never below what the *parent* had resident when it spawned: exec(2) carries that over.
    int64_t peak_resident_bytes;
    int64_t user_microseconds;
    int64_t system_microseconds;
};

/// Starts a program with nothing open but the three descriptors given.
int cts_spawn(
    const char *program, char *_Nullable const *_Nonnull arguments, char *_Nullable const *_Nonnull environment,
    const char *_Nullable directory, const int descriptors[_Nonnull 3], struct cts_child *child);
/// A pipe whose ends are close-on-exec; [0] is read, [1] is written.
int cts_pipe(int ends[_Nonnull 2]);
/// Makes reading and writing never wait.
void cts_never_wait(int descriptor);
/// Waits for the end and collects it.
int cts_collect(int pid, struct cts_child_end *end);
/// Has a copy of the process, with no thread but the calling one, call exit(3) with 0. The status it ends with, or 127.
int cts_exit_in_copy(void);
/// `VmHWM` of a process that lives, in bytes, or 0.
int64_t cts_peak_resident_bytes(int pid);

// Name look-ups (Resolver.c).
//
// The file defines getaddrinfo, so that libcurl's own calls, in this program, come here first:
//   *.never.invalid     waits until the name is released, then fails with EAI_AGAIN
//   *.loopback.invalid  is 127.0.0.1
//   *.absent.invalid    does not exist (EAI_NONAME), without asking any network
// Every other name goes to the C library.

/// How often a look-up of this name has begun.
int cts_lookups_begun(const char *name);
/// Waits until a look-up of this name has begun `count` times in all, or until it is released.
void cts_await_lookups(const char *name, int count);
/// Lets every look-up of this name end, those to come as well.
void cts_release_name(const char *name);

/// Whether the kernel can say what of a file is in memory: cachestat(2), Linux 6.5. (Kernel.c)
int cts_has_cachestat(void);
/// Makes linkat(2) fail with EPERM on this thread until the thread ends, as on a file system without hard links. (Kernel.c)
int cts_refuse_hard_links(void);

/// Gets a URL with libcurl alone, none of our code, and answers its CURLcode. (Fetch.c)
int cts_fetch(const char *url, int timeout_milliseconds);

#pragma clang assume_nonnull end
