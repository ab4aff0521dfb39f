#define _GNU_SOURCE
#include "order.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

const char *const driver_fields[DRIVER_FIELDS][2] = {
  {"TOKEN", "0123456789abcdef0123456789abcdef"}, {"BUSINESSNO", "20260101-000042"}, {"DOCTYPE", "IDCARD"}};

int driver_read_order(int count, char **arguments, driver_order *order) {
  if (count == 5 || count == 6) {
    *order = (driver_order){arguments[1], arguments[2], atol(arguments[3]), atol(arguments[4]), NULL};
    if (count == 6) order->authority = arguments[5];
    if (order->count > 0 && order->at_once > 0) return 1;
  }
  fprintf(stderr, "%s URL FILE COUNT AT_ONCE [AUTHORITY]\n", arguments[0]);
  return 0;
}

long long driver_nanoseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int compare(const void *left, const void *right) {
  long long a = *(const long long *)left, b = *(const long long *)right;
  return (a > b) - (a < b);
}

void driver_print(long responses, long long bytes, long long *latencies, long long begun) {
  double seconds = (double)(driver_nanoseconds() - begun) / 1e9;
  qsort(latencies, (size_t)responses, sizeof *latencies, compare);
  printf("%ld %lld %.3f %.3f %.6f\n", responses, bytes, (double)latencies[(responses - 1) * 50 / 100] / 1e6,
         (double)latencies[(responses - 1) * 99 / 100] / 1e6, seconds);
}
