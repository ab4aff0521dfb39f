#define _GNU_SOURCE
#include "CBench.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int raise_loopback(void) {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  struct ifreq request;
  memset(&request, 0, sizeof request);
  strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  int error = ioctl(fd, SIOCSIFFLAGS, &request) == 0 ? 0 : errno;
  close(fd);
  return error;
}

static int choose_reno(void) {
  int fd = open("/proc/sys/net/ipv4/tcp_congestion_control", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  int error = write(fd, "reno", 4) == 4 ? 0 : errno;
  close(fd);
  return error;
}

int bench_move_to_private_network(int *isMoved) {
  *isMoved = 0;
  int flags = CLONE_NEWNET | (geteuid() == 0 ? 0 : CLONE_NEWUSER);
  if (unshare(flags) != 0) return errno;
  *isMoved = 1;
  int error = raise_loopback();
  if (error != 0) return error;
  *isMoved = 0;
  return choose_reno();
}

int bench_count_instructions(void) {
  struct perf_event_attr wanted;
  memset(&wanted, 0, sizeof wanted);
  wanted.type = PERF_TYPE_HARDWARE;
  wanted.size = sizeof wanted;
  wanted.config = PERF_COUNT_HW_INSTRUCTIONS;
  wanted.inherit = 1;
  wanted.exclude_kernel = 1;
  wanted.exclude_hv = 1;
  return (int)syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int64_t bench_instructions(int counter) {
  int64_t count = 0;
  return counter >= 0 && read(counter, &count, sizeof count) == sizeof count ? count : 0;
}
