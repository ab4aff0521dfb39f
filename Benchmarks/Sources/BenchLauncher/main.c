// Runs a program and writes what it cost to descriptor 3.
//
//   bench-launcher PROGRAM ARGUMENT...
//
// It exists to be small. The kernel counts the process that turns into another one at exec(2) to that one's peak
// memory (ru_maxrss, getrusage(2)); started from a Swift program, curl would seem to need 20 MB.

#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static long long now_in_nanoseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static long long nanoseconds(struct timeval time) { return time.tv_sec * 1000000000LL + time.tv_usec * 1000LL; }

int main(int count, char **arguments) {
  if (count < 2) return 2;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addclose(&actions, 3);

  long long start = now_in_nanoseconds();
  pid_t child;
  int code = posix_spawnp(&child, arguments[1], &actions, NULL, arguments + 1, environ);
  if (code != 0) {
    fprintf(stderr, "%s can't be started (errno %d). Is it installed?\n", arguments[1], code);
    return 127;
  }
  int status;
  struct rusage usage;
  if (wait4(child, &status, 0, &usage) != child) return 1;
  long long wall = now_in_nanoseconds() - start;

  dprintf(3, "%lld %lld %lld", wall, nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime),
          usage.ru_maxrss * 1024LL);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
