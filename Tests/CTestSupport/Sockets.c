#define _GNU_SOURCE
#include "CTestSupport.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in loopback(uint16_t port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

// BBR paces even loopback, so that results vary between runs. Where reno is not permitted the default stays.
static void prefer_reno(int socket) {
    (void)setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
}

static int fail_and_close(int descriptor) {
    int code = errno;
    close(descriptor);
    return -code;
}

int cts_listen(int receive_buffer, int backlog, uint16_t *port) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener < 0) return -errno;
    prefer_reno(listener);
    if (receive_buffer > 0 &&
        setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer) != 0)
        return fail_and_close(listener);
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, size) != 0) return fail_and_close(listener);
    if (listen(listener, backlog) != 0) return fail_and_close(listener);
    if (getsockname(listener, (struct sockaddr *)&address, &size) != 0) return fail_and_close(listener);
    *port = ntohs(address.sin_port);
    return listener;
}

int cts_bind(uint16_t *port) {
    int bound = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bound < 0) return -errno;
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    if (bind(bound, (struct sockaddr *)&address, size) != 0) return fail_and_close(bound);
    if (getsockname(bound, (struct sockaddr *)&address, &size) != 0) return fail_and_close(bound);
    *port = ntohs(address.sin_port);
    return bound;
}

int cts_accept(int listener) {
    int socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (socket < 0) return -errno;
    int on = 1;
    (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return socket;
}

int cts_connect(uint16_t port, int is_blocking) {
    int type = SOCK_STREAM | SOCK_CLOEXEC | (is_blocking ? 0 : SOCK_NONBLOCK);
    int client = socket(AF_INET, type, 0);
    if (client < 0) return -errno;
    prefer_reno(client);
    struct sockaddr_in address = loopback(port);
    if (connect(client, (struct sockaddr *)&address, sizeof address) != 0 && errno != EINPROGRESS)
        return fail_and_close(client);
    return client;
}

ssize_t cts_receive(int socket, void *buffer, size_t room) {
    ssize_t count = recv(socket, buffer, room, MSG_DONTWAIT);
    return count < 0 ? -errno : count;
}

ssize_t cts_peek(int socket, void *buffer, size_t room) {
    ssize_t count = recv(socket, buffer, room, MSG_DONTWAIT | MSG_PEEK);
    return count < 0 ? -errno : count;
}

ssize_t cts_send(int socket, const void *bytes, size_t count) {
    ssize_t sent = send(socket, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent < 0 ? -errno : sent;
}

int cts_finish(int socket) { return shutdown(socket, SHUT_WR) == 0 ? 0 : -errno; }

void cts_reset(int socket) {
    struct linger none = {.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(socket, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    close(socket);
}

void cts_delay_acknowledgements(int socket) {
    int quick = 0;
    (void)setsockopt(socket, IPPROTO_TCP, TCP_QUICKACK, &quick, sizeof quick);
}

void cts_close(int socket) { close(socket); }

int cts_peer_has_closed(int socket) {
    struct sockaddr_in own, peer;
    socklen_t size = sizeof own;
    if (getsockname(socket, (struct sockaddr *)&own, &size) != 0) return 1;
    size = sizeof peer;
    if (getpeername(socket, (struct sockaddr *)&peer, &size) != 0) return 1;

    FILE *table = fopen("/proc/net/tcp", "re");
    if (!table) return 0;
    char line[512];
    int has_closed = 1; // a connection that is no longer in the table is closed
    while (fgets(line, sizeof line, table)) {
        unsigned local_address, local_port, remote_address, remote_port;
        unsigned long inode;
        if (sscanf(line, " %*d: %8x:%4x %8x:%4x %*x %*x:%*x %*x:%*x %*x %*u %*u %lu", &local_address, &local_port,
                   &remote_address, &remote_port, &inode) != 5)
            continue;
        if (local_address != peer.sin_addr.s_addr || local_port != ntohs(peer.sin_port)) continue;
        if (remote_address != own.sin_addr.s_addr || remote_port != ntohs(own.sin_port)) continue;
        has_closed = inode == 0; // no descriptor refers to it
        break;
    }
    fclose(table);
    return has_closed;
}

int cts_wait(int socket, int interests, int event, int stop, int milliseconds) {
    short asked = 0;
    if (interests & cts_readable) asked |= POLLIN;
    if (interests & cts_writable) asked |= POLLOUT;
    if (interests & cts_hung_up) asked |= POLLRDHUP;
    struct pollfd polled[3] = {
        {.fd = socket, .events = asked}, {.fd = event, .events = POLLIN}, {.fd = stop, .events = POLLIN}};
    int count;
    do count = poll(polled, 3, milliseconds);
    while (count < 0 && errno == EINTR);
    if (count < 0) return -errno;

    int seen = 0;
    if (polled[0].revents & POLLIN) seen |= cts_readable;
    if (polled[0].revents & POLLOUT) seen |= cts_writable;
    // An error counts as readable and writable, so that the following call reports it.
    if (polled[0].revents & (POLLRDHUP | POLLHUP | POLLERR)) seen |= cts_hung_up | (interests & 3);
    if (polled[1].revents) seen |= cts_raised;
    if (polled[2].revents) seen |= cts_stopped;
    return seen;
}

int cts_event_make(void) {
    int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return event < 0 ? -errno : event;
}

void cts_event_raise(int event) {
    uint64_t one = 1;
    (void)!write(event, &one, sizeof one);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *position) {
    (void)status, (void)type, (void)position;
    return remove(path);
}

void cts_remove_tree(const char *path) { (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS); }

uint64_t cts_digest(uint64_t state, const void *bytes, size_t count) {
    const uint8_t *next = bytes;
    for (const uint8_t *end = next + count; next != end; next++) state = (state ^ *next) * 0x100000001b3;
    return state;
}
