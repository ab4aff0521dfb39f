"""Peak memory of waybill: for bodies of any size, for concurrent forms, and for long batches."""

from measure import Failure, product, run
from sending import make_file

# The kinds of MemorySource.swift.
SOURCES = {
    "formFile": "file in a form", "file": "file as the body", "slice": "slice of a file in a form",
    "stream": "stream of known length", "chunked": "sequence of unknown length, chunked",
    "spilled": "sequence of unknown length in a form, spilled",
}


def peak(words, least, most):
    """Returns the megabytes of a run, which must print a number between two bounds."""
    done = run([product("WaybillWorkload")] + words)
    digits = "".join(letter for letter in done.output if letter.isdigit())
    if not digits or not least <= int(digits) <= most:
        raise Failure("%s printed %r" % (words[0], done.output[:200]))
    return done.memory


def measure(sink, rounds, scale, directory, say):
    """Returns pairs of a small and a large workload by title, each with the megabytes per round and the allowed difference."""
    much, many = max(64, round(2048 * scale)) << 20, max(2000, round(100_000 * scale))
    tiny, large, medium = (make_file(directory, size) for size in (1024, much, 16 << 20))
    rows = {}

    def pair(title, limit, few, more):
        row = rows.setdefault(title, {"limit": limit, "few": [], "many": []})
        row["few"].append(peak(*few))
        row["many"].append(peak(*more))

    for number in range(rounds):
        say("memory: round %d of %d" % (number + 1, rounds))
        for source, title in SOURCES.items():
            pair(
                "1 KiB → %d MiB: %s" % (much >> 20, title), 2,
                (["send-source", sink.url, tiny, 1024, source], 1022, 11_000),
                (["send-source", sink.url, large, much, source], much - 2, much + 10_000))
        pair(
            "idle (1 form of 1 KiB) → 32 forms of 16 MiB at once", 16,
            (["send-at-once", sink.url, tiny, 1], 1, 1), (["send-at-once", sink.url, medium, 32], 32, 32))
        pair(
            "lazy batch of 1,000 → {:,}".format(many), 2,
            (["send-batch", sink.url, tiny, 1000], 1000, 1000), (["send-batch", sink.url, tiny, many], many, many))
    return rows
