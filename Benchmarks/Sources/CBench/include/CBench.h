// Functions that Swift cannot call: unshare(2) needs _GNU_SOURCE, ioctl(2) is variadic. malloc(3) is wrapped in C.
#pragma once

#pragma clang assume_nonnull begin

/// Moves this process, which must be single-threaded, and its future children into a network namespace with a loopback
/// device and Reno as congestion control. It needs no root privileges if user namespaces are allowed.
///
/// Reno, because BBR, the default of some machines, paces the loopback device, too, and the pacing would be measured.
///
/// - Returns: 0, or the error number of the failed step. The process is then in its original network, or in one without
///   a loopback device if `*isMoved` is 1.
int bench_move_to_private_network(int *isMoved);

/// The allocations of one thread since counting started.
typedef struct {
  /// The number of successful allocations.
  long count;
  /// The allocated bytes, according to malloc_usable_size(3).
  long live;
  /// The peak of the allocated bytes.
  long peak;
} bench_allocations;

/// Restarts counting the allocations of the calling thread, including those of libraries.
void bench_count_allocations(void);

bench_allocations bench_counted_allocations(void);

void bench_stop_counting_allocations(void);

#pragma clang assume_nonnull end
