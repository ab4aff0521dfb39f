// What can happen to a program at the n-th of its calls that change a file or send something.
//
// A program that is linked with this has write, fdatasync, unlink and the like of its own, which the libraries it loads
// call too. Each is the system's, until the one that the environment names:
//
//     WAYBILL_FAULT=HOW:CALLS:FIRST:TIMES
//
// HOW: `kill` (before the call), `tear` (after half of the bytes, or after a call that has none), or the number of an
// `errno`. CALLS: letters out of `c` open that may create, `w` write, `s` sync, `t` truncate, `u` unlink, `r` rename,
// `n` send. FIRST: from 1, over all threads; TIMES: how many in a row fail.
//
// With WAYBILL_FAULT_REPORT set, the program says at its end on stderr how many calls there were.
#ifndef WAYBILL_OUTBOX_FAULTS_H
#define WAYBILL_OUTBOX_FAULTS_H

/// How many calls of the chosen kinds there were until now.
long cof_calls(void);

#endif
