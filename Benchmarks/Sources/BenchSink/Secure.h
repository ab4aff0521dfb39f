// TLS by the system's OpenSSL, which libcurl brings along; found at run time, so that its headers are not needed.
#pragma once
#include <stddef.h>
#include <sys/types.h>

// Loads the library, a certificate and its key (PEM); 0 if that worked, else it has said what is wrong.
int secure_set_up(const char *certificate, const char *key);

void *secure_open(int connection);
void secure_close(void *session);

// As recv(2) and send(2) on a socket that does not wait: -1 with EAGAIN where nothing is there yet.
ssize_t secure_read(void *session, void *buffer, size_t count);
ssize_t secure_write(void *session, const void *bytes, size_t count);

// Whether bytes are there that the socket no longer tells of.
int secure_has_more(void *session);
