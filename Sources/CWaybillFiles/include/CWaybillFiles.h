// The few calls of the C library that glibc shows only with _GNU_SOURCE, which Swift's importer does not define.
#pragma once

// Without <sys/stat.h> and <sys/types.h>: Swift would attribute their types to this module, and each file that uses them
// would have to import it.
#include <stddef.h>

struct stat;

#pragma clang assume_nonnull begin

/// pread(2) that never waits for a disk: preadv2(2) with RWF_NOWAIT.
/// Returns the bytes read, 0 at the end of the file, or a negated errno: -EAGAIN when the page is not in memory,
/// -EOPNOTSUPP when the file system cannot tell.
ptrdiff_t wb_pread_nowait(int descriptor, void *buffer, size_t count, long offset);

/// sendfile(2) of bytes that are all in memory, into a socket that does not block.
/// Returns how many the socket took, or a negated errno: -EAGAIN when it takes none now, -ENODATA when some are not in memory,
/// -ENOSYS where the kernel can't tell (cachestat(2), Linux 6.5).
ptrdiff_t wb_send_cached(int socket, int descriptor, long offset, size_t count);

/// open(2) that succeeds only if every step of the path is in the kernel's cache: openat2(2) with RESOLVE_CACHED.
/// Returns a descriptor (close-on-exec), or a negated errno. Any failure means no more than: ask where waiting is allowed.
int wb_open_cached(const char *path, int flags);

/// stat(2) in the same manner. Returns 0 or a negated errno.
int wb_stat_cached(const char *path, struct stat *status);

/// The same for a file that the caller means to read; it fails if that is not allowed.
int wb_look_cached(const char *path, struct stat *status);

/// What kind of file system a path lies on: f_type of statfs(2), or a negated errno.
long wb_file_system_type(const char *path);

/// memmem(3) in offsets: where the needle begins, or -1.
ptrdiff_t wb_find(const void *haystack, size_t haystack_count, const void *needle, size_t needle_count);

/// memchr(3) in offsets: where the byte first stands, or -1.
ptrdiff_t wb_find_byte(const void *bytes, size_t count, unsigned char byte);

/// memrchr(3) in offsets: where the byte last stands, or -1.
ptrdiff_t wb_find_last_byte(const void *bytes, size_t count, unsigned char byte);

/// Where a delimiter of a form begins (CR LF "--" boundary), or -1. One that is followed by what makes it content is
/// passed over; one whose end is not there yet counts. Linear, whatever the bytes are.
ptrdiff_t wb_find_delimiter(
    const unsigned char *bytes, size_t count, const unsigned char *delimiter, size_t length, size_t padding_limit);

/// The same without vector instructions: what other processors run, and what the fast one is tested against.
ptrdiff_t wb_find_delimiter_plainly(
    const unsigned char *bytes, size_t count, const unsigned char *delimiter, size_t length, size_t padding_limit);

#pragma clang assume_nonnull end
