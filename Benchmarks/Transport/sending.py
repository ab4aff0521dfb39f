"""The forms that all drivers send in turn (A B A B …), so that load of the machine affects all of them."""

import os

from measure import Failure, run

LARGE, MEDIUM, SMALL = 1 << 30, 16 << 20, 100_000
CLOSE = ("waybill", "waybill, watched", "sendfile in C", "AsyncHTTPClient")
FEW = ("waybill", "waybill, executor", "libcurl mime in C", "AsyncHTTPClient", "Go, length said")

# The kinds of small forms: a special server (see `bench.py`), the end of their title, and the drivers, or None for all.
SMALL_KINDS = {
    "small": (None, "", None), "http2": ("http2", ", HTTP/2 through nginx", None),
    "reconnecting": ("closing", ", a connection for each", FEW), "distant": ("delayed", ", responses after 20 ms", FEW),
}


class Workload:
    """A number of forms with a file of one size, some of them concurrent. Those of the kind `close` are sent by drivers with
    close results."""

    def __init__(self, kind, size, rounds, count=1, at_once=1, is_secure=False):
        self.kind, self.size, self.rounds, self.count, self.at_once, self.is_secure = kind, size, rounds, count, at_once, is_secure

    @property
    def key(self):
        return key(self.kind, self.at_once, self.is_secure)

    @property
    def is_http2(self):
        return self.kind == "http2"

    @property
    def server(self):
        special = SMALL_KINDS[self.kind][0] if self.is_small else None
        return special or ("secure" if self.is_secure else "plain")

    @property
    def is_small(self):
        return self.kind in SMALL_KINDS

    @property
    def variant(self):
        """What distinguishes the workload from others of the same size, for a title."""
        if self.kind == "close":
            return ", by those that are close"
        variant = SMALL_KINDS[self.kind][1] if self.is_small else ""
        return variant or (", TLS" if self.is_secure else "")

    @property
    def title(self):
        size = "100 KB" if self.is_small else in_words(self.size)
        what = "One form with a file of %s" % size if self.count == 1 else "{:,} forms with a file of {}, {} at once".format(
            self.count, size, self.at_once)
        return what + self.variant

    def includes(self, driver):
        """Returns whether a driver sends the forms."""
        chosen = CLOSE if self.kind == "close" else SMALL_KINDS[self.kind][2] if self.is_small else None
        can = driver.http2_command if self.is_http2 else driver.is_secure or not self.is_secure
        return bool(can) and (chosen is None or driver.name in chosen)

    def count_of(self, driver):
        """Returns the number of forms of a driver. Slow ones send fewer, but at least one per concurrent slot."""
        share = {"medium": driver.shares[0], "small": driver.shares[1]}.get(self.kind, 1)
        return self.count if share == 1 else max(min(self.count, 2 * self.at_once), round(self.count * share))


def key(kind, at_once=1, is_secure=False):
    return "%s-%d%s" % (kind, at_once, "-tls" if is_secure else "")


def in_words(size):
    return "%d GiB" % (size >> 30) if size % (1 << 30) == 0 else "%d MiB" % (size >> 20)


def workloads(rounds, scale):
    """Returns all workloads. Forms of 16 MiB over TLS, where the ciphers dominate, and those of a distant server, whose
    delay does, have fewer rounds."""
    large = max(16, round((LARGE >> 20) * scale)) << 20
    found = []

    def add_small(kind, count, turns, at_once, is_secure=False):
        found.extend(Workload(kind, SMALL, turns, max(200, round(count * scale)), n, is_secure) for n in at_once)

    for is_secure, turns in ((False, rounds), (True, (rounds + 1) // 2)):
        found.append(Workload("large", large, rounds, is_secure=is_secure))
        if not is_secure:
            # More rounds, because the targets are smaller than the variation between rounds.
            found.append(Workload("close", large, 5 * rounds))
        found += [Workload("medium", MEDIUM, turns, max(2, round(100 * scale)), n, is_secure) for n in (1, 8, 32)]
        add_small("small", 10_000, rounds, (1, 8, 64), is_secure)
    add_small("http2", 4_000, rounds, (1, 8, 64), True)
    add_small("reconnecting", 4_000, rounds, (1, 8))
    add_small("distant", 4_000, (rounds + 1) // 2, (8, 64))
    return found


def make_file(directory, size):
    """Creates a sparse file of zeros and reads it once, so that its pages are cached."""
    path = os.path.join(directory, "zeros-%d" % size)
    if not os.path.exists(path):
        with open(path, "wb") as file:
            file.truncate(size)
        with open(path, "rb") as file:
            while file.read(1 << 20):
                pass
    return path


def once(driver, workload, sink, authority, directory):
    """Returns the figures of one run of a driver."""
    count = workload.count_of(driver)
    path = make_file(directory, workload.size)
    words = driver.words(
        sink.url, path, count, min(workload.at_once, count), authority.path, directory, workload.is_http2)
    done = run(words)
    sent = driver.read(done)
    least = count * workload.size
    if sent.responses != count or not least < sent.bytes < least + 4096 * count:
        raise Failure("%d of %d forms were received, with %d bytes" % (sent.responses, count, sent.bytes))
    return {
        "count": count, "wall": done.wall, "cpu": done.cpu, "memory": done.memory, "instructions": done.instructions,
        "p50": sent.p50, "p99": sent.p99, "rate": count / sent.seconds,
    }


def measure(drivers, chosen, sinks, authority, directory, say):
    """Returns the figures of all rounds, by workload and driver."""
    results = {}
    for workload in chosen:
        figures = results[workload.key] = {}
        able = [driver for driver in drivers if workload.includes(driver)]
        for number in range(workload.rounds):
            say("%s: round %d of %d" % (workload.title, number + 1, workload.rounds))
            for driver in able:
                if figures.get(driver.name, [0]) is None:
                    continue
                try:
                    figures.setdefault(driver.name, []).append(
                        once(driver, workload, sinks[workload.server], authority, directory))
                except Failure as failure:
                    say("%s: %s" % (driver.name, failure))
                    figures[driver.name] = None
    return results
