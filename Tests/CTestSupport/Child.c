#define _GNU_SOURCE
#include "CTestSupport.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int prepare(
    posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes, const char *directory,
    const int descriptors[3]) {
    int code = 0;
    for (int number = 0; number < 3 && code == 0; number++)
        code = posix_spawn_file_actions_adddup2(actions, descriptors[number], number);
    if (code == 0) code = posix_spawn_file_actions_addclosefrom_np(actions, 3);
    if (code == 0 && directory) code = posix_spawn_file_actions_addchdir_np(actions, directory);

    // The child starts with an empty signal mask and the default action for SIGPIPE, whatever the test runner has
    // set.
    sigset_t none, pipe_only;
    sigemptyset(&none);
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    if (code == 0) code = posix_spawnattr_setsigmask(attributes, &none);
    if (code == 0) code = posix_spawnattr_setsigdefault(attributes, &pipe_only);
    if (code == 0) code = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    return code;
}

int cts_spawn(
    const char *program, char *const *arguments, char *const *environment, const char *directory,
    const int descriptors[3], struct cts_child *child) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    int code = prepare(&actions, &attributes, directory, descriptors);
    pid_t pid = 0;
    // A script that a test has just written is busy (ETXTBSY) while a process that another test has forked, but that has
    // not executed its program yet, holds a descriptor of it.
    int tries = 1000;
    if (code == 0) {
        do code = posix_spawnp(&pid, program, &actions, &attributes, arguments, environment);
        while (code == ETXTBSY && tries-- > 0 && sched_yield() == 0);
    }
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (code != 0) return -code;

    child->pid = pid;
    child->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    return child->pidfd < 0 ? -errno : 0;
}

int cts_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC) == 0 ? 0 : -errno; }

void cts_never_wait(int descriptor) {
    (void)fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

int cts_collect(int pid, struct cts_child_end *end) {
    int status;
    struct rusage usage;
    pid_t collected;
    do collected = wait4(pid, &status, 0, &usage);
    while (collected < 0 && errno == EINTR);
    if (collected < 0) return -errno;

    memset(end, 0, sizeof *end);
    end->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    end->peak_resident_bytes = (int64_t)usage.ru_maxrss * 1024;
    end->user_microseconds = (int64_t)usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec;
    end->system_microseconds = (int64_t)usage.ru_stime.tv_sec * 1000000 + usage.ru_stime.tv_usec;
    return 0;
}

int cts_exit_in_copy(void) {
    pid_t pid = fork();
    if (pid == 0) exit(0);
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return 127;
    return WEXITSTATUS(status);
}

int cts_call_in_copy(uint64_t (*next)(void), uint64_t *results, int count) {
    size_t size = (size_t)count * sizeof *results;
    uint64_t *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return -errno;
    pid_t pid = fork();
    if (pid == 0) {
        for (int index = 0; index < count; index++) shared[index] = next();
        _exit(0);
    }
    int status = 0;
    int code = 0;
    if (pid < 0) code = -errno;
    else if (waitpid(pid, &status, 0) != pid) code = -errno;
    else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) code = -ECHILD;
    if (code == 0) memcpy(results, shared, size);
    munmap(shared, size);
    return code;
}

int64_t cts_peak_resident_bytes(int pid) {
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *status = fopen(path, "re");
    if (!status) return 0;
    long kibibytes = 0;
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %ld", &kibibytes) == 1) break;
    fclose(status);
    return (int64_t)kibibytes * 1024;
}
