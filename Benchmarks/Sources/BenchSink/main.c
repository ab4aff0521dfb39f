// A server that receives uploads as fast as one thread and the kernel can, so that only the client is measured.
//
//   BenchSink [--tls CERTIFICATE KEY] [--rate BYTES_PER_SECOND] [--log FILE] [--delay MILLISECONDS] [--close]
//
// Prints its port on 127.0.0.1 and serves until its standard input ends. Without TLS bodies are discarded in the
// kernel (recv with MSG_TRUNC, tcp(7)) without a copy. Each response has the number of body bytes received, which
// proves the work of a run.
//
// A rate limits all connections together, with a receive buffer (SO_RCVBUF) of 64 KiB. The log has a line for each read
// of a body: the time (CLOCK_MONOTONIC) and the bytes of that body received so far. With a delay, each response is sent
// that long after the request was received. With --close, each response ends its connection.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "Request.h"
#include "Secure.h"

typedef struct connection {
  int socket;
  void *session;
  request request;
  // The time of a delayed response, and the connection with the next one.
  long long due;
  struct connection *next;
} connection;

// What remains to be done with a connection that has been served.
typedef enum { KEEP, DELAY, DROP } verdict;

static int is_secure, closes;
static long long rate, delay;
static FILE *log_file;
// Bytes discarded in the kernel are not written to it, so it never becomes resident.
static char buffer[1 << 20];

static long long now_in_nanoseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

// Waits until the rate allows this number of bytes.
static void keep_pace(long long count) {
  static long long next;
  if (rate == 0 || count == 0) return;
  long long now = now_in_nanoseconds();
  next = (next > now ? next : now) + count * 1000000000LL / rate;
  struct timespec until = {.tv_sec = next / 1000000000LL, .tv_nsec = next % 1000000000LL};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {}
}

static int respond(connection *connection, const char *text) {
  size_t length = strlen(text);
  ssize_t sent = connection->session ? secure_write(connection->session, text, length)
                                     : send(connection->socket, text, length, MSG_NOSIGNAL);
  return sent == (ssize_t)length;
}

static int answer_count(connection *connection) {
  char count[32], text[128];
  int length = snprintf(count, sizeof count, "%lld", connection->request.taken);
  snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s",
           closes ? "Connection: close\r\n" : "", length, count);
  if (log_file) fflush(log_file);
  request_reset(&connection->request);
  return respond(connection, text) && !closes;
}

// Reads once. Returns -1 with EAGAIN if it would block, 0 at the end.
static ssize_t read_once(connection *connection, size_t *wanted) {
  request *request = &connection->request;
  long long room = request_room(request), step = rate ? 8192 : (long long)sizeof buffer;
  // Read little of what must be parsed within a body: discarding the following content is cheaper.
  *wanted = (size_t)(room > 0 ? (room < step ? room : step) : request->place == IN_HEAD ? (rate ? 1024 : 16384) : 16);
  ssize_t count;
  if (connection->session) {
    count = secure_read(connection->session, buffer, *wanted);
  } else {
    count = recv(connection->socket, buffer, *wanted, room > 0 ? MSG_TRUNC : 0);
  }
  if (count <= 0) return count;
  if (room > 0) {
    request_discard(request, count);
    return count;
  }
  for (ssize_t fed = 0; fed < count;) {
    fed += (ssize_t)request_feed(request, buffer + fed, (size_t)(count - fed));
    // No client pipelines requests.
    if (request->place == IS_OVER && fed < count) request->is_broken = 1;
    if (request->is_broken) return 0;
  }
  return count;
}

// Reads available bytes, up to a limit for fairness.
static verdict serve(connection *connection) {
  request *request = &connection->request;
  long long allowance = 4 << 20;
  while (1) {
    long long before = request->taken;
    size_t wanted;
    ssize_t count = read_once(connection, &wanted);
    if (count < 0 && errno == EAGAIN) return KEEP;
    if (count <= 0) return DROP;
    if (request->expects_continue && request->place != IN_HEAD) {
      request->expects_continue = 0;
      if (!respond(connection, "HTTP/1.1 100 Continue\r\n\r\n")) return DROP;
    }
    if (log_file) fprintf(log_file, "%lld %lld\n", now_in_nanoseconds(), request->taken);
    keep_pace(request->taken - before);
    if (request->place == IS_OVER && delay) return DELAY;
    if (request->place == IS_OVER && !answer_count(connection)) return DROP;
    allowance -= count;
    if (connection->session ? allowance <= 0 && !secure_has_more(connection->session)
                            : allowance <= 0 || (size_t)count < wanted)
      return KEEP;
  }
}

