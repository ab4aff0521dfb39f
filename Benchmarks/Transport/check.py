"""make bench-check: compares the instructions of fixed work with those recorded for this toolchain and libcurl.

Instruction counts have little noise, so an increase of 5 % is detected. Each figure is the difference between a large and a small
workload, which excludes the start of the program. The counter is that of the processor; if it is unavailable, nothing is compared
and the reason is printed. BENCH_COUNTER=callgrind counts with valgrind instead, on any machine but slowly; its figures differ and
are recorded separately.
"""

import argparse
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile

import machine
from figures import median
from measure import PEERS, ROOT, Failure, compiled, product, run
from receiver import Sink
from sending import make_file

ALLOWED = 0.05
DIRECTORY = os.path.join(ROOT, "Benchmarks", "recorded")


def work(url, directory):
    """A name, and the arguments of the small and of the large workload."""
    noise = os.path.join(directory, "noise")
    with open(noise, "wb") as file:
        file.write(random.Random(42).randbytes(1 << 20))
    small, large = make_file(directory, 100_000), make_file(directory, 64 << 20)

    def parse(total):
        return ["parse-form", noise, "----WebKitFormBoundary7MA4YWxkTrZu0gW1", 65536, total]

    return [
        ("building and reading a form of 1,000 parts, 20 times", ["build-form", 1000, 1], ["build-form", 1000, 21]),
        ("parsing 64 MiB in chunks of 64 KiB", parse(1 << 20), parse(65 << 20)),
        ("200 uploads of 100 KB", ["send", url, small, 20, 1], ["send", url, small, 220, 1]),
        ("200 watched uploads of 100 KB", ["send-watched", url, small, 20, 1], ["send-watched", url, small, 220, 1]),
    ] + [
        ("200 uploads without a network, %s" % title,
            [kind, content, small, 20], [kind, content, small, 220])
        for title, kind, content in [
            ("text fields", "session-alone", "texts"),
            ("100 KB in memory", "session-alone", "data"),
            ("100 KB in memory, watched", "session-alone-watched", "data"),
            ("a file of 100 KB, not read", "session-alone", "inspected"),
            ("a file of 100 KB", "session-alone", "file"),
        ]
    ] + [
        ("10 forms of 64 MiB", ["send", url, large, 2, 1], ["send", url, large, 12, 1]),
    ]


class Processor:
    """Counts with perf_event_open(2) in the launcher; returns the median of five runs."""

    name = "processor"

    def __init__(self, directory):
        self.program = product("WaybillWorkload")
        if run(["true"]).instructions is None:
            raise Failure("the counters of the processor are unavailable on this machine (perf_event_open(2))")

    def count(self, words):
        return median([run([self.program] + words).instructions for _ in range(5)])


class Callgrind:
    """Counts with valgrind, on a stripped copy: Debian's valgrind cannot read the debug information."""

    name = "callgrind"

    def __init__(self, directory):
        if not shutil.which("valgrind") or not shutil.which("strip"):
            raise Failure("valgrind or strip is not installed")
        self.program = os.path.join(directory, "stripped")
        subprocess.run(["strip", "--strip-debug", "-o", self.program, product("WaybillWorkload")], check=True)
        self.preloaded = compiled([os.path.join(PEERS, "openat2.c")], directory, "openat2.so", "-shared", "-fPIC")

    def count(self, words):
        tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-fd=1", self.program]
        preloading = ["env", "LD_PRELOAD=" + self.preloaded]
        for line in run(preloading + tool + words).output.split("\n"):
            if "Collected :" in line:
                return int(line.split()[-1])
        raise Failure("callgrind counted nothing")


def counted(counter, directory):
    with Sink() as sink:
        return {
            name: round(counter.count(more) - counter.count(less)) for name, less, more in work(sink.url, directory)
        }


def compare(recorded, found):
    """Returns the number of figures off by more than allowed. Improvements count, too, so that they get recorded."""
    off = 0
    for name, count in found.items():
        if name not in recorded:
            print("%-55s %14s   not recorded" % (name, "{:,}".format(count)))
            off += 1
            continue
        change = count / recorded[name] - 1
        verdict = "" if abs(change) <= ALLOWED else "   OFF by more than %d %%" % (100 * ALLOWED)
        off += bool(verdict)
        print("%-55s %14s   %+6.1f %%%s" % (name, "{:,}".format(count), 100 * change, verdict))
    return off


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="records the figures instead of comparing them")
    options = parser.parse_args()
    name = "swift-%s-libcurl-%s-%s.json" % (machine.swift(), machine.libcurl(), platform.machine())
    path = os.path.join(DIRECTORY, name)
    stored = {}
    if os.path.exists(path):
        with open(path) as file:
            stored = json.load(file)
    wanted = {"": Processor, "processor": Processor, "callgrind": Callgrind}[os.environ.get("BENCH_COUNTER", "")]
    with tempfile.TemporaryDirectory(prefix="waybill-bench.") as directory:
        try:
            counter = wanted(directory)
        except Failure as failure:
            print("bench-check: nothing was compared: %s." % failure)
            if wanted is Processor:
                print("bench-check: Set BENCH_COUNTER=callgrind to count with valgrind.")
            return 0
        if not options.record and counter.name not in stored:
            print("bench-check: nothing was compared: %s has no figures by %s. Run make bench-record."
                  % (os.path.relpath(path, ROOT), counter.name))
            return 0
        found = counted(counter, directory)
    if options.record:
        os.makedirs(DIRECTORY, exist_ok=True)
        with open(path, "w") as file:
            json.dump(dict(stored, **{counter.name: found}), file, indent=2, sort_keys=True)
            file.write("\n")
        print("bench-check: recorded in %s" % os.path.relpath(path, ROOT))
        return 0
    off = compare(stored[counter.name], found)
    print("bench-check: %s, by %s: %s" % (
        name, counter.name, "%d are off" % off if off else "all within %d %%" % (100 * ALLOWED)))
    return 1 if off else 0


sys.exit(main())
