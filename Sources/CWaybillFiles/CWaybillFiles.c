#define _GNU_SOURCE
#include "CWaybillFiles.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif

ssize_t wb_pread_nowait(int descriptor, void *buffer, size_t count, off_t offset) {
    struct iovec vector = {.iov_base = buffer, .iov_len = count};
    ssize_t result = preadv2(descriptor, &vector, 1, offset, RWF_NOWAIT);
    return result < 0 ? -errno : result;
}

// The number is the same on every architecture except Alpha; headers before Linux 6.5 lack it.
#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

// Returns 0 if the page cache contains all of these bytes, else a negated errno. cachestat(2) also counts pages that
// are still being read from disk. Those arrive in order, so reading the last byte proves that all are present.
static int is_cached(int descriptor, off_t offset, size_t count) {
    struct {
        uint64_t offset, length;
    } range = {(uint64_t)offset, count};
    struct {
        uint64_t cached, dirty, writeback, evicted, recently_evicted;
    } found;
    if (syscall(SYS_cachestat, descriptor, &range, &found, 0) != 0) return -errno;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t wanted = (range.offset + count - 1) / page - range.offset / page + 1;
    char last;
    int is_resident = found.cached >= wanted && wb_pread_nowait(descriptor, &last, 1, offset + (off_t)count - 1) == 1;
    return is_resident ? 0 : -ENODATA;
}

ssize_t wb_send_cached(int socket, int descriptor, off_t offset, size_t count) {
    int code = is_cached(descriptor, offset, count);
    if (code < 0) return code;
    ssize_t result = sendfile(socket, descriptor, &offset, count);
    return result < 0 ? -errno : result;
}

int wb_open_cached(const char *path, int flags) {
#if defined(RESOLVE_CACHED) && defined(SYS_openat2)
    struct open_how how = {.flags = (unsigned)(flags | O_CLOEXEC), .resolve = RESOLVE_CACHED};
    long result = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    return result < 0 ? -errno : (int)result;
#else
    (void)path;
    (void)flags;
    return -ENOSYS;
#endif
}

static int stat_cached(const char *path, struct stat *status, int must_be_readable) {
    int descriptor = wb_open_cached(path, O_PATH);
    if (descriptor < 0) return descriptor;
    int result = fstat(descriptor, status) < 0 ? -errno : 0;
    if (result == 0 && must_be_readable) {
#ifdef SYS_faccessat2
        if (syscall(SYS_faccessat2, descriptor, "", R_OK, AT_EACCESS | AT_EMPTY_PATH) != 0) result = -errno;
#else
        result = -ENOSYS;
#endif
    }
    close(descriptor);
    return result;
}

int wb_stat_cached(const char *path, struct stat *status) { return stat_cached(path, status, 0); }

int wb_stat_readable_cached(const char *path, struct stat *status) { return stat_cached(path, status, 1); }

long wb_file_system_type(const char *path) {
    struct statfs found;
    return statfs(path, &found) < 0 ? -(long)errno : (long)(unsigned int)found.f_type;
}

ssize_t wb_find(const void *haystack, size_t haystack_count, const void *needle, size_t needle_count) {
    const char *found = memmem(haystack, haystack_count, needle, needle_count);
    return found ? found - (const char *)haystack : -1;
}

ssize_t wb_find_byte(const void *bytes, size_t count, unsigned char byte) {
    const char *found = memchr(bytes, byte, count);
    return found ? found - (const char *)bytes : -1;
}

ssize_t wb_find_last_byte(const void *bytes, size_t count, unsigned char byte) {
    const char *found = memrchr(bytes, byte, count);
    return found ? found - (const char *)bytes : -1;
}
