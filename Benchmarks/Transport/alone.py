"""What has no peer: forms of many parts, and pictures that are made while others are sent."""

import os

from measure import Failure, product, run
from receiver import Sink

RATE = 500 << 10


def forms(rounds, scale, say):
    """CPU seconds to build and read 200,000 parts: as forms of 1,000 and of 10,000 of them."""
    total = max(20_000, round(200_000 * scale))
    results = {"total": total, "1,000": [], "10,000": []}
    say("forms of many parts")
    for _ in range(rounds):
        for parts, name in ((1_000, "1,000"), (10_000, "10,000")):
            results[name].append(run([product("WaybillErrand"), "build-form", parts, total // parts]).cpu)
    return results


def pictures(rounds, scale, folder, say):
    """Seconds to bring so many pictures of 12 megapixels under 100 KiB and send them to 500 KiB a second."""
    count = max(4, round(100 * scale))
    drawn = os.path.join(folder, "pictures")
    os.makedirs(drawn, exist_ok=True)
    run([product("JPEGErrand"), "draw", drawn])
    results = {"count": count, "batch": [], "in-turn": []}
    with Sink(rate=RATE) as sink:
        for number in range(rounds):
            say("%d pictures to 500 KiB/s: round %d of %d" % (count, number + 1, rounds))
            for way in ("batch", "in-turn"):
                done = run([product("WaybillErrand"), "send-photos", sink.url, drawn, count, way])
                if done.output.strip() != str(count):
                    raise Failure("%s answers came, of %d" % (done.output.strip(), count))
                results[way].append(done.wall)
    return results
