// Sends the forms with write(2) and sendfile(2) on sockets, with a thread each: no library, no error handling, no TLS.
// It is the upper bound for programs that send a file.
//
//   send_sendfile URL FILE COUNT AT_ONCE
//
// The URL is http://127.0.0.1:PORT/.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "order.h"

#define BOUNDARY "----------------------------7d41b838504d8a12"
static const char tail[] = "\r\n--" BOUNDARY "--\r\n";

static driver_order order;
static struct sockaddr_in address;
static atomic_long begun, ended;
static atomic_llong bytes;
static long long *latencies;

static void stop(const char *what) {
  perror(what);
  exit(1);
}

static int connected(void) {
  int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
  (void)setsockopt(connection, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (connect(connection, (struct sockaddr *)&address, sizeof address) != 0) stop("connect");
  return connection;
}

static size_t write_front(char *text, size_t room, off_t size) {
  char parts[1024];
  size_t length = 0;
  for (int index = 0; index < DRIVER_FIELDS; index++) {
    length += (size_t)snprintf(
      parts + length, sizeof parts - length, "--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n%s\r\n",
      driver_fields[index][0], driver_fields[index][1]);
  }
  length += (size_t)snprintf(
    parts + length, sizeof parts - length,
    "--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"FILE\"; filename=\"file\"\r\n"
    "Content-Type: application/octet-stream\r\n\r\n");
  return (size_t)snprintf(
    text, room,
    "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: multipart/form-data; boundary=" BOUNDARY
    "\r\nContent-Length: %zu\r\n\r\n%s",
    length + (size_t)size + strlen(tail), parts);
}

// Returns the number in the response.
static long long read_answer(int connection) {
  char text[512];
  size_t length = 0;
  while (1) {
    ssize_t count = recv(connection, text + length, sizeof text - 1 - length, 0);
    if (count <= 0) stop("recv");
    length += (size_t)count;
    text[length] = 0;
    char *end = strstr(text, "\r\n\r\n"), *announced = strstr(text, "Content-Length: ");
    if (end && announced && strlen(end + 4) >= (size_t)atol(announced + 16)) return atoll(end + 4);
  }
}

static void send_form(int connection) {
  int file = open(order.path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0) stop(order.path);
  char front[2048];
  size_t length = write_front(front, sizeof front, status.st_size);
  if (send(connection, front, length, MSG_MORE) != (ssize_t)length) stop("send");
  for (off_t sent = 0; sent < status.st_size;) {
    if (sendfile(connection, file, &sent, (size_t)(status.st_size - sent)) <= 0) stop("sendfile");
  }
  if (send(connection, tail, strlen(tail), 0) != (ssize_t)strlen(tail)) stop("send");
  close(file);
}

static void *work(void *unused) {
  (void)unused;
  int connection = connected();
  while (atomic_fetch_add(&begun, 1) < order.count) {
    long long started = driver_nanoseconds();
    send_form(connection);
    atomic_fetch_add(&bytes, read_answer(connection));
    latencies[atomic_fetch_add(&ended, 1)] = driver_nanoseconds() - started;
  }
  close(connection);
  return NULL;
}

int main(int count, char **arguments) {
  if (!driver_read_order(count, arguments, &order)) return 2;
  int port;
  if (sscanf(order.url, "http://127.0.0.1:%d/", &port) != 1) return 2;
  address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  latencies = malloc((size_t)order.count * sizeof *latencies);
  pthread_t *threads = malloc((size_t)order.at_once * sizeof *threads);
  long long started = driver_nanoseconds();
  for (long index = 0; index < order.at_once; index++) pthread_create(&threads[index], NULL, work, NULL);
  for (long index = 0; index < order.at_once; index++) pthread_join(threads[index], NULL);
  driver_print(ended, bytes, latencies, started);
  return 0;
}
