"""The lead of acknowledged bytes over the bytes that a slow server has read, at every snapshot.

Both sides record times of the same clock. The server reads 500 KiB/s with a receive buffer of 64 KiB. Bytes in that buffer are
acknowledged by its kernel and unread by its program; the lead must not exceed them.
"""

import bisect
import os

from measure import Failure, product, run
from receiver import Sink
from sending import make_file

RATE = 500 << 10


def leads(samples, log):
    """Returns the lead of each snapshot (nanoseconds, bytes) over the bytes read at its time."""
    times = [time for time, _ in log]
    found = []
    for time, acknowledged in samples:
        place = bisect.bisect_right(times, time) - 1
        found.append(acknowledged - (log[place][1] if place >= 0 else 0))
    return found


def pairs(text):
    return [tuple(int(word) for word in line.split()) for line in text.split("\n") if line.strip()]


def once(size, authority, is_secure, directory):
    path, log_path = make_file(directory, size), os.path.join(directory, "receiver.log")
    with Sink(authority if is_secure else None, rate=RATE, log=log_path) as sink:
        words = [product("WaybillWorkload"), "send-sampled", sink.url, path] + ([authority.path] if is_secure else [])
        samples = pairs(run(words).output)
    with open(log_path) as file:
        log = pairs(file.read())
    if not samples or not log or log[-1][1] < size or samples[-1][1] != log[-1][1]:
        raise Failure("the server read %s, and waybill acknowledged %s of %d" % (log[-1:], samples[-1:], size))
    return {"lead": max(leads(samples, log)), "samples": samples, "log": log}


def measure(authority, rounds, scale, directory, say):
    size = max(1 << 20, round((4 << 20) * scale))
    results = {}
    for is_secure in (False, True):
        name = "TLS" if is_secure else "plain"
        for number in range(rounds):
            say("acknowledged against read, %s: round %d of %d" % (name, number + 1, rounds))
            results.setdefault(name, []).append(once(size, authority, is_secure, directory))
    return results
