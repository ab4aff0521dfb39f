"""make bench: compares waybill with all installed peers in one interleaved run, in Docs/Benchmarks.md.

Ratios of one run are comparable between machines, seconds are not. A run with other sizes or of selected parts is printed
only.
"""

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time

import alone
import drivers
import machine
import memory
import page
import parsing
import sending
import truth
import verify
from measure import ROOT
from receiver import Authority, Front, Sink

PARTS = [
    "large", "close", "medium", "small", "http2", "reconnecting", "distant", "memory", "truth", "parser", "forms", "pictures",
    "start"]
BUILD = os.path.join(ROOT, "Benchmarks", ".build")


def say(text):
    print("bench: %s %s" % (time.strftime("%H:%M:%S"), text), file=sys.stderr, flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="scales the sizes: 0.05 is a trial of two minutes")
    parser.add_argument("--python", default="", help="a python3 with the packages of requirements.txt")
    parser.add_argument("--no-tls", action="store_true", help="uses TLS only for the check of acknowledgements")
    parser.add_argument("--render", metavar="FILE", help="renders the page from stored figures without measuring")
    parser.add_argument("parts", nargs="*", metavar="PART", help="any of: " + ", ".join(PARTS))
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown or options.rounds < 1 or options.scale <= 0:
        parser.error("known parts are %s; rounds and scale are above 0" % ", ".join(PARTS))
    return options


def measure(options, wanted, directory):
    authority = Authority(directory)
    found, absent = drivers.all_drivers(options.python, directory)
    parsers, parser_versions, no_parsers = parsing.parsers(options.python, directory)
    for name in absent + no_parsers:
        say("%s is not here and is left out; make bench-setup installs the peers" % name)
    stored = {
        "date": time.strftime("%Y-%m-%d"), "rounds": options.rounds, "scale": options.scale, "machine": machine.machine(),
        "is_whole": not options.parts and not options.no_tls and options.scale == 1,
        "load": os.getloadavg()[0], "absent": absent + no_parsers, "parsers": parser_versions,
        "versions": ["waybill: this checkout, libcurl %s, Swift %s" % (machine.libcurl(), machine.swift())]
        + sorted({driver.version for driver in found if not driver.is_ours and driver.version not in ("the same libcurl", "Linux")}),
    }
    fewer = (options.rounds + 1) // 2
    with contextlib.ExitStack() as stack:
        plain, secure, closing, delayed = (
            stack.enter_context(sink) for sink in (Sink(), Sink(authority), Sink(closes=True), Sink(delay=20)))
        front = stack.enter_context(Front(plain, authority, directory))
        sinks = {"plain": plain, "secure": secure, "closing": closing, "delayed": delayed, "http2": front}
        if not front.url:
            absent.append("nginx")
            say("nginx is not here, so HTTP/2 is not measured")
        chosen = [
            each for each in sending.workloads(options.rounds, options.scale)
            if each.kind in wanted and not (each.is_secure and options.no_tls) and (front.url or not each.is_http2)
        ]
        if chosen:
            verify.check_all(found, authority, directory, say)
        stored["workloads"] = [
            dict(vars(each), key=each.key, title=each.title, variant=each.variant, is_small=each.is_small) for each in chosen]
        stored["sending"] = sending.measure(found, chosen, sinks, authority, directory, say)
        if "memory" in wanted:
            stored["memory"] = memory.measure(plain, fewer, options.scale, directory, say)
    if "truth" in wanted:
        stored["truth"] = truth.measure(authority, min(2, options.rounds), options.scale, directory, say)
    if "parser" in wanted:
        stored["parser"] = parsing.measure(parsers, options.rounds, options.scale, directory, say)
    if "forms" in wanted:
        stored["forms"] = alone.forms(options.rounds, options.scale, say)
    if "pictures" in wanted:
        stored["pictures"] = alone.pictures(max(1, options.rounds // 2), options.scale, directory, say)
    if "start" in wanted:
        stored["start"] = alone.start(options.rounds, directory, say)
    runs = [run for figures in stored["sending"].values() for each in figures.values() for run in each or []]
    stored["has_instructions"] = any(run["instructions"] is not None for run in runs)
    return stored


def main():
    options = arguments()
    began = time.time()
    if options.render:
        with open(options.render) as file:
            stored = json.load(file)
    else:
        with tempfile.TemporaryDirectory(prefix="waybill-bench.") as directory:
            stored = measure(options, set(options.parts or PARTS), directory)
    is_whole = stored["is_whole"]
    report = page.Page(stored)
    print(report.text)
    if not options.render:
        path = os.path.join(BUILD, "bench-figures.json" if is_whole else "bench-trial.json")
        with open(path, "w") as file:
            json.dump(stored, file)
        say("%.0f s; all figures are in %s" % (time.time() - began, os.path.relpath(path, ROOT)))
    if is_whole:
        report.write(os.path.join(ROOT, "Docs"))
    else:
        say("not the whole run, so Docs/Benchmarks.md is as it was")


main()
