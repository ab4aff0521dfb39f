#define _GNU_SOURCE

#include "CWaybillProcess.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Between fork and execve, the child of a process with threads may call only functions that are safe in signal handlers.
// `execute` and the functions that it calls use only system calls and the stack.

// MARK: Files

// Rights that later versions of Landlock added, for headers that lack them.
#define WB_FS_REFER (1ULL << 13)
#define WB_FS_TRUNCATE (1ULL << 14)
#define WB_FS_IOCTL_DEV (1ULL << 15)

static const uint64_t readable = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
static const uint64_t of_files = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;

static uint64_t handled_rights(void) {
    const long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) return 0;
    uint64_t rights = (1ULL << 13) - 1;
    if (version >= 2) rights |= WB_FS_REFER;
    if (version >= 3) rights |= WB_FS_TRUNCATE;
    if (version >= 5) rights |= WB_FS_IOCTL_DEV;
    return rights;
}

// Allows `rights` at and below a path. A path that does not exist needs no rule.
static int allow(int rules, const char *path, uint64_t rights) {
    const int descriptor = open(path, O_PATH | O_CLOEXEC);
    if (descriptor < 0) return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
    struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = descriptor};
    const long result = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(descriptor);
    return result == 0 ? 0 : -1;
}

static int confine_files(const wb_process *process) {
    const uint64_t rights = handled_rights();
    if (rights == 0) return -1;
    struct landlock_ruleset_attr attributes = {.handled_access_fs = rights};
    const int rules = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes.handled_access_fs, 0);
    if (rules < 0) return -1;
    static const char *const libraries[] = {"/usr", "/lib", "/lib32", "/lib64", "/bin"};
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        if (allow(rules, libraries[i], readable) != 0) return -1;
    }
    static const char *const files[] = {"/etc/ld.so.cache", "/dev/urandom", "/dev/zero"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (allow(rules, files[i], LANDLOCK_ACCESS_FS_READ_FILE) != 0) return -1;
    }
    if (allow(rules, "/dev/null", of_files & ~(uint64_t)LANDLOCK_ACCESS_FS_EXECUTE) != 0) return -1;
    if (allow(rules, process->program, readable & of_files) != 0) return -1;
    // Files that exist there may be written. None can be created, which bounds the space on the disk, or executed.
    const uint64_t writable = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_WRITE_FILE;
    if (allow(rules, ".", writable | (rights & WB_FS_TRUNCATE)) != 0) return -1;
    const long result = syscall(SYS_landlock_restrict_self, rules, 0);
    close(rules);
    return result == 0 ? 0 : -1;
}

// MARK: System calls

#if defined(__x86_64__)
#define WB_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define WB_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

// What a decoder never needs. Landlock covers no sockets, no modes and owners of files, and no other processes.
static const int denied_calls[] = {
    // The network, and ways around this filter.
    SYS_socket, SYS_socketpair, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_openat2,
    // Truncating by path, which Landlock controls only since Linux 6.2.
    SYS_truncate,
    // Other processes.
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_process_madvise, SYS_kcmp, SYS_pidfd_open,
    SYS_pidfd_getfd, SYS_pidfd_send_signal, SYS_tkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_setpriority,
    SYS_sched_setaffinity, SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr, SYS_ioprio_set,
    // Their shared memory and queues.
    SYS_shmget, SYS_shmat, SYS_shmctl, SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_semget, SYS_semop,
    SYS_semtimedop, SYS_semctl, SYS_mq_open, SYS_mq_unlink, SYS_flock, SYS_inotify_add_watch, SYS_fanotify_init,
    // Memory that the limit of the address space does not count.
    SYS_memfd_create, SYS_memfd_secret,
    // Leaving the process group, which is killed at the end.
    SYS_setsid, SYS_setpgid,
    // Attributes of files.
    SYS_fchmod, SYS_fchmodat, SYS_fchmodat2, SYS_fchown, SYS_fchownat, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr,
    SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, SYS_utimensat,
#ifdef __x86_64__
    SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat,
    // Other processes are not started; see SYS_clone below.
    SYS_fork, SYS_vfork,
#endif
    // The system.
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_setns, SYS_unshare, SYS_move_mount, SYS_open_tree,
    SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_open_by_handle_at, SYS_bpf, SYS_perf_event_open, SYS_keyctl,
    SYS_add_key, SYS_request_key, SYS_userfaultfd,
};

enum { denied_count = sizeof denied_calls / sizeof *denied_calls, longest_filter = 2 * denied_count + 128 };

typedef struct {
    struct sock_filter code[longest_filter];
    unsigned short count;
} filter;

static void add(filter *filter, struct sock_filter instruction) {
    if (filter->count < longest_filter) filter->code[filter->count] = instruction;
    filter->count++; // a filter that is too long is not installed
}

