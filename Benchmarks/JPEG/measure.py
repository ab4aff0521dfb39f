"""Measures waybill and its peers in one interleaved run: what bench_jpeg.py writes down."""

import os
import statistics
import subprocess

import tools

LAUNCHER = os.path.join(tools.PRODUCTS, "BenchLauncher")


class Run:
    """What one process cost: CPU seconds and peak memory in megabytes, by wait4(2), descendants included."""

    def __init__(self, cpu, memory):
        self.cpu = cpu
        self.memory = memory


def run(command):
    """Runs a program by way of a small launcher: started from Python, it would seem to need Python's memory."""
    reading, writing = os.pipe()
    # The launcher writes to descriptor 3.
    shell = ["sh", "-c", 'exec "$@" 3>&%d' % writing, "sh", LAUNCHER]
    done = subprocess.run(
        shell + command, pass_fds=(writing,), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    with os.fdopen(reading) as costs:
        figures = costs.read().split()
    if done.returncode != 0 or len(figures) != 4:
        raise RuntimeError(done.stderr.decode("utf-8", "replace").strip()[-300:] or "ended with %d" % done.returncode)
    return Run(int(figures[1]) / 1e9, int(figures[2]) / 1e6)


class Figures:
    """All runs of one tool on one picture."""

    def __init__(self):
        self.runs = []
        self.bytes = 0
        self.score = None
        self.problem = None

    @property
    def cpu(self):
        return statistics.median(run.cpu for run in self.runs)

    @property
    def memory(self):
        return max(run.memory for run in self.runs)


def interleaved(found, pictures, limit, rounds, folder, say):
    """Every tool on every picture in turn, again and again, so that a noisy minute hits all of them."""
    results = {(tool.name, picture): Figures() for tool in found for picture in pictures}
    for number in range(rounds):
        say("round %d of %d" % (number + 1, rounds))
        for picture in pictures:
            for tool in found:
                figures = results[tool.name, picture]
                if figures.problem:
                    continue
                target = output(folder, tool, picture)
                try:
                    figures.runs.append(run(tool.command(picture, target, limit)))
                    figures.bytes = os.path.getsize(target)
                except (RuntimeError, OSError) as error:
                    figures.problem = str(error)
                    say("%s on %s: %s" % (tool.name, os.path.basename(picture), error))
    return results


def output(folder, tool, picture):
    return os.path.join(folder, "%s@%s" % (tool.name.replace(" ", "-"), os.path.basename(picture)))


def fills(found, pictures, limits, folder, say):
    """The share of each limit that is used, a list of pictures' shares for each tool and limit."""
    shares = {}
    for limit in limits:
        say("limit of %d bytes" % limit)
        for tool in found:
            shares[tool.name, limit] = []
            for picture in pictures:
                target = os.path.join(folder, "fill.jpg")
                try:
                    run(tool.command(picture, target, limit))
                except RuntimeError as error:
                    say("%s on %s: %s" % (tool.name, os.path.basename(picture), error))
                    continue
                count, before = os.path.getsize(target), os.path.getsize(picture)
                # A picture that was no larger to begin with has nothing to fill the limit with.
                if count <= limit < before or count > limit:
                    shares[tool.name, limit].append((count / limit, os.path.basename(picture)))
    return shares


def scores(python, script, cache, pairs, say):
    """SSIMULACRA2 of (original, picture) pairs, by the packages of requirements.txt."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    process = subprocess.Popen(
        [python, script, cache], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    )
    figures = []
    for number, (original, picture) in enumerate(pairs):
        process.stdin.write("%s\t%s\n" % (original, picture))
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise SystemExit("bench-jpeg: quality could not be measured")
        figures.append(float(line))
        if number % 10 == 9:
            say("quality: %d of %d" % (number + 1, len(pairs)))
    process.stdin.close()
    process.wait()
    return figures
