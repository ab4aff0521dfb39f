"""What the benchmark of uploads writes into Docs/Benchmarks.md: tables, and plots beside it."""

import os

import plot
import sending
import targets
from figures import Figures, Spread, median

BEGIN, END = "<!-- begin: make bench -->", "<!-- end: make bench -->"


def table(rows, words=1):
    """The first columns hold words, the others figures."""
    head, *body = rows
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * words + " ---: |" * (len(head) - words)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in body])


def million(spread):
    return "not counted" if spread is None else "%.2f M" % (spread.middle / 1e6)


class Page:
    def __init__(self, stored):
        self.stored = stored
        self.figures = Figures(stored)

    def targets(self):
        rows = [["", "work", "against", "asked", "reached", ""]]
        rows += [
            [row.number, row.work, row.against, row.asked, row.reached, row.verdict] for row in targets.rows(self.figures)
        ]
        return table(rows, words=3)

    def large(self, workload):
        rows = [["", "wall", "of waybill's", "CPU", "of waybill's", "instructions", "peak memory", "MiB a second"]]
        ours = self.figures.runs(workload["kind"], "waybill", is_secure=workload["is_secure"])
        for name, runs in self.runs(workload):
            def of(what):
                return self.figures.of(runs, what)

            def ratio(what):
                found = self.figures.ratio(what, runs, ours)
                return "–" if found is None else "%.2f" % found.middle

            rows.append([
                name, of("wall").text("%.3f") + " s", ratio("wall"), of("cpu").text("%.3f") + " s", ratio("cpu"),
                million(of("instructions")), "%.1f MB" % of("memory").middle,
                "%.0f" % (workload["size"] / of("wall").middle / (1 << 20)),
            ])
        return table(rows)

    def many(self, workload):
        rows = [["", "sent", "forms a second", "of waybill's", "CPU a form", "instructions a form", "peak memory",
                 "p50 / p99"]]
        ours = self.figures.runs(workload["kind"], "waybill", workload["at_once"], workload["is_secure"])
        for name, runs in self.runs(workload):
            def of(what):
                return self.figures.of(runs, what)

            ratio = self.figures.ratio("rate", runs, ours)
            form = "%.1f" if workload["kind"] == "medium" else "%.0f"
            cpu = Spread(value * 1e3 for value in of("cpu").values)
            rows.append([
                name, str(runs[0]["count"]), of("rate").text(form), "–" if ratio is None else "%.2f" % ratio.middle,
                cpu.text("%.3f") + " ms", million(of("instructions")), "%.1f MB" % of("memory").middle,
                "%.2f / %.2f ms" % (of("p50").middle, of("p99").middle),
            ])
        return table(rows)

    def runs(self, workload):
        found = self.figures.sending[workload["key"]]
        return [(name, runs) for name, runs in found.items() if runs]

    def workloads(self):
        parts = []
        for workload in self.stored["workloads"]:
            body = self.large(workload) if workload["kind"] in ("large", "close") else self.many(workload)
            parts += ["#### %s" % workload["title"], body]
        return parts

    def parser(self):
        found = self.stored["parser"]
        names = list(next(iter(found.values())))
        rows = [["MB per second of CPU"] + [word for name in names for word in ([name] if name == "waybill" else [name, "ratio"])]]
        for content, figures in found.items():
            middles = {name: [v for v in figures[name] if v is not None] for name in names}
            row, ours = [content], median(middles["waybill"])
            for name in names:
                middle = median(middles[name]) if middles[name] else None
                row.append("–" if middle is None else "%.0f" % middle)
                if name != "waybill":
                    row.append("–" if middle is None else "%.2f" % (ours / middle))
            rows.append(row)
        return table(rows)

    def others(self):
        stored, parts = self.stored, []
        if "forms" in stored:
            found = stored["forms"]
            small, large = Spread(found["1,000"]), Spread(found["10,000"])
            rows = [["to build and read {:,} small parts".format(found["total"]), "forms of 1,000", "forms of 10,000", "ratio"]]
            rows.append(["CPU", small.text("%.3f") + " s", large.text("%.3f") + " s", "%.2f" % (large.middle / small.middle)])
            parts += ["### Forms of many parts", table(rows)]
        if "pictures" in stored:
            found = stored["pictures"]
            together, turns = Spread(found["batch"]), Spread(found["in-turn"])
            rows = [["%d pictures of 12 megapixels, each under 100 KiB, to 500 KiB/s" % found["count"], "batch", "one after the other"]]
            rows.append(["wall", together.text("%.1f") + " s", turns.text("%.1f") + " s"])
            parts += ["### Pictures made while others are sent", table(rows)]
        if "parser" in stored:
            parts += ["### Parsers", "Peers: %s." % "; ".join(stored["parsers"]), self.parser()]
        return parts

    def plots(self):
        """Files of Images by their names: title and text."""
        found = {}
        rows = []
        for name, runs in (self.figures.sending.get("large-1") or {}).items():
            if runs:
                rows.append((name, name.startswith("waybill"), [self.figures.of(runs, "wall"), self.figures.of(runs, "cpu")]))
        if rows:
            title = next(each["title"] for each in self.stored["workloads"] if each["key"] == "large-1") + ", seconds"
            found["upload-large.svg"] = (title, plot.bars(title, ["wall", "CPU"], rows))
        rows = []
        for name in self.figures.sending.get(sending.key("small"), {}):
            runs = [self.figures.runs("small", name, at_once) for at_once in (1, 8, 64)]
            rows.append((name, name.startswith("waybill"), [self.figures.of(each, "rate") if each else None for each in runs]))
        if rows:
            title = "Forms of 100 KB a second"
            found["upload-small.svg"] = (title, plot.bars(title, ["1", "8", "64 at once"], rows, "%.0f"))
        if "truth" in self.stored:
            title = "Acknowledged, and read by a receiver of 500 KiB/s: KiB"
            found["upload-truth.svg"] = (title, self.truth_plot(title))
        return found

    def truth_plot(self, title):
        each = self.stored["truth"]["plain"][0]
        start = each["samples"][0][0]

        def points(pairs):
            return [((time - start) / 1e9, amount / 1024) for time, amount in pairs if time >= start]

        read, acknowledged = points(each["log"][::4] + each["log"][-1:]), points(each["samples"])
        return plot.lines(
            title, [("acknowledged", "acknowledged", acknowledged), ("read", "read", read)], read[-1][0], read[-1][1])

    @property
    def text(self):
        stored = self.stored
        absent = "None of the peers is missing." if not stored["absent"] else (
            "**Not here, so not measured: %s.**" % ", ".join(stored["absent"]))
        images = ["![%s](Images/%s)" % (title, name) for name, (title, _) in self.plots().items()]
        return "\n\n".join([
            "Run on %s: %s in turn%s. %s; load %.1f at the start." % (
                stored["date"], "1 round" if stored["rounds"] == 1 else "%d rounds" % stored["rounds"], "" if stored["scale"] == 1 else ", sizes times %g" % stored["scale"],
                stored["machine"], stored["load"]),
            "; ".join(stored["versions"]) + ". " + absent + " Instructions: %s." % (
                "those of user space" if stored["has_instructions"] else "not counted here, for the processor's counters can't be had"),
            "### Against the targets", self.targets(), *images, "### All figures", *self.workloads(), *self.others(),
            "Again: `make bench-setup`, then `make bench`.",
        ])

    def write(self, folder):
        os.makedirs(os.path.join(folder, "Images"), exist_ok=True)
        for name, (_, drawing) in self.plots().items():
            with open(os.path.join(folder, "Images", name), "w") as file:
                file.write(drawing)
        path = os.path.join(folder, "Benchmarks.md")
        with open(path) as file:
            before, rest = file.read().split(BEGIN)
        after = rest.split(END)[1]
        with open(path + ".new", "w") as file:
            file.write("%s%s\n\n%s\n\n%s%s" % (before, BEGIN, self.text, END, after))
        os.replace(path + ".new", path)