static int listen_on_loopback(void) {
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), room = 65536;
  (void)setsockopt(listener, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
  // Set before listen, because connections inherit it: with a large buffer, a slow server would look fast.
  if (rate) setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  if (bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 256) != 0 ||
      getsockname(listener, (struct sockaddr *)&address, &length) != 0) {
    perror("BenchSink");
    exit(1);
  }
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  return listener;
}

static void watch(int poller, connection *connection) {
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
  epoll_ctl(poller, EPOLL_CTL_ADD, connection->socket, &event);
}

static void accept_one(int listener, int poller) {
  int one = 1, client = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client < 0) return;
  setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  connection *connection = malloc(sizeof *connection);
  connection->socket = client;
  connection->session = is_secure ? secure_open(client) : NULL;
  request_reset(&connection->request);
  watch(poller, connection);
}

static void drop(connection *connection) {
  if (connection->session) secure_close(connection->session);
  close(connection->socket);
  free(connection);
}

// The connections with delayed responses, the next one first.
static connection *first_delayed, *last_delayed;

// Appends a connection to the delayed ones. It is not read until then.
static void postpone(int poller, connection *connection) {
  epoll_ctl(poller, EPOLL_CTL_DEL, connection->socket, NULL);
  connection->due = now_in_nanoseconds() + delay;
  connection->next = NULL;
  if (first_delayed) last_delayed->next = connection;
  else first_delayed = connection;
  last_delayed = connection;
}

// Sends the responses that are due. Returns the milliseconds until the next one, rounded up, or -1.
static int answer_delayed(int poller) {
  while (first_delayed) {
    connection *connection = first_delayed;
    long long left = connection->due - now_in_nanoseconds();
    if (left > 0) return (int)((left + 999999) / 1000000);
    first_delayed = connection->next;
    if (answer_count(connection)) watch(poller, connection);
    else drop(connection);
  }
  return -1;
}

static int complain(void) {
  fprintf(stderr, "BenchSink [--tls CERTIFICATE KEY] [--rate BYTES_PER_SECOND] [--log FILE] [--delay MILLISECONDS] [--close]\n");
  return 2;
}

int main(int count, char **arguments) {
  for (int index = 1; index < count; index++) {
    if (strcmp(arguments[index], "--tls") == 0 && index + 2 < count) {
      if (secure_set_up(arguments[index + 1], arguments[index + 2]) != 0) return 1;
      is_secure = 1;
      index += 2;
    } else if (strcmp(arguments[index], "--rate") == 0 && index + 1 < count) {
      rate = atoll(arguments[++index]);
    } else if (strcmp(arguments[index], "--log") == 0 && index + 1 < count) {
      log_file = fopen(arguments[++index], "we");
    } else if (strcmp(arguments[index], "--delay") == 0 && index + 1 < count) {
      delay = atoll(arguments[++index]) * 1000000LL;
    } else if (strcmp(arguments[index], "--close") == 0) {
      closes = 1;
    } else {
      return complain();
    }
  }
  signal(SIGPIPE, SIG_IGN);
  int poller = epoll_create1(EPOLL_CLOEXEC), listener = listen_on_loopback();
  static int standard_input, new_connection;
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = &new_connection};
  epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
  event.data.ptr = &standard_input;
  epoll_ctl(poller, EPOLL_CTL_ADD, STDIN_FILENO, &event);
  struct epoll_event found[64];
  while (1) {
    int ready = epoll_wait(poller, found, 64, answer_delayed(poller));
    for (int index = 0; index < ready; index++) {
      void *place = found[index].data.ptr;
      if (place == &standard_input) return 0;
      if (place == &new_connection) {
        accept_one(listener, poller);
      } else {
        verdict verdict = serve(place);
        if (verdict == DROP) drop(place);
        if (verdict == DELAY) postpone(poller, place);
      }
    }
  }
}
