// Starts a program that decodes untrusted data: without network, with access only to its input, its output and the files
// of the system (/usr, /lib, /bin), with limits of memory and time, and without access to other processes.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#pragma clang assume_nonnull begin

typedef struct {
    const char *program;                      // an absolute path
    const char *_Nullable const *_Nonnull arguments; // argv, with the name of the program, terminated by NULL
    const char *directory;                    // the working directory; it may write the files that exist there
    int32_t input, output;                    // its standard input; its standard output and error
    uint64_t memory;                          // bytes of address space
    uint64_t seconds;                         // of CPU time
    uint64_t file_size;                       // bytes of each file that it may write
} wb_process;

enum {
    wb_process_started = 0,
    wb_process_no_resources = 1, // fork, pipe, chdir, a descriptor or a limit failed
    wb_process_not_confined = 2, // the kernel lacks Landlock or seccomp, or forbids their use
    wb_process_not_executed = 3, // the program does not exist or cannot be executed
};

// Starts the program in a process group of its own. Returns one of the values above, with `error` set to an errno.
int32_t wb_process_start(const wb_process *process, pid_t *child, int32_t *error);

// Creates an empty file in memory, for the input. Returns its descriptor, or -1 with errno set.
int32_t wb_process_make_file(void);

#pragma clang assume_nonnull end
