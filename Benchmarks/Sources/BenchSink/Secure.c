#include "Secure.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

// The functions used, as declared in the manual pages (SSL_new(3), SSL_read(3) and so on).
static struct {
  void *(*TLS_server_method)(void);
  void *(*SSL_CTX_new)(const void *method);
  int (*SSL_CTX_use_certificate_chain_file)(void *context, const char *file);
  int (*SSL_CTX_use_PrivateKey_file)(void *context, const char *file, int type);
  void *(*SSL_new)(void *context);
  int (*SSL_set_fd)(void *session, int connection);
  void (*SSL_set_accept_state)(void *session);
  int (*SSL_read)(void *session, void *buffer, int count);
  int (*SSL_write)(void *session, const void *bytes, int count);
  int (*SSL_pending)(const void *session);
  int (*SSL_get_error)(const void *session, int result);
  void (*SSL_free)(void *session);
  void (*ERR_clear_error)(void);
} library;

enum { FILETYPE_PEM = 1, ERROR_WANT_READ = 2, ERROR_WANT_WRITE = 3, ERROR_ZERO_RETURN = 6 };

static void *context;

static int load(void) {
  void *handle = dlopen("libssl.so.3", RTLD_NOW);
  if (!handle) return 0;
  const struct {
    const char *name;
    void *place;
  } wanted[] = {
#define WANTED(name) {#name, &library.name}
    WANTED(TLS_server_method), WANTED(SSL_CTX_new), WANTED(SSL_CTX_use_certificate_chain_file),
    WANTED(SSL_CTX_use_PrivateKey_file), WANTED(SSL_new), WANTED(SSL_set_fd), WANTED(SSL_set_accept_state),
    WANTED(SSL_read), WANTED(SSL_write), WANTED(SSL_pending), WANTED(SSL_get_error), WANTED(SSL_free),
    WANTED(ERR_clear_error),
#undef WANTED
  };
  for (size_t index = 0; index < sizeof wanted / sizeof wanted[0]; index++) {
    void *symbol = dlsym(handle, wanted[index].name);
    if (!symbol) return 0;
    *(void **)wanted[index].place = symbol;
  }
  return 1;
}

int secure_set_up(const char *certificate, const char *key) {
  if (!load()) {
    fprintf(stderr, "BenchSink: %s\n", dlerror());
    return 1;
  }
  context = library.SSL_CTX_new(library.TLS_server_method());
  if (context && library.SSL_CTX_use_certificate_chain_file(context, certificate) == 1 &&
      library.SSL_CTX_use_PrivateKey_file(context, key, FILETYPE_PEM) == 1)
    return 0;
  fprintf(stderr, "BenchSink: OpenSSL cannot load %s and %s.\n", certificate, key);
  return 1;
}

void *secure_open(int connection) {
  void *session = library.SSL_new(context);
  library.SSL_set_fd(session, connection);
  library.SSL_set_accept_state(session);
  return session;
}

void secure_close(void *session) { library.SSL_free(session); }

static ssize_t outcome(void *session, int result) {
  if (result > 0) return result;
  int code = library.SSL_get_error(session, result);
  if (code == ERROR_ZERO_RETURN) return 0;
  errno = code == ERROR_WANT_READ || code == ERROR_WANT_WRITE ? EAGAIN : EPROTO;
  return -1;
}

ssize_t secure_read(void *session, void *buffer, size_t count) {
  library.ERR_clear_error();
  return outcome(session, library.SSL_read(session, buffer, (int)count));
}

ssize_t secure_write(void *session, const void *bytes, size_t count) {
  library.ERR_clear_error();
  return outcome(session, library.SSL_write(session, bytes, (int)count));
}

int secure_has_more(void *session) { return library.SSL_pending(session) > 0; }
