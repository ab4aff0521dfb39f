"""One run of a program and what it cost, by way of the launcher."""

import functools
import os
import shutil
import signal
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PRODUCTS = os.path.join(ROOT, "Benchmarks", ".build", "release")
PEERS = os.path.join(ROOT, "Benchmarks", "Peers")
LIMIT_IN_SECONDS = 600
# A program that crashes says so in its status; a stack of it would only stand in the way.
ENVIRONMENT = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", SWIFT_BACKTRACE="enable=no")


class Failure(Exception):
    """A program did not do what it was asked for; the text says which and how."""


def product(name):
    path = os.path.join(PRODUCTS, name)
    if not os.access(path, os.X_OK):
        raise SystemExit("bench: %s is not built; run make bench" % path)
    return path


def compiled(sources, folder, name, *libraries):
    """A program in C, by the compiler that comes with Swift; one that SwiftPM builds would load Swift's runtime."""
    compiler = shutil.which("clang") or shutil.which("cc")
    if not compiler:
        raise SystemExit("bench: there is neither clang nor cc in PATH")
    program = os.path.join(folder, name)
    subprocess.run([compiler, "-O2", "-o", program, *sources, *libraries], check=True)
    return program


_place = tempfile.TemporaryDirectory(prefix="waybill-launcher.")


@functools.cache
def launcher():
    """The one that SwiftPM builds would show in the peak memory of what it starts."""
    return compiled([os.path.join(ROOT, "Benchmarks", "Sources", "BenchLauncher", "main.c")], _place.name, "BenchLauncher")


class Run:
    """Seconds of wall and CPU time and megabytes of peak memory, by wait4(2); instructions in user space, or None."""

    def __init__(self, figures, output):
        self.wall, self.cpu, self.memory = figures[0] / 1e9, figures[1] / 1e9, figures[2] / 1e6
        self.instructions = figures[3] if figures[3] >= 0 else None
        self.output = output


def run(command):
    """Runs a program to its end: started from Python itself, it would seem to need Python's memory."""
    reading, writing = os.pipe()
    # The launcher writes to descriptor 3. Not by Debian's sh, which takes descriptors of one digit only.
    shell = ["bash", "-c", 'exec "$@" 3>&%d' % writing, "bash", launcher()]
    process = subprocess.Popen(
        shell + [str(word) for word in command], pass_fds=(writing,), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, env=ENVIRONMENT,
    )
    os.close(writing)
    try:
        output, complaint = process.communicate(timeout=LIMIT_IN_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        os.close(reading)
        raise Failure("%s took longer than %d s" % (command[0], LIMIT_IN_SECONDS)) from None
    with os.fdopen(reading) as costs:
        figures = [int(word) for word in costs.read().split()]
    if process.returncode != 0 or len(figures) != 4:
        words = complaint.decode("utf-8", "replace").strip()[-400:]
        raise Failure(words or "%s ended with %d" % (command[0], process.returncode))
    return Run(figures, output.decode("utf-8", "replace"))


def output_of(*words):
    """What a program says, or nothing if there is none of that name."""
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except OSError:
        return ""
    return done.stdout.decode("utf-8", "replace").strip()
