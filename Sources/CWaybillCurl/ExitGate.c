#define _GNU_SOURCE  // PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
#include "ExitGate.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "CWaybillCurl.h"

// Each thread at work holds the read lock. The exiting process takes the write lock, with preference over readers.
static pthread_rwlock_t exit_gate = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static _Atomic int is_exiting;
static _Thread_local int is_at_work;
static pthread_key_t end_key;

void wb_begin_work(void) {
    pthread_rwlock_rdlock(&exit_gate);
    // exit(3) waits for a limited time only. If it times out, the lock can still be acquired here.
    if (is_exiting) {
        pthread_rwlock_unlock(&exit_gate);
        for (;;) pause();
    }
    is_at_work = 1;
}

void wb_end_work(void) {
    is_at_work = 0;
    pthread_rwlock_unlock(&exit_gate);
}

void wb_end_thread(void) { pthread_setspecific(end_key, "first round"); }

// The destructors of all keys run once, and then again for keys whose value was set meanwhile.
static void run_end_destructor(void *round) {
    static char second[] = "second round";
    if (round == second) {
        wb_end_work();
    } else {
        pthread_setspecific(end_key, second);
    }
}

// If a thread at work ends the process, exit(3) must not wait for that thread.
static void shut_exit_gate(void) {
    is_exiting = 1;
    if (is_at_work) wb_end_work();
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 2;
    pthread_rwlock_clockwrlock(&exit_gate, CLOCK_MONOTONIC, &until);
}

// After fork(2), the child has none of the threads that were at work.
static void renew_exit_gate(void) {
    exit_gate = (pthread_rwlock_t)PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
    is_at_work = 0;
}

void wb_set_up_exit_gate(void) {
    pthread_key_create(&end_key, run_end_destructor);
    pthread_atfork(NULL, NULL, renew_exit_gate);
    atexit(shut_exit_gate);
}
