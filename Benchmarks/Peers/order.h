// Shared by the drivers in C: the form, the arguments and the line of results (see Order.swift and DriverForm.swift).
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

// Parses the arguments. Returns 1, or prints an error.
int driver_read_order(int count, char **arguments, driver_order *order);

long long driver_nanoseconds(void);

// Sorts the latencies in nanoseconds and prints the line of results. `begun` is the start of sending.
void driver_print(long responses, long long bytes, long long *latencies, long long begun);
