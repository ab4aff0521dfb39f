"""make bench-jpeg: compares waybill with other programs that compress photos below 100 KiB, in Docs/Benchmarks.md.

Ratios of one interleaved run are comparable between machines, seconds are not.
"""

import argparse
import glob
import os
import platform
import shutil
import sys
import tempfile
import time

import measure
import page
import pages
import tools

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMIT = 102_400
LIMITS = [20 * 1024, 50 * 1024, 100 * 1024, 200 * 1024, 500 * 1024]


def say(text):
    print("bench-jpeg: " + text, file=sys.stderr, flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--corpus", nargs="*", default=[], help="directories of JPEG files; default: drawn images")
    parser.add_argument("--cache", required=True, help="a directory for drawn images and quality figures")
    parser.add_argument("--python", required=True, help="a python3 with the packages of requirements.txt")
    return parser.parse_args()


def images_of(directory):
    found = sorted(glob.glob(os.path.join(directory, "*.jpg")) + glob.glob(os.path.join(directory, "*.jpeg")))
    if not found:
        raise SystemExit("bench-jpeg: %s contains no JPEG file. Name another directory with --corpus." % directory)
    return found


def corpora_of(options):
    """Returns the images of each directory, by its title, and the pages of text among them and that are drawn."""
    if options.corpus:
        found = {os.path.basename(os.path.abspath(name)): images_of(os.path.abspath(name)) for name in options.corpus}
    else:
        directory = os.path.join(options.cache, "jpeg-scenes-1")
        os.makedirs(directory, exist_ok=True)
        say("drawing missing images")
        tools.draw(directory)
        found = {"drawn": images_of(directory)}
    drawn = os.path.join(options.cache, "jpeg-pages-1")
    pages.draw_all(drawn)
    texts = [image for images in found.values() for image in images if is_page(image)]
    texts += sorted(glob.glob(os.path.join(drawn, "*.jpg")))
    photos = {title: [image for image in images if not is_page(image)] for title, images in found.items()}
    return {title: images for title, images in photos.items() if images}, texts


def is_page(image):
    return os.path.basename(image).startswith(("page_", "scan_"))


def check_libraries(found, directory, image):
    """Returns the libjpeg that each program loads. It must be the system's, except in peers that have their own."""
    libraries = {
        tool.name: tools.libjpeg_of(tool.command(image, os.path.join(directory, "probe.jpg"), LIMIT))
        for tool in found if not tool.name.startswith(("mozjpeg", "cjpegli"))
    }
    for name, loaded in libraries.items():
        for library, package in loaded:
            if package.startswith("no package"):
                raise SystemExit("bench-jpeg: %s loads a %s that is not that of the system." % (name, library))
        if not loaded:
            raise SystemExit("bench-jpeg: the libjpeg that %s loads cannot be determined." % name)
    return libraries


def judge(options, work, found, results, images, texts):
    """Returns the figures of all results: SSIMULACRA2 of each, butteraugli of photos if it is installed, words of pages."""
    places = [
        ("ssimulacra2", tool.name, image, measure.output(work, tool, image))
        for image in images for tool in found if not results[tool.name, image].problem
    ]
    # These take longer, so they are measured only of some programs.
    chosen = [tool for tool in found if tool.name in ("waybill best", "waybill fast", "mozjpeg 1600", "cjpegli 1600")]
    for metric, program, group in (
        ("butteraugli", "butteraugli_main", [image for image in images if image not in texts]),
        ("words", "tesseract", texts),
    ):
        if not shutil.which(program):
            say("%s is not here; %s is not measured" % (program, metric))
            continue
        places += [
            (metric, tool.name, image, measure.output(work, tool, image))
            for image in group for tool in chosen if not results[tool.name, image].problem
        ]
    cache = os.path.join(options.cache, "jpeg-quality-2")
    figures = measure.judged(options.python, cache, [(metric, image, made) for metric, _, image, made in places], say)
    return {place[:3]: figure for place, figure in zip(places, figures)}


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
    photos, texts = corpora_of(options)
    images = [image for group in photos.values() for image in group] + texts
    ours = tools.ours()
    peers, absent = tools.peers(options.python)
    for name in absent:
        say("%s is not here and was left out" % name)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as work:
        libraries = check_libraries(ours + peers, work, images[0])
        results = measure.interleaved(ours + peers, images, LIMIT, options.rounds, work, say)
        shares = measure.fills(ours, [image for group in photos.values() for image in group], LIMITS, work, say)
        figures = judge(options, work, ours + peers, results, images, texts)
    report = page.Report(
        photos=photos, texts=texts, ours=ours, peers=peers, absent=absent, results=results,
        shares=shares, figures=figures, libraries=libraries, limit=LIMIT, limits=LIMITS, rounds=options.rounds,
        machine=machine(), load=load, date=time.strftime("%Y-%m-%d"),
        library=tools.output_of(ours[0].command("", "", 0)[0], "library").strip(),
    )
    report.write(os.path.join(ROOT, "Docs"))
    print(report.text)


main()
