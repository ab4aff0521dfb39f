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


RIVALS = ("mozjpeg 1600", "mozjpeg 1200", "cjpegli 1600", "cjpegli 1200")


class Report:
    def __init__(self, **facts):
        self.__dict__.update(facts)
        self.images = [image for group in self.photos.values() for image in group]
        self.headers = {image: header(image) for image in self.images}
        self.large = [p for p in self.images if 11e6 <= self.headers[p][0] * self.headers[p][1] < 13e6]
        self.tools = self.ours + self.peers
        self.rivals = [tool.name for tool in self.peers if tool.name in RIVALS]

    def name(self, image):
        return os.path.splitext(os.path.basename(image))[0]

    def done(self, tool):
        return [p for p in self.images if not self.results[tool, p].problem]

    def score(self, tool, images=None, metric="ssimulacra2"):
        images = self.images if images is None else images
        return mean(self.figures[metric, tool, p] for p in images if (metric, tool, p) in self.figures)

    def best(self, image, metric="ssimulacra2"):
        """Returns the figure of the best of the rivals for an image."""
        return max(self.figures[metric, name, image] for name in self.rivals if (metric, name, image) in self.figures)

    def lead(self, tool, images):
        """Returns the leads of a tool over the best of the rivals, one for each image."""
        return [self.figures["ssimulacra2", tool, p] - self.best(p) for p in images]

    def ratios(self, ours, theirs):
        """Returns the ratio of CPU times for each image of 12 megapixels."""
        return [
            self.results[ours, p].cpu / self.results[theirs, p].cpu
            for p in self.large
            if not self.results[ours, p].problem and not self.results[theirs, p].problem
        ]

    def summary(self):
        is_measured = any(metric == "butteraugli" for metric, _, _ in self.figures)
        rows = [["", "SSIMULACRA2, mean", "worst", "bytes of the limit, median", "over the limit", "CPU, mean", "peak memory"]]
        if is_measured:
            rows[0].insert(3, "butteraugli 3-norm, mean")
        for tool in (tool.name for tool in self.tools):
            done = self.done(tool)
            runs = [self.results[tool, p] for p in done]
            over = sum(run.bytes > self.limit for run in runs)
            rows.append([
                tool, "%.1f" % self.score(tool), "%.1f" % min(self.figures["ssimulacra2", tool, p] for p in done),
                "%.1f %%" % (100 * statistics.median(run.bytes / self.limit for run in runs)),
                "%d of %d" % (over, len(self.images)) if over else "none",
                "%.3f s" % mean(run.cpu for run in runs), "%.0f MB" % max(run.memory for run in runs),
            ])
            if is_measured:
                distance = self.score(tool, metric="butteraugli")
                rows[-1].insert(3, "" if distance != distance else "%.2f" % distance)
        return table(rows)

    def pages(self):
        """Returns the table of pages: quality, and the words that Tesseract reads."""
        names = [tool.name for tool in self.ours] + self.rivals
        readers = [name for name in names if any(m == "words" and t == name for m, t, _ in self.figures)]
        rows = [["page"] + names + ["words read: " + name for name in readers]]
        for image in self.texts:
            scores = [self.figures.get(("ssimulacra2", name, image)) for name in names]
            words = [self.figures.get(("words", name, image)) for name in readers]
            rows.append(
                [self.name(image)] + ["" if score is None else "%.1f" % score for score in scores]
                + ["" if share is None else "%.1f %%" % (100 * share) for share in words])
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
        names = [tool.name for tool in self.tools]
        rows = [["SSIMULACRA2"] + names]
        for image in self.images:
            row = [self.figures.get(("ssimulacra2", name, image)) for name in names]
            rows.append([self.name(image)] + ["" if score is None else "%.1f" % score for score in row])
        return table(rows)

    def targets(self):
        rows = [["", "target", "measured", ""]]

        def add(what, asked, reached, is_met):
            rows.append([what, asked, reached, "yes" if is_met else "**no**"])

        self.size_targets(add)
        self.cost_targets(add)
        self.quality_targets(add)
        if self.texts and self.rivals:
            self.page_targets(add)
        return table(rows)

    def size_targets(self, add):
        sizes = [s for shares in self.shares.values() for s, _ in shares]
        add("bytes at five limits", "never over", "largest %.4f %%" % (100 * max(sizes)), max(sizes) <= 1)
        for mode, asked in (("waybill best", 0.997), ("waybill fast", 0.994)):
            share = statistics.median(s for limit in self.limits for s, _ in self.shares[mode, limit])
            add("`%s`, median fill" % mode[8:], "≥ %.1f %%" % (100 * asked), "%.2f %%" % (100 * share), share >= asked)
            least = min(s for limit in self.limits for s, _ in self.shares[mode, limit])
            add("`%s`, least fill" % mode[8:], "≥ 98 %", "%.2f %%" % (100 * least), least >= 0.98)

    def cost_targets(self, add):
        ratios = {
            "waybill fast": {"jpegoptim": 0.20, "Pillow 1600": 0.50, "mozjpeg 1600": 0.30},
            "waybill best": {"jpegoptim": 0.40, "mozjpeg 1600": 0.55, "cjpegli 1600": 1.0},
        }
        for mode, bounds in ratios.items():
            for peer, bound in bounds.items():
                if peer in [tool.name for tool in self.peers] and self.large:
                    worst = max(self.ratios(mode, peer))
                    what = "`%s`, CPU of %s, the worst of %d" % (mode[8:], peer, len(self.large))
                    add(what, "≤ %.2f" % bound, "%.2f" % worst, worst <= bound)
        baseline = [p for p in self.large if not self.headers[p][2]]
        for mode, bound in (("waybill best", 54), ("waybill fast", 48)):
            if baseline:
                peak = max(self.results[mode, p].memory for p in baseline)
                add("`%s`, peak memory, 12 megapixels" % mode[8:], "≤ %d MB" % bound, "%.1f MB" % peak, peak <= bound)

    def quality_targets(self, add):
        for mode in ("waybill fast", "waybill best"):
            pillow = [p for p in self.images if ("ssimulacra2", "Pillow 1600", p) in self.figures]
            if pillow:
                ahead = sum(self.figures["ssimulacra2", mode, p] > self.figures["ssimulacra2", "Pillow 1600", p] for p in pillow)
                add("`%s`, better than Pillow 1600" % mode[8:], "all", "%d of %d" % (ahead, len(pillow)), ahead == len(pillow))
        for title, images in self.photos.items():
            if self.rivals:
                leads = self.lead("waybill best", images)
                won = sum(lead > 0 for lead in leads)
                add(
                    "`best`, quality over the best of %s, %d images of %s" % (", ".join(self.rivals), len(images), title),
                    "≥ +1.0", "%+.2f (%d won)" % (mean(leads), won), mean(leads) >= 1.0)
            for rival in (name for name in ("mozjpeg 1600", "cjpegli 1600") if name in self.rivals):
                ours, theirs = (self.score(name, images, "butteraugli") for name in ("waybill best", rival))
                if ours == ours:
                    ratio = ours / theirs
                    add("`best`, butteraugli of %s, %s" % (rival, title), "≤ 0.94", "%.3f" % ratio, ratio <= 0.94)

    def page_targets(self, add):
        for mode in ("waybill best", "waybill fast"):
            leads = self.lead(mode, self.texts)
            what = "`%s`, %d pages, quality over the best of %s" % (mode[8:], len(leads), ", ".join(self.rivals))
            add(what + ", mean", "≥ +5.0", "%+.2f" % mean(leads), mean(leads) >= 5)
            add(what + ", worst", "≥ 0", "%+.2f" % min(leads), min(leads) >= 0)
            read = [p for p in self.texts if ("words", mode, p) in self.figures and self.best(p, "words") >= 0.96]
            if read:
                least = min(self.figures["words", mode, p] for p in read)
                what = "`%s`, words read, %d pages of which the best of them has 96 %%" % (mode[8:], len(read))
                add(what, "≥ 99 %", "least %.1f %%" % (100 * least), least >= 0.99)

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
        groups = ", ".join("%d images (%s)" % (len(images), title) for title, images in self.photos.items())
        return "\n\n".join([
            "Run on %s: %s and %d pages of text; limit %d bytes, %d rounds in turn, medians. %s; load %.1f at the start."
            % (self.date, groups, len(self.texts), self.limit, self.rounds, self.machine, self.load),
            "%s. The others, and waybill with libjpeg-turbo %s, load %s.%s" % (programs, self.library, libraries, absent),
            self.summary(), "![Quality over CPU time](Images/%s)" % PLOT, "### Against the targets", self.targets(),
            "### Pages of text", self.pages(),
        ])

    def write(self, directory):
        os.makedirs(os.path.join(directory, "Images"), exist_ok=True)
        points = [
            (tool.name, mean(self.results[tool.name, p].cpu for p in self.done(tool.name)), self.score(tool.name),
             any(self.results[tool.name, p].bytes > self.limit for p in self.done(tool.name)))
            for tool in self.tools
        ]
        with open(os.path.join(directory, "Images", PLOT), "w") as file:
            file.write(plot.svg(points))
        path = os.path.join(directory, "Benchmarks.md")
        with open(path) as file:
            whole = file.read()
        before, rest = whole.split(BEGIN)
        after = rest.split(END)[1]
        with open(path + ".new", "w") as file:
            file.write("%s%s\n\n%s\n\n%s%s" % (before, BEGIN, self.page, END, after))
        os.replace(path + ".new", path)
