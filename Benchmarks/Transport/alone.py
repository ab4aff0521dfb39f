"""Measurements without a peer: forms of many parts, and images compressed while others are sent."""

import os

from measure import Failure, product, run
from receiver import Sink

RATE = 500 << 10


def forms(rounds, scale, say):
    """Returns the CPU seconds to build and read 200,000 parts, in forms of 1,000 and of 10,000 parts."""
    total = max(20_000, round(200_000 * scale))
    results = {"total": total, "1,000": [], "10,000": []}
    say("forms of many parts")
    for _ in range(rounds):
        for parts, name in ((1_000, "1,000"), (10_000, "10,000")):
            results[name].append(run([product("WaybillWorkload"), "build-form", parts, total // parts]).cpu)
    return results


def pictures(rounds, scale, directory, say):
    """Returns the seconds to compress images of 12 megapixels below 100 KiB and send them at 500 KiB/s."""
    count = max(4, round(100 * scale))
    drawn = os.path.join(directory, "pictures")
    os.makedirs(drawn, exist_ok=True)
    run([product("JPEGWorkload"), "draw", drawn])
    results = {"count": count, "batch": [], "in-turn": []}
    with Sink(rate=RATE) as sink:
        for number in range(rounds):
            say("%d images at 500 KiB/s: round %d of %d" % (count, number + 1, rounds))
            for way in ("batch", "in-turn"):
                done = run([product("WaybillWorkload"), "send-photos", sink.url, drawn, count, way])
                if done.output.strip() != str(count):
                    raise Failure("%s of %d responses arrived" % (done.output.strip(), count))
                results[way].append(done.wall)
    return results
