"""Uploads of the command to a server, through a relay that interrupts them."""

import concurrent.futures
import contextlib
import os
import subprocess
import sys
import tempfile
import threading

from relay import Relay
from tally import Tally

PROGRAM = sys.argv[1]
BODY = os.urandom(9 << 20)
LENGTH = len(BODY)
# In the first append, in the second append, and before the last byte.
POSITIONS = [1_000_000, 5_000_000, LENGTH - 1]
# Exit statuses of the command.
SUCCESS, REJECTED, UNKNOWN = 0, 1, 6
# The maximum time of a command in seconds; it takes two.
TIMEOUT = 180


class Upload:
    """A file that the command uploads through a relay of its own, with a directory of records of its own.

    With a type of `proxy`, the relay is between the command and the proxy; `inside`: between the proxy and the server.
    """

    def __init__(
            self, server, folder, tally, what, *cuts, name="film.bin", body=BODY, proxy=None, inside=False,
            maximum=None, drops_last=False):
        path = f"{server.name}, {proxy.name}" if proxy else server.name
        self.server, self.tally, self.what, self.body = server, tally, f"{path}: {what}", body
        self.maximum = min(server.maximum, maximum or server.maximum)
        self._resources = contextlib.ExitStack()

        def relayed(port):
            relay = Relay(port, *cuts, maximum=self.maximum, drops_last=drops_last)
            self.relay = self._resources.enter_context(relay)
            return relay.port

        def proxied(port):
            self._proxy = self._resources.enter_context(contextlib.closing(proxy(folder, port)))
            return self._proxy.port

        self._proxy = ""
        if proxy is None:
            self._port = relayed(server.port)
        elif inside:
            self._port = proxied(relayed(server.port))
        else:
            self._port = relayed(proxied(server.port))
        self._file = os.path.join(folder, name)
        with open(self._file, "wb") as file:
            file.write(body)
        self._environment = os.environ | {"XDG_STATE_HOME": os.path.join(folder, "state")}
        self._process = None
        self._has_started = threading.Event()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._resources.close()

    def put(self, *options, status=SUCCESS):
        """Runs the command to its end, and returns its exit status; `status` is the expected one, None for any."""
        self._process = subprocess.Popen(
            [PROGRAM, *self.server.arguments(self._file, self._port), *options], env=self._environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._has_started.set()
        try:
            self.output, self.errors = self._process.communicate(timeout=TIMEOUT)
        finally:
            self._process.kill()
        got = self._process.returncode
        if status is not None:
            self.check("exit status", got, status)
        if got == SUCCESS:
            # Whatever the server does, a success means that it has the file.
            self.check("the file is whole", self.server.content(self.identifier) == self.body, True)
        return got

    def kill(self):
        self._has_started.wait()
        self._process.kill()

    @property
    def identifier(self):
        return self.server.identifier(self.output)

    def check(self, what, got, wanted):
        self.tally.check(
            f"{self.what}: {what}", got == wanted,
            f"{got!r} instead of {wanted!r}\n{self.relay}\n{self.errors}\n{self._proxy}")

    def check_creations(self, count=1):
        self.check("uploads at the server", self.relay.count("POST"), count)

    def check_repetitions(self, appends):
        """Verifies that at most so many appends were sent twice."""
        requests = [request for request in self.relay.requests if request.length <= self.maximum]
        sent = sum(request.received for request in requests)
        # A form is longer than its file, and a part is shorter.
        limit = max(self.relay.length or 0, len(self.body)) + appends * max(request.length for request in requests)
        self.check(f"{sent} bytes sent, at most {limit}", sent <= limit, True)


def run_all(title, rows, workers):
    """Runs rows concurrently, and returns whether there was no difference. A row is a function and its arguments.

    The function also gets a directory and a tally of its own, as its second and third argument.
    """
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        tallies = [run.result() for run in [pool.submit(_run, row, *arguments) for row, *arguments in rows]]
    passed, failed = (sum(counts) for counts in zip(*((tally.passed, tally.failed) for tally in tallies)))
    print(f"{title}: {len(tallies)} uploads, {passed} checks passed, {failed} differences")
    return failed == 0


def _run(row, server, *arguments):
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        tally.run(f"{server.name}: {row.__name__} {arguments}", lambda: row(server, folder, tally, *arguments))
    return tally
