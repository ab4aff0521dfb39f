"""The targets P1 to P12: the bound, the measured value, and whether it is met."""

from figures import Spread, median
from sending import in_words

OURS, WATCHED, EXECUTOR = "waybill", "waybill, watched", "waybill, executor"
CURL, MIME, RAW = "curl -F", "libcurl mime in C", "sendfile in C"
AHC, GO, STREAM = "AsyncHTTPClient", "Go, length said", "URLSession, stream"


class Row:
    def __init__(self, number, work, against, asked, reached, is_met):
        self.number, self.work, self.against, self.asked, self.reached = number, work, against, asked, reached
        # None: there is no peer.
        self.is_met = is_met

    @property
    def verdict(self):
        return "not measured" if self.is_met is None else "yes" if self.is_met else "**no**"


def compared(figures, number, work, against, what, mine, theirs, at_most=None, at_least=None):
    """Returns a row whose measured value is a ratio."""
    ratio = figures.ratio(what, mine, theirs)
    asked = "≤ %.2f" % at_most if at_least is None else "≥ %.2f" % at_least
    if ratio is None:
        return Row(number, work, against, asked, "–", None)
    is_met = ratio.middle <= at_most if at_least is None else ratio.middle >= at_least
    return Row(number, work, against, asked, ratio.text(), is_met)


def large(figures):
    sizes = [each["size"] for each in figures.stored["workloads"] if each["kind"] == "large"]
    size = in_words(sizes[0]) if sizes else "1 GiB"
    names = {"cpu": "CPU", "wall": "wall"}

    def close(number, what, mine, against, bound):
        """Compares drivers with close results in their additional rounds."""
        work = "form of %s%s, %s" % (size, ", watched" if mine == WATCHED else "", names[what])
        return compared(
            figures, number, work, against, what, figures.runs("close", mine), figures.runs("close", against), at_most=bound)

    def row(number, what, against, bound, is_secure=False):
        work = "form of %s%s, %s" % (size, " over TLS" if is_secure else "", names[what])
        ours, theirs = (figures.runs("large", driver, is_secure=is_secure) for driver in (OURS, against))
        return compared(figures, number, work, against, what, ours, theirs, at_most=bound)

    return [
        row("P1", "cpu", CURL, 0.50), row("P1", "wall", CURL, 0.55), close("P2", "wall", OURS, RAW, 1.10),
        close("P3", "wall", OURS, AHC, 1.0), row("P3", "wall", GO, 0.60), row("P3", "wall", STREAM, 0.20),
    ], [row("P6", "cpu", CURL, 0.75, is_secure=True)], [close("P8", what, WATCHED, OURS, 1.03) for what in ("wall", "cpu")]


def small(figures):
    def row(number, what, at_once, mine, against, kind="small", title="", is_secure=False, **bound):
        work = "%s%s, %d at once%s" % (
            {"rate": "100 KB forms/s", "cpu": "CPU of a 100 KB form"}[what], title, at_once,
            {OURS: "", WATCHED: ", watched", EXECUTOR: ", on the executor"}[mine])
        ours, theirs = (figures.runs(kind, driver, at_once, is_secure) for driver in (mine, against))
        return compared(figures, number, work, against, what, ours, theirs, **bound)

    start = [row("P4", "rate", at_once, OURS, peer, at_least=1.5) for peer in (GO, AHC) for at_once in (8, 64)]
    start += [row("P5", "rate", 1, OURS, MIME, at_least=0.75), row("P5", "rate", 1, EXECUTOR, MIME, at_least=1.0)]
    start += [row("P5", "cpu", at_once, OURS, MIME, at_most=1.0) for at_once in (8, 64)]
    secure = [row("P6", "rate", at_once, OURS, GO, "small", " over TLS", True, at_least=1.0) for at_once in (1, 8, 64)]
    secure += [row("P6", "rate", at_once, OURS, GO, "http2", " over HTTP/2", True, at_least=0.9) for at_once in (1, 8, 64)]
    watched = [row("P8", "cpu", at_once, WATCHED, OURS, at_most=1.15) for at_once in (1, 8, 64)]
    return start, secure, watched


def memory(stored):
    rows = []
    for title, pair in (stored.get("memory") or {}).items():
        growth = median(pair["many"]) - median(pair["few"])
        text = "%+.1f MB (%.1f → %.1f)" % (growth, median(pair["few"]), median(pair["many"]))
        asked = "≤ %d MB" % pair["limit"]
        rows.append(Row("P7", "peak memory, " + title, "itself", asked, text, growth <= pair["limit"]))
    return rows


def truth(stored):
    rows = []
    for name, bound in (("plain", 128), ("TLS", 192)):
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
    for peer, bound in (("defnull", 2.5), ("Go", 2.4)):
        usual = [name for name in ("random", "printable", "all CRLF") if speed(name, peer)]
        worst = min((speed(name) / speed(name, peer), name) for name in usual) if usual else None
        rows.append(Row(
            "P10", "parser, chunks of 64 KiB, random, printable and CRLF", peer, "≥ %.1f" % bound,
            "–" if worst is None else "≥ %.2f (%s)" % worst, None if worst is None else worst[0] >= bound))
    hostile, name = min((speed(name) / speed("random"), name) for name in found if name.startswith("hostile"))
    rows.append(Row("P10", "parser, hostile content", "random content", "≥ 0.80", "≥ %.2f (%s)" % (hostile, name), hostile >= 0.8))
    single, name = min((speed(name), name) for name in found if name.startswith("1-byte"))
    rows.append(Row("P10", "parser, " + name, "itself", "≥ 80 MB/s", "%.0f MB/s" % single, single >= 80))
    return rows


def pictures(stored):
    found = stored.get("pictures")
    if not found:
        return []
    ratio = median(found["batch"]) / median(found["in-turn"])
    spread = Spread(a / b for a, b in zip(found["batch"], found["in-turn"]))
    spread.middle = ratio
    work = "compress and send %d images at 500 KiB/s, wall" % found["count"]
    return [Row("P11", work, "one by one", "≤ 0.45", spread.text(), ratio <= 0.45)]


def start(stored):
    found = stored.get("start") or {}
    if "waybill post" not in found or CURL not in found:
        return []
    ours, theirs = ([run["cpu"] for run in found[name]] for name in ("waybill post", CURL))
    spread = Spread(a / b for a, b in zip(ours, theirs))
    spread.middle = median(ours) / median(theirs)
    return [Row("P12", "waybill post, one form of 1 KB, CPU", CURL, "≤ 2.0", spread.text(), spread.middle <= 2)]


def rows(figures):
    stored = figures.stored
    large_first, large_secure, large_watched = large(figures)
    small_first, small_secure, small_watched = small(figures)
    return (
        large_first + small_first + large_secure + small_secure + memory(stored) + large_watched + small_watched
        + truth(stored) + parser(stored) + pictures(stored) + start(stored))
