// Injects a fault at the n-th call of a program that changes a file or sends data.
//
// A program linked with this library has its own write, fdatasync, unlink and so on, which the libraries it loads
// call, too. Each forwards to the system until the call named by the environment:
//
//     WAYBILL_FAULT=HOW:CALLS:FIRST:TIMES
//
// HOW: `kill` (before the call), `tear` (after half of the bytes, or after a call without bytes), or an `errno`
// value. CALLS: any of the letters `c` open that may create, `w` write, `s` sync, `t` truncate, `u` unlink, `r`
// rename, `n` send. FIRST: the number of the call, from 1, over all threads. TIMES: the number of consecutive calls
// that fail.
//
// With WAYBILL_FAULT_REPORT set, the program prints the number of calls to stderr when it ends.
#ifndef WAYBILL_OUTBOX_FAULTS_H
#define WAYBILL_OUTBOX_FAULTS_H

/// Returns the number of calls of the chosen kinds so far.
long cof_calls(void);

#endif
