"""The section of the image benchmark in Docs/Benchmarks.md: tables and a plot."""

import os
import statistics

import plot

BEGIN, END = "<!-- begin: make bench-jpeg -->", "<!-- end: make bench-jpeg -->"
PLOT = "jpeg-quality.svg"


def header(path):
    """Returns width, height and whether a JPEG file is progressive, from its frame header (ITU-T T.81, B.2.2)."""
    with open(path, "rb") as file:
        data = file.read()
    place = 2
    while place + 9 < len(data):
        marker = data[place + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = int.from_bytes(data[place + 5 : place + 7], "big"), int.from_bytes(data[place + 7 : place + 9], "big")
            return width, height, marker in (0xC2, 0xC6, 0xCA, 0xCE)
        place += 2 + int.from_bytes(data[place + 2 : place + 4], "big")
    return 0, 0, False


def table(rows):
    head, *body = rows
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in body])


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else float("nan")


class Report:
    def __init__(self, **facts):
        self.__dict__.update(facts)
        self.headers = {image: header(image) for image in self.images}
        self.large = [p for p in self.images if 11e6 <= self.headers[p][0] * self.headers[p][1] < 13e6]
        self.tools = self.ours + self.peers

    def name(self, image):
        return os.path.splitext(os.path.basename(image))[0]

    def done(self, tool):
        return [p for p in self.images if not self.results[tool, p].problem]

    def score(self, tool, images=None):
        return mean(self.scores[tool, p] for p in images or self.images if (tool, p) in self.scores)

    def ratios(self, ours, theirs):
        """Returns the ratio of CPU times for each image of 12 megapixels."""
        return [
            self.results[ours, p].cpu / self.results[theirs, p].cpu
            for p in self.large
            if not self.results[ours, p].problem and not self.results[theirs, p].problem
        ]

    def summary(self):
        rows = [["", "SSIMULACRA2, mean", "worst", "bytes of the limit, median", "over the limit", "CPU, mean", "peak memory"]]
        for tool in (tool.name for tool in self.tools):
            done = self.done(tool)
            runs = [self.results[tool, p] for p in done]
            over = sum(run.bytes > self.limit for run in runs)
            rows.append([
                tool, "%.1f" % self.score(tool), "%.1f" % min(self.scores[tool, p] for p in done),
                "%.1f %%" % (100 * statistics.median(run.bytes / self.limit for run in runs)),
                "%d of %d" % (over, len(self.images)) if over else "none",
                "%.3f s" % mean(run.cpu for run in runs), "%.0f MB" % max(run.memory for run in runs),
            ])
        for peer in self.stored:
            scores = [self.scores[peer, p] for p in self.images]
            rows.append([peer + " ¹", "%.1f" % mean(scores), "%.1f" % min(scores), "", "", "", ""])
        return table(rows)

    def fill(self):
        rows = [["limit"] + ["%s, median / least" % tool.name for tool in self.ours]]
        for limit in self.limits:
            cells = []
            for tool in self.ours:
                shares = [share for share, _ in self.shares[tool.name, limit]]
                cells.append("%.2f / %.2f %%" % (100 * statistics.median(shares), 100 * min(shares)) if shares else "")
            rows.append(["%d KiB" % (limit // 1024)] + cells)
        return table(rows)

    def speed(self):
        pairs = [(ours.name, peer.name) for ours in self.ours[:2] for peer in self.peers]
        rows = [["CPU for 12 megapixels"] + ["%s / %s" % pair for pair in pairs]]
        for place, image in enumerate(self.large):
            rows.append([self.name(image)] + ["%.2f" % self.ratios(*pair)[place] for pair in pairs])
        return table(rows)

    def quality(self):
        names = [tool.name for tool in self.tools] + self.stored
        rows = [["SSIMULACRA2"] + names]
        for image in self.images:
            row = [self.scores.get((name, image)) for name in names]
            rows.append([self.name(image)] + ["" if score is None else "%.1f" % score for score in row])
        return table(rows)

    def targets(self):
        rows = [["", "target", "measured", ""]]

        def add(what, asked, reached, is_met):
            rows.append([what, asked, reached, "yes" if is_met else "**no**"])

        sizes = [s for shares in self.shares.values() for s, _ in shares]
        add("bytes at five limits", "never over", "largest %.4f %%" % (100 * max(sizes)), max(sizes) <= 1)
        for mode, asked in (("waybill best", 0.997), ("waybill fast", 0.992)):
            share = statistics.median(s for limit in self.limits for s, _ in self.shares[mode, limit])
            add("`%s`, median fill" % mode[8:], "≥ %.1f %%" % (100 * asked), "%.2f %%" % (100 * share), share >= asked)
            least = min(s for limit in self.limits for s, _ in self.shares[mode, limit])
            add("`%s`, least fill" % mode[8:], "≥ 98 %", "%.2f %%" % (100 * least), least >= 0.98)
        ratios = {
            "waybill fast": {"jpegoptim": 0.25, "Pillow 1600": 0.60, "mozjpeg 1600": 0.30},
            "waybill best": {"jpegoptim": 0.50, "mozjpeg 1600": 0.55, "cjpegli 1600": 1.0},
        }
        for mode, bounds in ratios.items():
            for peer, bound in bounds.items():
                if peer in [tool.name for tool in self.peers] and self.large:
                    worst = max(self.ratios(mode, peer))
                    what = "`%s`, CPU of %s, the worst of %d" % (mode[8:], peer, len(self.large))
                    add(what, "≤ %.2f" % bound, "%.2f" % worst, worst <= bound)
        moz = next((n for n in ("mozjpeg 1600", "moz-1600") if n in [t.name for t in self.peers] + self.stored), None)
        for mode, bound in (("waybill fast", 6.0), ("waybill best", 6.8)):
            if moz:
                lead = self.score(mode) - self.score(moz)
                add("`%s`, quality over mozjpeg 1600" % mode[8:], "≥ +%.1f" % bound, "%+.1f" % lead, lead >= bound)
            pillow = [p for p in self.images if ("Pillow 1600", p) in self.scores]
            if pillow:
                ahead = sum(self.scores[mode, p] > self.scores["Pillow 1600", p] for p in pillow)
                add("`%s`, better than Pillow 1600" % mode[8:], "all", "%d of %d" % (ahead, len(pillow)), ahead == len(pillow))
        rivals = [n for n in ("moz-1600", "moz-1200", "jpegli-1600") if n in self.stored]
        if rivals:
            best = mean(max(self.scores[n, p] for n in rivals) for p in self.images)
            lead = self.score("waybill best") - best
            add("`best`, quality over the best of %s" % ", ".join(rivals), "≥ +2.8", "%+.1f" % lead, lead >= 2.8)
        baseline = [p for p in self.large if not self.headers[p][2]]
        if baseline:
            for tool in self.ours:
                peak = max(self.results[tool.name, p].memory for p in baseline)
                add("`%s`, peak memory, 12 megapixels" % tool.name[8:], "≤ 48 MB", "%.1f MB" % peak, peak <= 48)
        return table(rows)

    @property
    def text(self):
        """Returns the complete report for standard output."""
        return "\n\n".join([
            self.page, "### Fill", self.fill(), "### CPU per image", self.speed(),
            "### Quality per image", self.quality(),
        ])

    @property
    def page(self):
        """Returns the text for the page."""
        programs = "; ".join("%s: %s" % (tool.name, tool.version) for tool in self.peers)
        loaded = sorted({library for found in self.libraries.values() for library in found})
        libraries = ", ".join("%s of %s" % pair for pair in loaded)
        absent = "" if not self.absent else " Not installed, so not measured: %s." % ", ".join(self.absent)
        stored = "" if not self.stored else (
            "¹ Images made earlier with the highest quality that fits; only quality is measured.\n\n")
        return "\n\n".join([
            "Run on %s: %d images, %s; limit %d bytes, %d rounds in turn, medians. %s; load %.1f at the start."
            % (self.date, len(self.images), self.corpus, self.limit, self.rounds, self.machine, self.load),
            "%s. All of them, and waybill with libjpeg-turbo %s, load %s.%s" % (programs, self.library, libraries, absent),
            self.summary(), stored + "![Quality over CPU time](Images/%s)" % PLOT, "### Against the targets", self.targets(),
        ])

    def write(self, directory):
        os.makedirs(os.path.join(directory, "Images"), exist_ok=True)
        points = [
            (tool.name, mean(self.results[tool.name, p].cpu for p in self.done(tool.name)), self.score(tool.name),
             any(self.results[tool.name, p].bytes > self.limit for p in self.done(tool.name)))
            for tool in self.tools
        ]
        levels = [(peer, self.score(peer)) for peer in self.stored]
        with open(os.path.join(directory, "Images", PLOT), "w") as file:
            file.write(plot.svg(points, levels))
        path = os.path.join(directory, "Benchmarks.md")
        with open(path) as file:
            whole = file.read()
        before, rest = whole.split(BEGIN)
        after = rest.split(END)[1]
        with open(path + ".new", "w") as file:
            file.write("%s%s\n\n%s\n\n%s%s" % (before, BEGIN, self.page, END, after))
        os.replace(path + ".new", path)
