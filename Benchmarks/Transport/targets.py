"""The targets P1 to P11: the bound, the measured value, and whether it is met."""

from figures import Spread, median
from sending import in_words

OURS, WATCHED, CURL, MIME, RAW = "waybill", "waybill, watched", "curl -F", "libcurl mime in C", "sendfile in C"
AHC, GO, PIPE, STREAM = "AsyncHTTPClient", "Go, length said", "Go, io.Pipe", "URLSession, stream"


class Row:
    def __init__(self, number, work, against, asked, reached, is_met):
        self.number, self.work, self.against, self.asked, self.reached = number, work, against, asked, reached
        # None: there is no peer.
        self.is_met = is_met

    @property
    def verdict(self):
        return "not measured" if self.is_met is None else "yes" if self.is_met else "**no**"


def at_most(figures, number, work, against, bound, what, mine, theirs):
    ratio = figures.ratio(what, mine, theirs)
    text = "–" if ratio is None else ratio.text()
    return Row(number, work, against, "≤ %.2f" % bound, text, None if ratio is None else ratio.middle <= bound)


def large(figures):
    sizes = [each["size"] for each in figures.stored["workloads"] if each["kind"] == "large"]
    size = in_words(sizes[0]) if sizes else "1 GiB"

    def runs(driver, is_secure=False):
        return figures.runs("large", driver, is_secure=is_secure)

    def close(number, what, mine, against, bound):
        """Compares drivers with close results in their additional rounds."""
        name = {"cpu": "CPU", "wall": "wall"}[what]
        work = "form of %s%s, %s" % (size, ", watched" if mine == WATCHED else "", name)
        return at_most(figures, number, work, against, bound, what, figures.runs("close", mine), figures.runs("close", against))

    def row(number, what, against, bound, is_secure=False):
        name = {"cpu": "CPU", "wall": "wall"}[what]
        work = "form of %s%s, %s" % (size, " over TLS" if is_secure else "", name)
        return at_most(figures, number, work, against, bound, what, runs(OURS, is_secure), runs(against, is_secure))

    first = [row("P1", "cpu", CURL, 0.60), row("P1", "wall", CURL, 0.60), close("P2", "wall", OURS, RAW, 1.35)]
    third = [close("P3", "wall", OURS, AHC, 1.0)]
    third += [row("P3", "wall", peer, bound) for peer, bound in ((GO, 0.5), (PIPE, 0.5), (STREAM, 0.3))]
    return first + third, [row("P6", "cpu", CURL, 1.0, is_secure=True)], [close("P8", what, WATCHED, OURS, 1.03) for what in ("wall", "cpu")]


def small(figures):
    rows = []
    for number, peer, bounds in (
        ("P4", GO, {1: 2.0, 8: 2.0, 64: 2.0}), ("P4", PIPE, {1: 2.0, 8: 2.0, 64: 2.0}),
        ("P4", AHC, {1: 2.0, 8: 2.0, 64: 1.7}), ("P5", MIME, {1: 1.0}),
    ):
        for at_once, bound in bounds.items():
            ratio = figures.ratio(
                "rate", figures.runs("small", OURS, at_once), figures.runs("small", peer, at_once))
            rows.append(Row(
                number, "100 KB forms/s, %d at once" % at_once, peer, "≥ %.1f" % bound,
                "–" if ratio is None else ratio.text(), None if ratio is None else ratio.middle >= bound))
    return rows


def http2(figures):
    rows = []
    for at_once in (1, 8, 64):
        ratio = figures.ratio(
            "rate", figures.runs("http2", OURS, at_once, is_secure=True), figures.runs("http2", GO, at_once, is_secure=True))
        rows.append(Row(
            "P6", "100 KB forms/s over HTTP/2, %d at once" % at_once, GO, "≥ 0.9",
            "–" if ratio is None else ratio.text(), None if ratio is None else ratio.middle >= 0.9))
    return rows


def memory(stored):
    rows = []
    for title, pair in (stored.get("memory") or {}).items():
        growth = median(pair["many"]) - median(pair["few"])
        text = "%+.1f MB (%.1f → %.1f)" % (growth, median(pair["few"]), median(pair["many"]))
        asked = "flat: ≤ 2 MB" if pair["limit"] == 2 else "≤ %d MB" % pair["limit"]
        rows.append(Row("P7", "peak memory, " + title, "itself", asked, text, growth <= pair["limit"]))
    return rows


def truth(stored):
    rows = []
    for name, bound in (("plain", 128), ("TLS", 256)):
        rounds = (stored.get("truth") or {}).get(name)
        if rounds:
            worst = max(each["lead"] for each in rounds) / 1024
            samples = sum(len(each["samples"]) for each in rounds)
            rows.append(Row(
                "P9", "acknowledged − read at 500 KiB/s, " + name, "receiver", "≤ %d KiB" % bound,
                "%.0f KiB, maximum of %d samples" % (worst, samples), worst <= bound))
    return rows


def parser(stored):
    found = stored.get("parser")
    if not found:
        return []

    def speed(content, name="waybill"):
        values = [value for value in found[content].get(name, []) if value is not None]
        return median(values) if values else None

    rows = []
    for peer, bound in (("defnull", 1.5), ("Go", 2.0)):
        usual = [name for name in ("random", "printable", "all CRLF") if speed(name, peer)]
        worst = min((speed(name) / speed(name, peer), name) for name in usual) if usual else None
        rows.append(Row(
            "P10", "parser, chunks of 64 KiB, random, printable and CRLF", peer, "≥ %.1f" % bound,
            "–" if worst is None else "≥ %.2f (%s)" % worst, None if worst is None else worst[0] >= bound))
    hostile, name = min((speed(name) / speed("random"), name) for name in found if name.startswith("hostile"))
    rows.append(Row("P10", "parser, hostile content", "random content", "≥ 0.50", "≥ %.2f (%s)" % (hostile, name), hostile >= 0.5))
    single, name = min((speed(name), name) for name in found if name.startswith("1-byte"))
    rows.append(Row("P10", "parser, " + name, "itself", "≥ 20 MB/s", "%.0f MB/s" % single, single >= 20))
    return rows


def pictures(stored):
    found = stored.get("pictures")
    if not found:
        return []
    ratio = median(found["batch"]) / median(found["in-turn"])
    spread = Spread(a / b for a, b in zip(found["batch"], found["in-turn"]))
    spread.middle = ratio
    work = "compress and send %d images at 500 KiB/s, wall" % found["count"]
    return [Row("P11", work, "one by one", "≤ 0.60", spread.text(), ratio <= 0.6)]


def rows(figures):
    stored = figures.stored
    start, secure, watched = large(figures)
    return (start + small(figures) + secure + http2(figures) + memory(stored) + watched + truth(stored) + parser(stored) + pictures(stored))
