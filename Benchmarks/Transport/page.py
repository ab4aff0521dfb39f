"""The section of the upload benchmark in Docs/Benchmarks.md: tables and plots."""

import os
import re

import plot
import sending
import targets
from figures import Figures, Spread, median

BEGIN, END = "<!-- begin: make bench -->", "<!-- end: make bench -->"


def table(rows, words=1):
    """Returns a table whose first columns are text and the others figures."""
    head, *body = rows
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * words + " ---: |" * (len(head) - words)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in body])


def slashes(cells):
    """Returns the cells joined with slashes, or one cell if all are equal."""
    cells = list(cells)
    return cells[0] if len(set(cells)) == 1 else "/".join(cells)


def million(spread):
    return "not counted" if spread is None else "%.2f M" % (spread.middle / 1e6)


class Page:
    def __init__(self, stored):
        self.stored = stored
        self.figures = Figures(stored)

    def targets(self):
        rows = [["", "work", "compared with", "target", "measured", ""]]
        rows += [
            [row.number, row.work, row.against, row.asked, row.reached, row.verdict] for row in targets.rows(self.figures)
        ]
        return table(rows, words=3)

    def large(self, workloads):
        """Returns a table with a row per program and columns without and with TLS."""
        columns = ["wall, s", "CPU, s", "peak memory, MB"] + (["instructions"] if self.counts else [])
        rows = [[""] + [("TLS: " if each["is_secure"] else "") + column for each in workloads for column in columns]]
        for name in self.names(workloads):
            row = [name]
            for workload in workloads:
                runs = self.figures.sending[workload["key"]].get(name)
                row += self.cells(columns, runs)
            rows.append(row)
        return table(rows)

    def cells(self, columns, runs):
        if not runs:
            return ["–"] * len(columns)
        cells = ["%.3f" % self.middle(runs, "wall"), "%.3f" % self.middle(runs, "cpu"), "%.1f" % self.middle(runs, "memory")]
        return cells + ([million(self.figures.of(runs, "instructions"))] if self.counts else [])

    def many(self, workloads):
        """Returns a table with a row per program. A cell has the figures for each number of concurrent forms, separated by slashes."""
        rows = [["", "sent"] + ["a second, %d at once" % each["at_once"] for each in workloads]
                + ["CPU a form, ms", "peak memory, MB", "p99, ms"] + (["instructions a form"] if self.counts else [])]
        for name in self.names(workloads):
            found = [self.figures.sending[each["key"]].get(name) for each in workloads]
            row = [name, slashes("%d" % runs[0]["count"] if runs else "–" for runs in found)]
            for workload, runs in zip(workloads, found):
                row.append(self.rate(workload, runs) if runs else "–")
            for what, form, scale in (("cpu", "%.3f", 1e3), ("memory", "%.1f", 1), ("p99", "%.1f", 1)):
                row.append(slashes(form % (self.middle(runs, what) * scale) if runs else "–" for runs in found))
            if self.counts:
                row.append(slashes(million(self.figures.of(runs, "instructions")) if runs else "–" for runs in found))
            rows.append(row)
        return table(rows)

    def rates(self):
        """Returns one table of all concurrent forms: rates and CPU times. The details are printed only."""
        groups = {}
        for workload in self.stored["workloads"]:
            if workload["is_small"] or workload["kind"] == "medium":
                groups.setdefault((workload["is_secure"], workload["kind"]), []).append(workload)
        groups = [groups[key] for key in sorted(groups)]
        rows = [[""]]
        for workloads in groups:
            size = re.search("file of ([^,]+)", workloads[0]["title"]).group(1)
            at_once = "/".join("%d" % each["at_once"] for each in workloads)
            rows[0] += ["%s forms/s%s, %s at once" % (size, workloads[0]["variant"], at_once), "CPU, ms"]
        for name in self.names([workload for workloads in groups for workload in workloads]):
            row = [name]
            for workloads in groups:
                found = [self.figures.sending[each["key"]].get(name) for each in workloads]
                for what, form, scale in (("rate", "%.0f", 1), ("cpu", "%.3f", 1e3)):
                    row.append(slashes(form % (self.middle(runs, what) * scale) if runs else "–" for runs in found))
            rows.append(row)
        return table(rows)

    def rate(self, workload, runs):
        ours = self.figures.runs(workload["kind"], "waybill", workload["at_once"], workload["is_secure"])
        ratio = self.figures.ratio("rate", runs, ours)
        return "%.0f%s" % (self.middle(runs, "rate"), "" if ratio is None else " (%.2f)" % ratio.middle)

    def middle(self, runs, what):
        return self.figures.of(runs, what).middle

    def names(self, workloads):
        """Returns the programs with a figure in one of the workloads, in the order of the first workload."""
        found = {}
        for workload in workloads:
            for name, runs in self.figures.sending[workload["key"]].items():
                if runs:
                    found[name] = True
        return list(found)

    @property
    def counts(self):
        return self.stored["has_instructions"]

    def workloads(self):
        """Returns a table for the large form, and tables without and with TLS for each size of concurrent forms. The repeated
        measurement of close programs appears only in the targets."""
        groups = {}
        for workload in self.stored["workloads"]:
            if workload["kind"] == "large":
                groups.setdefault("large", []).append(workload)
            elif workload["kind"] != "close":
                groups.setdefault((workload["kind"], workload["is_secure"]), []).append(workload)
        parts = []
        for group, workloads in groups.items():
            body = self.large(workloads) if group == "large" else self.many(workloads)
            parts += ["#### %s" % re.sub(", [0-9]+ at once", "", workloads[0]["title"]), body]
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
            parts.append("CPU time to build and read {:,} small parts: {} s in forms of 1,000, {} s in forms of 10,000.".format(
                found["total"], small.text("%.3f"), large.text("%.3f")))
        if "pictures" in stored:
            found = stored["pictures"]
            together, turns = Spread(found["batch"]), Spread(found["in-turn"])
            parts.append("%d images of 12 megapixels, compressed below 100 KiB and sent at 500 KiB/s: %s s as a batch, %s s one by one."
                         % (found["count"], together.text("%.1f"), turns.text("%.1f")))
        if "start" in stored:
            parts += ["### Start of programs", self.start()]
        if "parser" in stored:
            parts += ["### Parsers", "Peers: %s." % "; ".join(stored["parsers"]), self.parser()]
        return parts

    def start(self):
        rows = [["", "CPU, ms", "wall, ms", "peak memory, MB"]]
        for name, runs in self.stored["start"].items():
            rows.append([name] + [
                "%.1f" % (median([run[what] for run in runs]) * scale) for what, scale in (("cpu", 1e3), ("wall", 1e3), ("memory", 1))])
        return table(rows)

    def plots(self):
        """Returns title and text of the files in Images, by name."""
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
        """Returns the complete report for standard output."""
        return self.joined(self.workloads())

    @property
    def page(self):
        """Returns the text for the page, with one table of concurrent forms."""
        large = [each for each in self.stored["workloads"] if each["kind"] == "large"]
        first = ["#### %s" % large[0]["title"], self.large(large)] if large else []
        return self.joined(first + ["#### Concurrent forms", self.rates()])

    def joined(self, workloads):
        stored = self.stored
        absent = "None of the peers is missing." if not stored["absent"] else (
            "**Not installed, so not measured: %s.**" % ", ".join(stored["absent"]))
        images = ["![%s](Images/%s)" % (title, name) for name, (title, _) in self.plots().items()]
        return "\n\n".join([
            "Run on %s: %s in turn%s. %s; load %.1f at the start." % (
                stored["date"], "1 round" if stored["rounds"] == 1 else "%d rounds" % stored["rounds"], "" if stored["scale"] == 1 else ", sizes times %g" % stored["scale"],
                stored["machine"], stored["load"]),
            "; ".join(stored["versions"]) + ". " + absent + " Instructions: %s." % (
                "those of user space" if stored["has_instructions"] else "not counted, because the processor's counters are not available"),
            "### Against the targets", self.targets(), *images, "### All figures", *workloads, *self.others(),
        ])

    def write(self, directory):
        os.makedirs(os.path.join(directory, "Images"), exist_ok=True)
        for name, (_, drawing) in self.plots().items():
            with open(os.path.join(directory, "Images", name), "w") as file:
                file.write(drawing)
        path = os.path.join(directory, "Benchmarks.md")
        with open(path) as file:
            before, rest = file.read().split(BEGIN)
        after = rest.split(END)[1]
        with open(path + ".new", "w") as file:
            file.write("%s%s\n\n%s\n\n%s%s" % (before, BEGIN, self.page, END, after))
        os.replace(path + ".new", path)
