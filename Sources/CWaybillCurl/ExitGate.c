#define _GNU_SOURCE  // PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
#include "ExitGate.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "CWaybillCurl.h"

// Held to read by each thread at work, and to write from the end of the process on. Whoever wants to write goes first.
static pthread_rwlock_t exit_gate = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static _Atomic int is_shut;
static _Thread_local int is_at_work;
static pthread_key_t last_word;

void wb_begin_work(void) {
    pthread_rwlock_rdlock(&exit_gate);
    // The end of the process waits for nobody for ever, and then the lock is free again.
    if (is_shut) {
        pthread_rwlock_unlock(&exit_gate);
        for (;;) pause();
    }
    is_at_work = 1;
}

void wb_end_work(void) {
    is_at_work = 0;
    pthread_rwlock_unlock(&exit_gate);
}

void wb_end_thread(void) { pthread_setspecific(last_word, "first round"); }

// The destructors of all keys are called once, and then those of keys that have a value again.
static void speak_last_word(void *round) {
    static char second[] = "second round";
    if (round == second) {
        wb_end_work();
    } else {
        pthread_setspecific(last_word, second);
    }
}

// The process may be ended by a thread at work, which then is the one that need not be waited for.
static void shut_exit_gate(void) {
    is_shut = 1;
    if (is_at_work) wb_end_work();
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 2;
    pthread_rwlock_clockwrlock(&exit_gate, CLOCK_MONOTONIC, &until);
}

// A copy of the process has none of the threads that were at work.
static void renew_exit_gate(void) {
    exit_gate = (pthread_rwlock_t)PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
    is_at_work = 0;
}

void wb_set_up_exit_gate(void) {
    pthread_key_create(&last_word, speak_last_word);
    pthread_atfork(NULL, NULL, renew_exit_gate);
    atexit(shut_exit_gate);
}
