"""Bar and line plots as SVG, for light and dark pages."""

import html

WIDTH, LEFT, RIGHT, BAR, TOP = 760, 170, 90, 15, 40

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .faint { fill: #59636e }
  .grid { stroke: #d1d9e0; stroke-width: 1 }
  .back { fill: #ffffff }
  .ours { fill: #0969da } .peer { fill: #818b98 } .spread { stroke: #1f2328; stroke-width: 1 }
  .second { opacity: 0.65 } .third { opacity: 0.4 }
  .line { fill: none; stroke-width: 2 } .read { stroke: #818b98 } .acknowledged { stroke: #0969da }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .faint { fill: #9198a1 } .grid { stroke: #3d444d } .back { fill: #0d1117 }
    .ours { fill: #4493f8 } .spread { stroke: #e6edf3 } .acknowledged { stroke: #4493f8 } .read { stroke: #9198a1 }
  }
"""


def document(title, height, parts):
    return '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img">\n<title>%s</title>\n<style>%s</style>\n%s\n</svg>\n' % (
        WIDTH, height, html.escape(title), STYLE,
        "\n".join(['<rect class="back" width="%d" height="%d"/>' % (WIDTH, height)] + parts))


def step(top):
    """Returns a round step for a few grid lines below `top`."""
    size = 1.0
    while size * 10 < top:
        size *= 10
    while size > top:
        size /= 10
    return next(size * factor for factor in (0.1, 0.2, 0.5, 1, 2, 5) if top / (size * factor) <= 6)


def text(x, y, words, anchor="start", kind=""):
    return '<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>' % (
        x, y, anchor, ' class="%s"' % kind if kind else "", html.escape(words))


def grid(top, x, bottom, form):
    parts, value, size = [], 0.0, step(top)
    while value <= top * 1.001:
        parts.append('<line class="grid" x1="%.1f" x2="%.1f" y1="%d" y2="%.1f"/>' % (x(value), x(value), TOP, bottom))
        parts.append(text(x(value), bottom + 18, form % value, "middle", "faint"))
        value += size
    return parts


def bars(title, series, rows, form="%.2f"):
    """`rows`: name, whether it is ours, a Spread or None for each of the `series`. A thin line shows minimum and maximum."""
    top = max(spread.most for _, _, spreads in rows for spread in spreads if spread) * 1.02
    ours = [spread.middle for _, is_ours, spreads in rows if is_ours for spread in spreads if spread]
    if ours:
        # An outlier must not compress the scale: its bar ends at the edge, with its figure beside it.
        top = min(top, 10 * max(ours))
    height = len(series) * BAR + 10
    bottom = TOP + len(rows) * height

    def x(value):
        return LEFT + (WIDTH - LEFT - RIGHT) * min(value, top) / top

    kinds = ["", " second", " third"]
    parts = grid(top, x, bottom, "%g")
    parts.append(text(LEFT, 22, title + " (from above: %s)" % ", ".join(series) if len(series) > 1 else title))
    for number, (name, is_ours, spreads) in enumerate(rows):
        start = TOP + number * height + 5
        parts.append(text(LEFT - 8, start + len(series) * BAR / 2 + 4, name, "end"))
        for place, spread in enumerate(spreads):
            if spread is None:
                continue
            y, kind = start + place * BAR, ("ours" if is_ours else "peer") + kinds[place % 3]
            middle = y + (BAR - 2) / 2
            parts.append('<rect class="%s" x="%d" y="%.1f" width="%.1f" height="%d"/>' % (
                kind, LEFT, y, x(spread.middle) - LEFT, BAR - 2))
            parts.append('<line class="spread" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>' % (
                x(spread.least), x(spread.most), middle, middle))
            parts.append(text(x(spread.most) + 6, middle + 4, form % spread.middle, kind="faint"))
    return document(title, bottom + 30, parts)


def lines(title, curves, seconds, kibibytes):
    """`curves`: class, name, points of seconds and KiB."""
    height, bottom, right = 320, 270, WIDTH - 130

    def x(time):
        return 70 + (right - 70) * time / seconds

    def y(size):
        return bottom - (bottom - TOP) * size / kibibytes

    parts = grid(seconds, x, bottom, "%g s") + [text(70, 22, title)]
    value, size = 0.0, step(kibibytes)
    while value <= kibibytes * 1.001:
        parts.append('<line class="grid" x1="70" x2="%d" y1="%.1f" y2="%.1f"/>' % (right, y(value), y(value)))
        parts.append(text(62, y(value) + 4, "%g" % value, "end", "faint"))
        value += size
    for place, (kind, name, points) in enumerate(curves):
        path = " ".join("%.1f,%.1f" % (x(time), y(amount)) for time, amount in points)
        parts.append('<polyline class="line %s" points="%s"/>' % (kind, path))
        parts.append(text(right + 34, TOP + 20 + place * 20, name))
        parts.append('<line class="line %s" x1="%d" x2="%d" y1="%d" y2="%d"/>' % (
            kind, right + 8, right + 28, TOP + 16 + place * 20, TOP + 16 + place * 20))
    return document(title, height, parts)
