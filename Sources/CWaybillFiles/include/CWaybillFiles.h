// C library calls that glibc declares only with _GNU_SOURCE, which Swift's importer does not define.
#pragma once

// Does not include <sys/stat.h> and <sys/types.h>: Swift would attribute their types to this module, and each file that
// uses them would have to import it.
#include <stddef.h>

struct stat;

#pragma clang assume_nonnull begin

/// pread(2) that never waits for a disk: preadv2(2) with RWF_NOWAIT.
/// Returns the number of bytes read, 0 at the end of the file, or a negated errno: -EAGAIN if the page is not in
/// memory, -EOPNOTSUPP if the file system does not support it.
ptrdiff_t wb_pread_nowait(int descriptor, void *buffer, size_t count, long offset);

/// sendfile(2) of bytes that are all in memory, to a non-blocking socket.
/// Returns the number of bytes that the socket accepted, or a negated errno: -EAGAIN if it accepts none now, -ENODATA
/// if some are not in memory, -ENOSYS if the kernel does not support cachestat(2) (Linux 6.5).
ptrdiff_t wb_send_cached(int socket, int descriptor, long offset, size_t count);

/// open(2) that succeeds only if every path component is in the dentry cache: openat2(2) with RESOLVE_CACHED.
/// Returns a descriptor (close-on-exec), or a negated errno. After any failure, call open(2) where blocking is allowed.
int wb_open_cached(const char *path, int flags);

/// stat(2) with the same restriction. Returns 0 or a negated errno.
int wb_stat_cached(const char *path, struct stat *status);

/// wb_stat_cached() for a file that the caller will read; fails if the file is not readable.
int wb_stat_readable_cached(const char *path, struct stat *status);

/// Returns the type of the file system that contains a path: f_type of statfs(2), or a negated errno.
long wb_file_system_type(const char *path);

/// memmem(3) with offsets: returns the offset of the needle, or -1.
ptrdiff_t wb_find(const void *haystack, size_t haystack_count, const void *needle, size_t needle_count);

/// memchr(3) with offsets: returns the offset of the first occurrence, or -1.
ptrdiff_t wb_find_byte(const void *bytes, size_t count, unsigned char byte);

/// memrchr(3) with offsets: returns the offset of the last occurrence, or -1.
ptrdiff_t wb_find_last_byte(const void *bytes, size_t count, unsigned char byte);

/// Returns the offset of a form's delimiter (CR LF "--" boundary), or -1. Skips a delimiter whose following bytes make
/// it content; returns one whose following bytes are incomplete. Linear time for any input.
ptrdiff_t wb_find_delimiter(
    const unsigned char *bytes, size_t count, const unsigned char *delimiter, size_t length, size_t padding_limit);

/// The same without vector instructions, for other processors and as the reference in tests of the vectorized version.
ptrdiff_t wb_find_delimiter_scalar(
    const unsigned char *bytes, size_t count, const unsigned char *delimiter, size_t length, size_t padding_limit);

#pragma clang assume_nonnull end
