#define _GNU_SOURCE
#include "CTestSupport.h"

#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct watched_name {
    struct watched_name *next;
    int begun;
    int is_released;
    char text[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct watched_name *names; // never shrinks: a lookup may hang longer than its test

// Requires the lock.
static struct watched_name *entry(const char *text) {
    for (struct watched_name *name = names; name; name = name->next)
        if (strcasecmp(name->text, text) == 0) return name;
    size_t size = strlen(text) + 1;
    struct watched_name *name = calloc(1, sizeof *name + size);
    if (!name) abort();
    memcpy(name->text, text, size);
    name->next = names;
    names = name;
    return name;
}

int cts_lookups_begun(const char *text) {
    pthread_mutex_lock(&lock);
    int begun = entry(text)->begun;
    pthread_mutex_unlock(&lock);
    return begun;
}

void cts_await_lookups(const char *text, int count) {
    pthread_mutex_lock(&lock);
    struct watched_name *name = entry(text);
    while (name->begun < count && !name->is_released) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

void cts_release_name(const char *text) {
    pthread_mutex_lock(&lock);
    entry(text)->is_released = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void begin(const char *text, int waits) {
    pthread_mutex_lock(&lock);
    struct watched_name *name = entry(text);
    name->begun++;
    pthread_cond_broadcast(&changed);
    while (waits && !name->is_released) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static int ends_with(const char *text, const char *ending) {
    size_t length = strlen(text), tail = strlen(ending);
    return length > tail && strcasecmp(text + length - tail, ending) == 0;
}

typedef int (*getaddrinfo_function)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
static getaddrinfo_function real_getaddrinfo;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void find_real(void) { real_getaddrinfo = (getaddrinfo_function)dlsym(RTLD_NEXT, "getaddrinfo"); }

int getaddrinfo(
    const char *restrict node, const char *restrict service, const struct addrinfo *restrict hints,
    struct addrinfo **restrict result) {
    pthread_once(&once, find_real);
    if (!node) return real_getaddrinfo(node, service, hints, result);
    if (ends_with(node, ".never.invalid")) {
        begin(node, 1);
        return EAI_AGAIN;
    }
    if (ends_with(node, ".absent.invalid")) {
        begin(node, 0);
        return EAI_NONAME;
    }
    if (ends_with(node, ".loopback.invalid") || ends_with(node, ".late.invalid")) {
        begin(node, ends_with(node, ".late.invalid"));
        if (hints && hints->ai_family == AF_INET6) return EAI_NONAME;
        struct addrinfo asked = {.ai_family = AF_INET};
        if (hints) {
            asked.ai_socktype = hints->ai_socktype;
            asked.ai_protocol = hints->ai_protocol;
        }
        return real_getaddrinfo("127.0.0.1", service, &asked, result);
    }
    return real_getaddrinfo(node, service, hints, result);
}
