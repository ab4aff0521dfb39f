"""Shared by the drivers in Python: the form, the arguments and the line of results (see Order.swift)."""

import sys
import threading
import time

FIELDS = [
    ("TOKEN", "0123456789abcdef0123456789abcdef"),
    ("BUSINESSNO", "20260101-000042"),
    ("DOCTYPE", "IDCARD"),
]


class Order:
    def __init__(self):
        words = sys.argv[1:]
        self.url, self.path, self.count, self.at_once = words[0], words[1], int(words[2]), int(words[3])
        self.authority = words[4] if len(words) > 4 else None
        self.bytes = 0
        self.latencies = []
        self.begun = None

    def begin(self):
        """Starts the time of sending, which excludes the start of the program and its library."""
        self.begun = time.perf_counter()

    def shares(self):
        """Returns the number of forms of each worker."""
        places = min(self.at_once, self.count)
        return [self.count // places + (1 if place < self.count % places else 0) for place in range(places)]

    def ended(self, started, answer):
        self.latencies.append(time.perf_counter() - started)
        self.bytes += int(answer)

    def carry_out(self, worker):
        """Calls `worker(order, share)` on threads. The first failure ends the program."""
        failures = []

        def work(share):
            try:
                worker(self, share)
            except Exception as error:
                failures.append(error)

        self.begin()
        threads = [threading.Thread(target=work, args=(share,)) for share in self.shares()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        self.report()

    def report(self):
        seconds = time.perf_counter() - self.begun
        ordered = sorted(self.latencies)

        def milliseconds(share):
            return ordered[(len(ordered) - 1) * share // 100] * 1000

        print(len(ordered), self.bytes, "%.3f" % milliseconds(50), "%.3f" % milliseconds(99), "%.6f" % seconds)
