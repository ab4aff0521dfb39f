// What the drivers in C share: the form that all drivers send, the words they take and the line they print
// (Order.swift and DriverForm.swift say what they are).
#pragma once

typedef struct {
  const char *url;
  const char *path;
  long count;
  long at_once;
  const char *authority;  // or NULL
} driver_order;

#define DRIVER_FIELDS 3
extern const char *const driver_fields[DRIVER_FIELDS][2];

// 1 if the words make an order; else what is wrong has been printed.
int driver_read_order(int count, char **arguments, driver_order *order);

long long driver_nanoseconds(void);

// Prints the line and sorts the latencies, in nanoseconds, for it; `begun` is when the sending did.
void driver_print(long answers, long long bytes, long long *latencies, long long begun);
