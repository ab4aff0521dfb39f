"""A plot of quality over CPU time as SVG, for light and dark pages."""

import html
import math

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 24, 56

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .faint { fill: #59636e }
  .grid { stroke: #d1d9e0; stroke-width: 1 }
  .ours { fill: #0969da; stroke: #0969da }
  .peer { fill: #818b98; stroke: #59636e }
  .over { fill: none; stroke-width: 2 }
  .back { fill: #ffffff }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .faint { fill: #9198a1 } .grid { stroke: #3d444d } .back { fill: #0d1117 }
    .ours { fill: #4493f8; stroke: #4493f8 } .peer { fill: #818b98; stroke: #9198a1 } .over { fill: none }
  }
"""


def nice_seconds(low, high):
    return [v for v in (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20) if low <= v <= high]


def remark(score, bottom, is_over):
    words = ["%.0f" % score] if score < bottom else []
    words += ["over the limit"] if is_over else []
    return " (%s)" % ", ".join(words) if words else ""


def svg(points):
    """`points`: name, seconds, score, whether it exceeds the limit."""
    low, high = min(p[1] for p in points) / 1.4, max(p[1] for p in points) * 1.4
    scores = [p[2] for p in points]
    # Points below the scale are drawn at the bottom edge, with the score in the label.
    bottom, top = max(20, math.floor(min(scores) / 10) * 10), math.ceil((max(scores) + 1) / 10) * 10

    def x(seconds):
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(seconds / low) / math.log(high / low)

    def y(score):
        return TOP + (HEIGHT - TOP - BOTTOM) * (top - max(score, bottom)) / (top - bottom)

    out = ['<rect class="back" width="%d" height="%d"/>' % (WIDTH, HEIGHT)]
    for score in range(bottom, top + 1, 10):
        out.append('<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>' % (LEFT, WIDTH - RIGHT, y(score), y(score)))
        out.append('<text class="faint" x="%d" y="%.1f" text-anchor="end">%d</text>' % (LEFT - 8, y(score) + 4, score))
    for seconds in nice_seconds(low, high):
        out.append('<line class="grid" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>' % (x(seconds), x(seconds), TOP, HEIGHT - BOTTOM))
        out.append('<text class="faint" x="%.1f" y="%d" text-anchor="middle">%g s</text>' % (x(seconds), HEIGHT - BOTTOM + 20, seconds))
    for number, (name, seconds, score, is_over) in enumerate(points):
        kind = "ours" if name.startswith("waybill") else "peer"
        # Peers are close together: every other label is below its dot.
        offset = 22 if kind == "peer" and number % 2 == 0 and score >= bottom else -12
        out.append('<circle class="%s%s" cx="%.1f" cy="%.1f" r="6"/>' % (kind, " over" if is_over else "", x(seconds), y(score)))
        out.append('<text x="%.1f" y="%.1f" text-anchor="middle">%s%s</text>' % (
            x(seconds), y(score) + offset, html.escape(name), remark(score, bottom, is_over)))
    out.append('<text class="faint" x="%.1f" y="%d" text-anchor="middle">mean CPU time per image</text>'
               % ((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12))
    out.append('<text class="faint" x="16" y="%.1f" text-anchor="middle" transform="rotate(-90 16 %.1f)">SSIMULACRA2, mean</text>'
               % ((TOP + HEIGHT - BOTTOM) / 2, (TOP + HEIGHT - BOTTOM) / 2))
    return '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img">\n<title>Quality over CPU time</title>\n<style>%s</style>\n%s\n</svg>\n' % (
        WIDTH, HEIGHT, STYLE, "\n".join(out))
