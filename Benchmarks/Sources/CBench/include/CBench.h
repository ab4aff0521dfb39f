// What Swift can't reach by itself: unshare(2) is hidden behind _GNU_SOURCE, ioctl(2) is variadic,
// perf_event_open(2) has no function.
#pragma once

#include <stdint.h>

#pragma clang assume_nonnull begin

/// Moves this process, which must have one thread only, and all its children to come into a network of their own:
/// nothing but a loopback device, with Reno as congestion control. Needs no root where user namespaces are allowed.
///
/// Why Reno: a machine whose default is BBR paces even the loopback device, and what is measured then is the pacing.
///
/// - Returns: 0, or the error number of the step that failed; the process is then where it was, or in a network
///   without a loopback device if `*isMoved` is 1.
int bench_move_to_private_network(int *isMoved);

/// Begins to count the instructions of this thread and of those it starts from now on, without the kernel's.
///
/// - Returns: A descriptor, or -1 where the machine has no such counter or does not show it, as many virtual ones.
int bench_count_instructions(void);

/// The count so far, or 0 for no counter.
int64_t bench_instructions(int counter);

#pragma clang assume_nonnull end
