#define _GNU_SOURCE
#include "CTestSupport.h"

#include <errno.h>
#include <unistd.h>

#define CACHESTAT 451

int cts_has_cachestat(void) {
    // With a descriptor that is none, a kernel that knows the call says so.
    return syscall(CACHESTAT, -1, 0, 0, 0) == -1 && errno == EBADF;
}
