"""The forms that all drivers send in turn (A B A B …), so that load of the machine affects all of them."""

import os

from measure import Failure, run

LARGE, MEDIUM, SMALL = 1 << 30, 16 << 20, 100_000
CLOSE = ("waybill", "waybill, watched", "sendfile in C", "AsyncHTTPClient")


class Workload:
    """A number of forms with a file of one size, some of them concurrent; by all drivers, by those with close results, or by
    those that support HTTP/2."""

    def __init__(self, size, count, at_once, is_secure, rounds, is_close=False, is_http2=False):
        self.size, self.count, self.at_once, self.is_secure, self.rounds = size, count, at_once, is_secure, rounds
        self.is_close, self.is_http2 = is_close, is_http2

    @property
    def kind(self):
        if self.is_close or self.is_http2:
            return "close" if self.is_close else "http2"
        return "large" if self.count == 1 else "medium" if self.size == MEDIUM else "small"

    @property
    def key(self):
        return key(self.kind, self.at_once, self.is_secure)

    @property
    def title(self):
        size = {"medium": "16 MiB", "small": "100 KB", "http2": "100 KB"}.get(self.kind, in_words(self.size))
        what = "One form with a file of %s" % size if self.count == 1 else "{:,} forms with a file of {}, {} at once".format(
            self.count, size, self.at_once)
        return what + (", by those that are close" if self.is_close else "") + (
            ", HTTP/2 through nginx" if self.is_http2 else ", TLS" if self.is_secure else "")

    def count_of(self, driver):
        """Returns the number of forms of a driver. Slow ones send fewer, but at least one per concurrent slot."""
        share = {"large": 1, "close": 1, "medium": driver.shares[0], "small": driver.shares[1], "http2": 1}[self.kind]
        return self.count if share == 1 else max(min(self.count, 2 * self.at_once), round(self.count * share))


def key(kind, at_once=1, is_secure=False):
    return "%s-%d%s" % (kind, at_once, "-tls" if is_secure else "")


def in_words(size):
    return "%d GiB" % (size >> 30) if size % (1 << 30) == 0 else "%d MiB" % (size >> 20)


def workloads(rounds, scale):
    """Returns all workloads. Over TLS, where the ciphers dominate, concurrent forms have fewer rounds."""
    large = max(16, round((LARGE >> 20) * scale)) << 20
    found = []
    for is_secure, turns in ((False, rounds), (True, (rounds + 1) // 2)):
        found.append(Workload(large, 1, 1, is_secure, rounds))
        if not is_secure:
            # More rounds, because the targets are smaller than the variation between rounds.
            found.append(Workload(large, 1, 1, is_secure, 5 * rounds, is_close=True))
        found += [Workload(MEDIUM, max(2, round(100 * scale)), n, is_secure, turns) for n in (1, 8, 32)]
        found += [Workload(SMALL, max(200, round(10_000 * scale)), n, is_secure, turns) for n in (1, 8, 64)]
    found += [Workload(SMALL, max(200, round(4_000 * scale)), n, True, rounds, is_http2=True) for n in (1, 8, 64)]
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
        able = [
            driver for driver in drivers
            if (driver.is_secure or not workload.is_secure) and (driver.name in CLOSE or not workload.is_close)
            and (driver.http2_command or not workload.is_http2)
        ]
        for number in range(workload.rounds):
            say("%s: round %d of %d" % (workload.title, number + 1, workload.rounds))
            for driver in able:
                if figures.get(driver.name, [0]) is None:
                    continue
                try:
                    figures.setdefault(driver.name, []).append(
                        once(driver, workload, sinks["http2" if workload.is_http2 else workload.is_secure], authority, directory))
                except Failure as failure:
                    say("%s: %s" % (driver.name, failure))
                    figures[driver.name] = None
    return results
