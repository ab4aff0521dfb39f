// TLS with the system's OpenSSL, a dependency of libcurl. It is loaded at run time, so its headers are not needed.
#pragma once
#include <stddef.h>
#include <sys/types.h>

// Loads the library, a certificate and its key (PEM). Returns 0, or prints an error.
int secure_set_up(const char *certificate, const char *key);

void *secure_open(int connection);
void secure_close(void *session);

// Like recv(2) and send(2) on a nonblocking socket: -1 with EAGAIN if they would block.
ssize_t secure_read(void *session, void *buffer, size_t count);
ssize_t secure_write(void *session, const void *bytes, size_t count);

// Returns whether decrypted bytes are buffered, which poll(2) does not report.
int secure_has_more(void *session);
