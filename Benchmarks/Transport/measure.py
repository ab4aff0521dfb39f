"""Runs a program with the launcher and returns its costs."""

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
# The status shows a crash; a backtrace would hide the output.
ENVIRONMENT = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", SWIFT_BACKTRACE="enable=no")


class Failure(Exception):
    """A failed program. The message has its name and the reason."""


def product(name):
    path = os.path.join(PRODUCTS, name)
    if not os.access(path, os.X_OK):
        raise SystemExit("bench: %s is not built. Run make bench." % path)
    return path


def compiled(sources, directory, name, *libraries):
    """Builds a C program with the compiler of Swift, because programs built by SwiftPM load the Swift runtime."""
    compiler = shutil.which("clang") or shutil.which("cc")
    if not compiler:
        raise SystemExit("bench: clang and cc are missing in PATH. Install one.")
    program = os.path.join(directory, name)
    subprocess.run([compiler, "-O2", "-o", program, *sources, *libraries], check=True)
    return program


_place = tempfile.TemporaryDirectory(prefix="waybill-launcher.")


@functools.cache
def launcher():
    """Builds the launcher: one built by SwiftPM would increase the peak memory of the programs that it starts."""
    return compiled([os.path.join(ROOT, "Benchmarks", "Sources", "BenchLauncher", "main.c")], _place.name, "BenchLauncher")


class Run:
    """Wall and CPU seconds and peak megabytes, by wait4(2); instructions in user space, or None."""

    def __init__(self, figures, output):
        self.wall, self.cpu, self.memory = figures[0] / 1e9, figures[1] / 1e9, figures[2] / 1e6
        self.instructions = figures[3] if figures[3] >= 0 else None
        self.output = output


def run(command):
    """Runs a program to its end with the launcher, because its peak memory includes that of the process that starts it."""
    reading, writing = os.pipe()
    # The launcher writes to descriptor 3. Debian's sh cannot redirect it: its descriptors have one digit.
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
        raise Failure("%s exceeded %d s" % (command[0], LIMIT_IN_SECONDS)) from None
    with os.fdopen(reading) as costs:
        figures = [int(word) for word in costs.read().split()]
    if process.returncode != 0 or len(figures) != 4:
        words = complaint.decode("utf-8", "replace").strip()[-400:]
        raise Failure(words or "%s failed with status %d" % (command[0], process.returncode))
    return Run(figures, output.decode("utf-8", "replace"))


def output_of(*words):
    """Returns the output of a program, or an empty string if it is not installed."""
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except OSError:
        return ""
    return done.stdout.decode("utf-8", "replace").strip()