static void load(filter *filter, size_t offset) {
    add(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

// Skips the next `count` instructions unless the loaded value is `value`.
static void unless_equal_skip(filter *filter, uint32_t value, uint8_t count) {
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count));
}

static void add_return(filter *filter, uint32_t action) {
    add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static const uint32_t denied = SECCOMP_RET_ERRNO | EPERM;
// Linux 6.13 added call 463 (setxattrat), with the same number on all architectures.
enum { first_unknown_call = 463 };

// Allows a system call only if the bits `mask` of its first argument are `value`. No such call uses the high half.
static void allow_for_argument(filter *filter, int call, uint32_t mask, uint32_t value) {
    unless_equal_skip(filter, (uint32_t)call, 5);
    load(filter, offsetof(struct seccomp_data, args[0]));
    add(filter, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
    unless_equal_skip(filter, value, 1);
    add_return(filter, SECCOMP_RET_ALLOW);
    add_return(filter, denied);
}

// Denies a system call if the bits `mask` of its argument `index` are `value`.
static void deny_for_argument(filter *filter, int call, int index, uint32_t mask, uint32_t value) {
    unless_equal_skip(filter, (uint32_t)call, 5);
    load(filter, offsetof(struct seccomp_data, args[0]) + (size_t)index * sizeof(uint64_t));
    add(filter, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
    unless_equal_skip(filter, value, 1);
    add_return(filter, denied);
    load(filter, offsetof(struct seccomp_data, nr));
}

// Denies openings that Landlock does not check: for neither reading nor writing (access mode 3), and truncating while
// reading, before Linux 6.2. And O_TMPFILE, whose files would exceed the bound of the space.
static void deny_openings(filter *filter, int call, int index) {
    const uint32_t temporary = 020000000; // the bit of the kernel; O_TMPFILE includes O_DIRECTORY
    deny_for_argument(filter, call, index, O_ACCMODE, O_ACCMODE);
    deny_for_argument(filter, call, index, O_TRUNC | O_ACCMODE, O_TRUNC | O_RDONLY);
    deny_for_argument(filter, call, index, temporary, temporary);
}

static int confine_calls(void) {
#ifndef WB_ARCHITECTURE
    errno = ENOSYS;
    return -1;
#else
    filter filter = {.count = 0};
    load(&filter, offsetof(struct seccomp_data, arch));
    unless_equal_skip(&filter, WB_ARCHITECTURE, 1);
    add(&filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0));
    add_return(&filter, SECCOMP_RET_KILL_PROCESS);
    load(&filter, offsetof(struct seccomp_data, nr));
    // Calls that are newer than this list, and the x32 calls of x86-64, which have larger numbers.
    add(&filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first_unknown_call, 0, 1));
    add_return(&filter, SECCOMP_RET_ERRNO | ENOSYS);
    // Commands to terminals and file systems.
    unless_equal_skip(&filter, SYS_ioctl, 1);
    add_return(&filter, SECCOMP_RET_ERRNO | ENOTTY);
    // It allocates blocks beyond the limit of the file size. The C library writes zeros instead.
    unless_equal_skip(&filter, SYS_fallocate, 1);
    add_return(&filter, SECCOMP_RET_ERRNO | EOPNOTSUPP);
    for (size_t i = 0; i < denied_count; i++) {
        unless_equal_skip(&filter, (uint32_t)denied_calls[i], 1);
        add_return(&filter, denied);
    }
    deny_openings(&filter, SYS_openat, 2);
#ifdef __x86_64__
    deny_openings(&filter, SYS_open, 1);
#endif
    // A descriptor can be made to send a signal to its owner, and to stall other processes that open its file.
    deny_for_argument(&filter, SYS_fcntl, 1, ~0U, F_SETOWN);
    deny_for_argument(&filter, SYS_fcntl, 1, ~0U, F_SETOWN_EX);
    deny_for_argument(&filter, SYS_fcntl, 1, ~0U, F_SETSIG);
    deny_for_argument(&filter, SYS_fcntl, 1, ~0U, F_SETLEASE);
    // The program ends with this process.
    deny_for_argument(&filter, SYS_prctl, 0, ~0U, PR_SET_PDEATHSIG);
    // The flags of clone3 are in memory, where a filter can't read them; the C library falls back to clone.
    unless_equal_skip(&filter, SYS_clone3, 1);
    add_return(&filter, SECCOMP_RET_ERRNO | ENOSYS);
    // Threads may be started, but no processes: each would have limits of its own.
    const uint32_t namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER
        | CLONE_NEWPID | CLONE_NEWNET;
    allow_for_argument(&filter, SYS_clone, CLONE_THREAD | CLONE_PARENT | namespaces, CLONE_THREAD);
    // A program may end itself, as abort does, and read and lower its own limits.
    const uint32_t own = (uint32_t)getpid();
    allow_for_argument(&filter, SYS_kill, ~0U, own);
    allow_for_argument(&filter, SYS_tgkill, ~0U, own);
    allow_for_argument(&filter, SYS_prlimit64, ~0U, 0);
    add_return(&filter, SECCOMP_RET_ALLOW);
    if (filter.count > longest_filter) {
        errno = E2BIG;
        return -1;
    }
    const struct sock_fprog program = {.len = filter.count, .filter = filter.code};
    return (int)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
#endif
}

// MARK: Limits and privileges

static int limit(int resource, uint64_t value, uint64_t margin) {
    struct rlimit now;
    if (getrlimit((__rlimit_resource_t)resource, &now) != 0) return -1;
    const rlim_t soft = value < now.rlim_max ? value : now.rlim_max;
    const rlim_t hard = value < now.rlim_max - margin ? value + margin : now.rlim_max;
    const struct rlimit limit = {soft, hard};
    return setrlimit((__rlimit_resource_t)resource, &limit);
}

static int limit_resources(const wb_process *process) {
    if (limit(RLIMIT_CORE, 0, 0) != 0 || limit(RLIMIT_NOFILE, 64, 0) != 0) return -1;
    if (limit(RLIMIT_FSIZE, process->file_size, 0) != 0) return -1;
    // The kernel sends SIGXCPU at the soft limit, which names the cause, and SIGKILL at the hard one.
    if (limit(RLIMIT_CPU, process->seconds, 1) != 0) return -1;
    return limit(RLIMIT_AS, process->memory, 0);
}

static int drop_privileges(void) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    struct __user_cap_data_struct none[2] = {{0}};
    return (int)syscall(SYS_capset, &header, none);
}

