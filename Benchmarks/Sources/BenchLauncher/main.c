// Runs a program and writes its costs to descriptor 3: wall and CPU time in nanoseconds, peak memory in bytes, and
// instructions in user space, or -1 if the counters of the processor are unavailable.
//
//   bench-launcher PROGRAM ARGUMENT...
//
// It must be small: the peak memory of a program (ru_maxrss, getrusage(2)) includes that of the process before exec(2).
// Started from a Swift program, curl would seem to need 20 MB.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_in_nanoseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static long long nanoseconds(struct timeval time) { return time.tv_sec * 1000000000LL + time.tv_usec * 1000LL; }

// Opens a counter for a process and its descendants, starting at its exec(2) (perf_event_open(2)).
static int counter_of_instructions(pid_t process) {
  struct perf_event_attr wanted;
  memset(&wanted, 0, sizeof wanted);
  wanted.size = sizeof wanted;
  wanted.type = PERF_TYPE_HARDWARE;
  wanted.config = PERF_COUNT_HW_INSTRUCTIONS;
  wanted.disabled = 1;
  wanted.enable_on_exec = 1;
  wanted.inherit = 1;
  wanted.exclude_kernel = 1;
  wanted.exclude_hv = 1;
  return (int)syscall(SYS_perf_event_open, &wanted, process, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static long long counted(int counter) {
  long long count;
  return counter >= 0 && read(counter, &count, sizeof count) == sizeof count ? count : -1;
}

// The child waits until its counter exists.
static pid_t start(char **arguments, int go_ahead) {
  pid_t child = fork();
  if (child != 0) return child;
  char word;
  close(3);
  if (read(go_ahead, &word, 1) != 1) _exit(127);
  execvp(arguments[0], arguments);
  fprintf(stderr, "%s cannot be started (errno %d). Install it.\n", arguments[0], errno);
  _exit(127);
}

int main(int count, char **arguments) {
  int go_ahead[2];
  if (count < 2 || pipe2(go_ahead, O_CLOEXEC) != 0) return 2;
  pid_t child = start(arguments + 1, go_ahead[0]);
  if (child < 0) return 1;
  int counter = counter_of_instructions(child);

  long long started = now_in_nanoseconds();
  if (write(go_ahead[1], "g", 1) != 1) return 1;
  int status;
  struct rusage usage;
  if (wait4(child, &status, 0, &usage) != child) return 1;
  long long wall = now_in_nanoseconds() - started;

  dprintf(3, "%lld %lld %lld %lld", wall, nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime),
          usage.ru_maxrss * 1024LL, counted(counter));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
