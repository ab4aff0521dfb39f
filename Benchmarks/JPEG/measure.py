"""Measures waybill and its peers in one interleaved run, for bench_jpeg.py."""

import concurrent.futures
import os
import statistics
import subprocess
import zlib

import tools

LAUNCHER = os.path.join(tools.PRODUCTS, "BenchLauncher")


class Run:
    """The costs of one process including its descendants, by wait4(2): CPU seconds and peak memory in megabytes."""

    def __init__(self, cpu, memory):
        self.cpu = cpu
        self.memory = memory


def run(command):
    """Runs a program with a small launcher, because its peak memory includes that of the process that starts it."""
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
        raise RuntimeError(done.stderr.decode("utf-8", "replace").strip()[-300:] or "exit status %d" % done.returncode)
    return Run(int(figures[1]) / 1e9, int(figures[2]) / 1e6)


class Figures:
    """All runs of one tool on one image."""

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


def interleaved(found, images, limit, rounds, directory, say):
    """Runs each tool on each image in turn, repeatedly, so that load of the machine affects all of them."""
    results = {(tool.name, image): Figures() for tool in found for image in images}
    for number in range(rounds):
        say("round %d of %d" % (number + 1, rounds))
        for image in images:
            for tool in found:
                figures = results[tool.name, image]
                if figures.problem:
                    continue
                target = output(directory, tool, image)
                try:
                    figures.runs.append(run(tool.command(image, target, limit)))
                    figures.bytes = os.path.getsize(target)
                except (RuntimeError, OSError) as error:
                    figures.problem = str(error)
                    say("%s on %s: %s" % (tool.name, os.path.basename(image), error))
    return results


def output(directory, tool, image):
    return os.path.join(directory, "%s@%s" % (tool.name.replace(" ", "-"), os.path.basename(image)))


def fills(found, images, limits, directory, say):
    """Returns the used share of each limit: a list with one share per image, for each tool and limit."""
    shares = {}
    for limit in limits:
        say("limit of %d bytes" % limit)
        for tool in found:
            shares[tool.name, limit] = []
            for image in images:
                target = os.path.join(directory, "fill.jpg")
                try:
                    run(tool.command(image, target, limit))
                except RuntimeError as error:
                    say("%s on %s: %s" % (tool.name, os.path.basename(image), error))
                    continue
                count, before = os.path.getsize(target), os.path.getsize(image)
                # An image that is smaller than the limit cannot fill it.
                if count <= limit < before or count > limit:
                    shares[tool.name, limit].append((count / limit, os.path.basename(image)))
    return shares


def judged(python, cache, comparisons, say):
    """Returns a figure for each (metric, original, image), with the packages of requirements.txt (quality.py).

    Each processor has a process and a cache of its own, so that two processes never compare with the same original.
    """
    count = os.cpu_count()
    queues = [[] for _ in range(count)]
    for place, comparison in enumerate(comparisons):
        queues[zlib.crc32(os.path.basename(comparison[1]).encode()) % count].append((place, comparison))
    figures = [None] * len(comparisons)
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        jobs = [
            pool.submit(judge_queue, python, "%s-%d.json" % (cache, number), queue, figures, say)
            for number, queue in enumerate(queues)
        ]
        for job in jobs:
            job.result()
    return figures


def judge_queue(python, cache, queue, figures, say):
    """Fills in the figures of some comparisons, one after the other."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", OMP_THREAD_LIMIT="1", OPENBLAS_NUM_THREADS="1")
    process = subprocess.Popen(
        [python, os.path.join(tools.HERE, "quality.py"), cache], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env=environment, text=True,
    )
    for place, comparison in queue:
        process.stdin.write("\t".join(comparison) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise SystemExit("bench-jpeg: the quality could not be measured. Run make bench-setup.")
        figures[place] = float(line)
        count = sum(figure is not None for figure in figures)
        if count % 20 == 0:
            say("quality: %d of %d" % (count, len(figures)))
    process.stdin.close()
    process.wait()