// MARK: Start

typedef struct {
    int32_t outcome, error;
} failure;

static void reset_signals(void) {
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

// Puts the descriptors in their places and closes all others. The report pipe becomes descriptor 3, which execve closes.
static int place_descriptors(const wb_process *process, int *report) {
    const int input = fcntl(process->input, F_DUPFD_CLOEXEC, 10);
    const int output = fcntl(process->output, F_DUPFD_CLOEXEC, 10);
    const int high = fcntl(*report, F_DUPFD_CLOEXEC, 10);
    if (input < 0 || output < 0 || high < 0) return -1;
    *report = high;
    if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0 || dup3(high, 3, O_CLOEXEC) < 0) return -1;
    *report = 3;
    return (int)syscall(SYS_close_range, 4, ~0U, 0);
}

// Executes the program; returns only if that failed.
static failure execute(const wb_process *process, pid_t parent, int *report) {
    // First of all: while a descriptor for writing a program is open in any process, no process can execute that program.
    if (place_descriptors(process, report) != 0) {
        // A kernel without close_range (Linux 5.9) has no Landlock either.
        return (failure){errno == ENOSYS ? wb_process_not_confined : wb_process_no_resources, errno};
    }
    reset_signals();
    // The program ends with the thread that started it, which waits for it. A session of its own has no terminal.
    if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent || chdir(process->directory) != 0
        || limit_resources(process) != 0) {
        return (failure){wb_process_no_resources, errno};
    }
    if (access(process->program, X_OK) != 0) return (failure){wb_process_not_executed, errno};
    if (drop_privileges() != 0 || confine_files(process) != 0 || confine_calls() != 0) {
        return (failure){wb_process_not_confined, errno};
    }
    // Nothing of the caller's environment, which may contain secrets.
    static const char *const environment[] = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8", NULL};
    execve(process->program, (char *const *)process->arguments, (char *const *)environment);
    return (failure){wb_process_not_executed, errno};
}

int32_t wb_process_start(const wb_process *process, pid_t *child, int32_t *error) {
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0) {
        *error = errno;
        return wb_process_no_resources;
    }
    // No handler of this process may run in the child.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t parent = getpid(), id = fork();
    if (id == 0) {
        const failure failure = execute(process, parent, &report[1]);
        (void)!write(report[1], &failure, sizeof failure);
        _exit(127);
    }
    *error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(report[1]);
    failure failure = {wb_process_started, 0};
    if (id < 0) {
        failure.outcome = wb_process_no_resources;
    } else {
        *child = id;
        ssize_t count;
        do count = read(report[0], &failure, sizeof failure);
        while (count < 0 && errno == EINTR);
        if (count > 0) {
            *error = failure.error;
            while (waitpid(id, NULL, 0) < 0 && errno == EINTR) {}
        }
    }
    close(report[0]);
    return failure.outcome;
}

int32_t wb_process_make_file(void) { return memfd_create("waybill", MFD_CLOEXEC); }
