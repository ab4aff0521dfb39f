// What Swift can't reach by itself: unshare(2) is hidden behind _GNU_SOURCE, ioctl(2) is variadic; and malloc(3) is
// replaced in C.
#pragma once

#pragma clang assume_nonnull begin

/// Moves this process, which must have one thread only, and all its children to come into a network of their own:
/// nothing but a loopback device, with Reno as congestion control. Needs no root where user namespaces are allowed.
///
/// Why Reno: a machine whose default is BBR paces even the loopback device, and what is measured then is the pacing.
///
/// - Returns: 0, or the error number of the step that failed; the process is then where it was, or in a network
///   without a loopback device if `*isMoved` is 1.
int bench_move_to_private_network(int *isMoved);

/// What one thread has allocated since it began to count.
typedef struct {
  /// Calls that gave memory.
  long count;
  /// Bytes held now, as malloc_usable_size(3) says.
  long live;
  /// The most bytes held at once.
  long peak;
} bench_allocations;

/// Counts from 0 what the calling thread allocates and frees, by whatever library.
void bench_count_allocations(void);

bench_allocations bench_counted_allocations(void);

void bench_stop_counting_allocations(void);

#pragma clang assume_nonnull end
