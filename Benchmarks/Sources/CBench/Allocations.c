// Counts the allocations of one thread, by wrapping malloc(3) and related functions of glibc.
#include "CBench.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

// The names of the original functions in glibc, which are in no header.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

static _Thread_local int is_counting;
static _Thread_local bench_allocations counted;

void bench_count_allocations(void) {
  counted = (bench_allocations){0};
  is_counting = 1;
}

bench_allocations bench_counted_allocations(void) { return counted; }

void bench_stop_counting_allocations(void) { is_counting = 0; }

static void *taken(void *memory) {
  if (!is_counting || memory == NULL) return memory;
  counted.count += 1;
  counted.live += (long)malloc_usable_size(memory);
  if (counted.live > counted.peak) counted.peak = counted.live;
  return memory;
}

static void given_back(void *memory) {
  if (is_counting && memory != NULL) counted.live -= (long)malloc_usable_size(memory);
}

void *malloc(size_t size) { return taken(__libc_malloc(size)); }

void *calloc(size_t count, size_t size) { return taken(__libc_calloc(count, size)); }

void *realloc(void *memory, size_t size) {
  long before = memory == NULL ? 0 : (long)malloc_usable_size(memory);
  void *result = __libc_realloc(memory, size);
  if (result == NULL && size > 0) return NULL;
  // Count both blocks, because realloc(3) may have to copy.
  taken(result);
  if (is_counting) counted.live -= before;
  return result;
}

void *memalign(size_t alignment, size_t size) { return taken(__libc_memalign(alignment, size)); }

void *aligned_alloc(size_t alignment, size_t size) { return taken(__libc_memalign(alignment, size)); }

int posix_memalign(void **memory, size_t alignment, size_t size) {
  *memory = taken(__libc_memalign(alignment, size));
  return *memory == NULL ? ENOMEM : 0;
}

void free(void *memory) {
  given_back(memory);
  __libc_free(memory);
}
