"""The programs that send the same forms: waybill and the installed peers.

Each takes the arguments in Order.swift and prints the same line, except curl, whose output is parsed separately.
"""

import os
import re
import shutil
import subprocess

import machine
from measure import PEERS, Failure, compiled, output_of, product

FIELDS = [("TOKEN", "0123456789abcdef0123456789abcdef"), ("BUSINESSNO", "20260101-000042"), ("DOCTYPE", "IDCARD")]


class Sent:
    """The result of a driver: responses, the sum of their byte counts, milliseconds per form, seconds of sending."""

    def __init__(self, responses, byte_count, p50, p99, seconds):
        self.responses, self.bytes, self.p50, self.p99, self.seconds = responses, byte_count, p50, p99, seconds


class Driver:
    """`command` is its prefix, and `http2_command` that for HTTP/2; `shares` are the fractions of medium and small forms that
    a slow driver sends."""

    def __init__(self, name, command, version, is_secure=True, shares=(1, 1), http2_command=None):
        self.name, self.version, self.is_secure, self.shares = name, version, is_secure, shares
        self._command, self.http2_command = command, http2_command

    @property
    def is_ours(self):
        return self.name.startswith("waybill")

    def words(self, url, path, count, at_once, authority, directory, is_http2=False):
        words = (self.http2_command if is_http2 else self._command) + [url, path, count, at_once]
        return words + [authority] if url.startswith("https:") else words

    def read(self, run):
        figures = run.output.split()
        if len(figures) != 5:
            raise Failure("%s printed %r" % (self.name, run.output[:200]))
        return Sent(int(figures[0]), int(figures[1]), float(figures[2]), float(figures[3]), float(figures[4]))


class Curl(Driver):
    """The curl command. Many forms are transfers of one run, from a configuration file."""

    WRITTEN = "%{http_code} %{size_upload} %{time_total}\\n"

    def words(self, url, path, count, at_once, authority, directory, is_http2=False):
        trust = ["--cacert", authority] if url.startswith("https:") else []
        if count == 1:
            fields = [word for name, value in FIELDS for word in ("-F", "%s=%s" % (name, value))]
            return self._command + ["-sS", "--noproxy", "*"] + trust + fields + [
                "-F", "FILE=@" + path, "-o", "/dev/null", "-w", self.WRITTEN, url]
        lines = ["silent", "show-error", 'noproxy = "*"', 'output = "/dev/null"', 'write-out = "%s"' % self.WRITTEN]
        lines += ['cacert = "%s"' % authority] if trust else []
        lines += ['form = "%s=%s"' % field for field in FIELDS] + ['form = "FILE=@%s"' % path, 'url = "%s"' % url]
        file = os.path.join(directory, "curl.conf")
        with open(file, "w") as config:
            config.write("\nnext\n".join(["\n".join(lines)] * count))
        parallel = ["--parallel", "--parallel-max", at_once] if at_once > 1 else []
        return self._command + parallel + ["--config", file]

    def read(self, run):
        lines = [line.split() for line in run.output.split("\n") if line.strip()]
        if any(len(line) != 3 or line[0] != "200" for line in lines):
            raise Failure("curl printed %r" % run.output[:200])
        times = sorted(float(line[2]) * 1000 for line in lines)

        def at(share):
            return times[(len(times) - 1) * share // 100] if times else 0

        return Sent(len(lines), sum(int(line[1]) for line in lines), at(50), at(99), run.wall)


def c_program(name, directory, *flags):
    sources = [os.path.join(PEERS, file) for file in (name + ".c", "order.c")]
    return compiled(sources, directory, name + "".join(flags), *flags)


def python_drivers(python):
    found, absent = [], []
    for name, module, shares in (
        ("requests-toolbelt", "requests_toolbelt", (0.2, 0.1)), ("aiohttp", "aiohttp", (0.5, 0.2)),
        ("httpx", "httpx", (0.5, 0.2)),
    ):
        script = os.path.join(PEERS, "send_%s.py" % module.replace("requests_", ""))
        version = output_of(python, "-c", "import %s; print(%s.__version__)" % (module, module)) if python else ""
        if re.fullmatch(r"[\d.]+", version):
            found.append(Driver(name, [python, script], "%s %s" % (name, version), shares=shares))
        else:
            absent.append(name)
    return found, absent


def go_program(source, directory):
    """Returns a built program of Peers, or None without Go."""
    if not shutil.which("go"):
        return None
    program = os.path.join(directory, os.path.splitext(source)[0] + "-go")
    environment = dict(os.environ, GO111MODULE="off", CGO_ENABLED="0")
    subprocess.run(["go", "build", "-o", program, os.path.join(PEERS, source)], env=environment, check=True)
    return program


def go_version():
    return (re.search(r"go[\d.]+", output_of("go", "version")) or [""])[0]


def go_drivers(directory):
    program = go_program("send.go", directory)
    if not program:
        return [], ["Go"]
    version = go_version()
    return [
        Driver(
            "Go, length said", [program, "length"], version, shares=(1, 0.5), http2_command=[program, "length-http2"]),
        Driver("Go, io.Pipe", [program, "pipe"], version, shares=(0.5, 0.3)),
    ], []


def all_drivers(python, directory):
    """Returns the installed drivers, and the names of missing ones."""
    workload = product("WaybillWorkload")
    session = "URLSession of Swift " + machine.swift()
    found = [
        Driver("waybill", [workload, "send"], "this checkout", http2_command=[workload, "send-http2"]),
        Driver("waybill, watched", [workload, "send-watched"], "this checkout"),
        Driver("waybill, executor", [workload, "send-executor"], "this checkout"),
    ]
    absent = []
    if shutil.which("curl"):
        found.append(Curl("curl -F", ["curl", "-q"], output_of("curl", "--version").split(" (")[0]))
    else:
        absent.append("curl")
    found += [
        Driver(
            "libcurl mime in C", [c_program("send_mime", directory, "-lcurl")], "the same libcurl",
            http2_command=[c_program("send_mime", directory, "-lcurl", "-DHTTP2")]),
        Driver("sendfile in C", [c_program("send_sendfile", directory, "-lpthread")], "Linux", is_secure=False),
        Driver("AsyncHTTPClient", [product("PeerAHC")], "AsyncHTTPClient " + machine.package_version("async-http-client")),
        # On Linux it trusts only the authorities of the system.
        Driver("URLSession, file", [product("PeerURLSession"), "file"], session, is_secure=False, shares=(0.1, 0.1)),
        Driver("URLSession, stream", [product("PeerURLSession"), "stream"], session, is_secure=False, shares=(0.5, 0.1)),
    ]
    for more, missing in (python_drivers(python), go_drivers(directory)):
        found += more
        absent += missing
    return found, absent
