#define _GNU_SOURCE
#include "COutboxFaults.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Set once before main, read by all threads.
static char chosen[16];
static int is_kill, is_tear, error_number;
static long first, times;
static atomic_long calls;

enum verdict { go_on, fail, tear };

__attribute__((constructor)) static void read_orders(void) {
    const char *orders = getenv("WAYBILL_FAULT");
    char how[16] = "";
    if (!orders || sscanf(orders, "%15[^:]:%15[^:]:%ld:%ld", how, chosen, &first, &times) != 4) return;
    is_kill = strcmp(how, "kill") == 0;
    is_tear = strcmp(how, "tear") == 0;
    error_number = is_kill || is_tear ? 0 : atoi(how);
}

__attribute__((destructor)) static void report(void) {
    if (!getenv("WAYBILL_FAULT_REPORT")) return;
    char text[64];
    int count = snprintf(text, sizeof text, "calls: %ld\n", cof_calls());
    syscall(SYS_write, 2, text, (size_t)count);
}

long cof_calls(void) { return atomic_load(&calls); }

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/// Counts a call and returns its verdict.
static enum verdict pass(char kind) {
    if (!strchr(chosen, kind)) return go_on;
    long number = atomic_fetch_add(&calls, 1) + 1;
    if (number < first || number >= first + times) return go_on;
    if (is_kill) die();
    if (is_tear) return tear;
    if (!error_number) return go_on;
    errno = error_number;
    return fail;
}

/// Excludes pipes, terminals and the like.
static int is_file(int file) {
    struct stat status;
    return fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

ssize_t write(int file, const void *bytes, size_t count) {
    if (chosen[0] && is_file(file)) {
        enum verdict verdict = pass('w');
        if (verdict == fail) return -1;
        if (verdict == tear) {
            syscall(SYS_write, file, bytes, count / 2);
            die();
        }
    }
    return syscall(SYS_write, file, bytes, count);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
    if (chosen[0]) {
        enum verdict verdict = pass('w');
        if (verdict == fail) return -1;
        if (verdict == tear) {
            syscall(SYS_pwrite64, file, bytes, count / 2, offset);
            die();
        }
    }
    return syscall(SYS_pwrite64, file, bytes, count, offset);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) { return pwrite64(file, bytes, count, offset); }

ssize_t sendto(int socket, const void *bytes, size_t count, int flags, const struct sockaddr *to, socklen_t size) {
    if (chosen[0]) {
        enum verdict verdict = pass('n');
        if (verdict == fail) return -1;
        if (verdict == tear) {
            syscall(SYS_sendto, socket, bytes, count / 2, flags, to, size);
            die();
        }
    }
    return syscall(SYS_sendto, socket, bytes, count, flags, to, size);
}

ssize_t send(int socket, const void *bytes, size_t count, int flags) {
    return sendto(socket, bytes, count, flags, NULL, 0);
}

/// A call without bytes. In `tear` mode the call is made and then the process is killed.
#define PLAIN(kind, call)                     \
    enum verdict verdict = pass(kind);        \
    if (verdict == fail) return -1;           \
    long result = call;                       \
    if (verdict == tear) die();               \
    return (int)result

int fsync(int file) { PLAIN('s', syscall(SYS_fsync, file)); }
int fdatasync(int file) { PLAIN('s', syscall(SYS_fdatasync, file)); }
int ftruncate64(int file, off64_t size) { PLAIN('t', syscall(SYS_ftruncate, file, size)); }
int ftruncate(int file, off_t size) { return ftruncate64(file, size); }
int unlinkat(int folder, const char *path, int flags) { PLAIN('u', syscall(SYS_unlinkat, folder, path, flags)); }
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    PLAIN('r', syscall(SYS_renameat2, from_folder, from, to_folder, to, 0));
}
int rename(const char *from, const char *to) { return renameat(AT_FDCWD, from, AT_FDCWD, to); }

static int open_at(int folder, const char *path, int flags, mode_t mode) {
    if (!(flags & O_CREAT)) return (int)syscall(SYS_openat, folder, path, flags, mode);
    PLAIN('c', syscall(SYS_openat, folder, path, flags, mode));
}

#define MODE(flags)                            \
    mode_t mode = 0;                           \
    if ((flags) & (O_CREAT | O_TMPFILE)) {     \
        va_list rest;                          \
        va_start(rest, flags);                 \
        mode = va_arg(rest, mode_t);           \
        va_end(rest);                          \
    }

int open(const char *path, int flags, ...) {
    MODE(flags)
    return open_at(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    MODE(flags)
    return open_at(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}

int openat(int folder, const char *path, int flags, ...) {
    MODE(flags)
    return open_at(folder, path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...) {
    MODE(flags)
    return open_at(folder, path, flags | O_LARGEFILE, mode);
}
