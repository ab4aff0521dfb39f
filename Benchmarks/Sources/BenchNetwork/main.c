// Runs a program in a private network namespace with a loopback device and Reno as congestion control.
//
//   BenchNetwork PROGRAM ARGUMENT...
//
// If that is not permitted, the program runs in the network of the machine. BENCH_NETWORK is then the error number,
// otherwise "private".
#include <CBench.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **arguments) {
  if (count < 2) return 2;
  int is_moved;
  int code = bench_move_to_private_network(&is_moved);
  if (is_moved) {
    fprintf(stderr, "BenchNetwork: the private network has no loopback device or no Reno (errno %d).\n", code);
    return 1;
  }
  char text[16];
  snprintf(text, sizeof text, "%d", code);
  setenv("BENCH_NETWORK", code == 0 ? "private" : text, 1);
  execvp(arguments[1], arguments + 1);
  perror(arguments[1]);
  return 127;
}
