"""make bench-jpeg: compares waybill with other programs that compress photos below 100 KiB, in Docs/Benchmarks.md.

Ratios of one interleaved run are comparable between machines, seconds are not.
"""

import argparse
import glob
import os
import platform
import statistics
import sys
import tempfile
import time

import measure
import page
import tools

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMIT = 102_400
LIMITS = [20 * 1024, 50 * 1024, 100 * 1024, 200 * 1024, 500 * 1024]


def say(text):
    print("bench-jpeg: " + text, file=sys.stderr, flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--corpus", help="a directory of JPEG files; default: drawn images")
    parser.add_argument("--cache", required=True, help="a directory for drawn images and quality figures")
    parser.add_argument("--python", required=True, help="a python3 with the packages of requirements.txt")
    return parser.parse_args()


def corpus_of(options):
    """Returns the images and their title in the page."""
    if options.corpus:
        directory = os.path.abspath(options.corpus)
        name = "photos, scans and drawn cards (`BENCH_JPEG_CORPUS`)"
    else:
        directory = os.path.join(options.cache, "jpeg-scenes-1")
        os.makedirs(directory, exist_ok=True)
        say("drawing missing images")
        tools.draw(directory)
        name = "drawn by the benchmark"
    images = sorted(glob.glob(os.path.join(directory, "*.jpg")) + glob.glob(os.path.join(directory, "*.jpeg")))
    if not images:
        raise SystemExit("bench-jpeg: %s contains no JPEG file. Name another directory with --corpus." % directory)
    return directory, images, name


def stored_peers(directory, images):
    """Returns stored results of other programs: NAME@PEER.jpg in a directory `peers` in the corpus or beside it."""
    found = {}
    for place in (os.path.join(directory, "peers"), os.path.join(os.path.dirname(directory), "peers")):
        for image in images:
            stem = os.path.splitext(os.path.basename(image))[0]
            for path in glob.glob(os.path.join(glob.escape(place), glob.escape(stem) + "@*.jpg")):
                found.setdefault(os.path.basename(path)[len(stem) + 1 : -4], {})[image] = path
    return {peer: paths for peer, paths in found.items() if len(paths) == len(images)}


def machine():
    model = "unknown processor"
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    system = platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    return "%s, %d processors, %s" % (model, os.cpu_count(), system)


def main():
    options = arguments()
    os.makedirs(options.cache, exist_ok=True)
    directory, images, corpus_name = corpus_of(options)
    ours = tools.ours()
    peers, absent = tools.peers()
    for name in absent:
        say("%s is not here and was left out" % name)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as work:
        libraries = {
            tool.name: tools.libjpeg_of(tool.command(images[0], os.path.join(work, "probe.jpg"), LIMIT))
            for tool in ours + peers
        }
        for name, found in libraries.items():
            for library, package in found:
                if package.startswith("no package") and not name.startswith(("mozjpeg", "cjpegli")):
                    raise SystemExit("bench-jpeg: %s loads a %s that is not that of the system." % (name, library))
            if not found:
                raise SystemExit("bench-jpeg: the libjpeg that %s loads cannot be determined." % name)
        results = measure.interleaved(ours + peers, images, LIMIT, options.rounds, work, say)
        shares = measure.fills(ours, images, LIMITS, work, say)
        stored = stored_peers(directory, images)
        pairs, places = [], []
        for image in images:
            for tool in ours + peers:
                if not results[tool.name, image].problem:
                    pairs.append((image, measure.output(work, tool, image)))
                    places.append((tool.name, image))
            for peer, paths in sorted(stored.items()):
                pairs.append((image, paths[image]))
                places.append((peer, image))
        script = os.path.join(tools.HERE, "quality.py")
        cache = os.path.join(options.cache, "jpeg-quality.json")
        scores = dict(zip(places, measure.scores(options.python, script, cache, pairs, say)))
    report = page.Report(
        images=images, ours=ours, peers=peers, absent=absent, stored=sorted(stored), results=results,
        shares=shares, scores=scores, libraries=libraries, limit=LIMIT, limits=LIMITS, rounds=options.rounds,
        machine=machine(), load=load, corpus=corpus_name, date=time.strftime("%Y-%m-%d"),
        library=tools.output_of(ours[0].command("", "", 0)[0], "library").strip(),
    )
    report.write(os.path.join(ROOT, "Docs"))
    print(report.text)


main()
