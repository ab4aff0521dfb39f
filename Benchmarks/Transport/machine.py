"""The machine and the versions of a measurement."""

import ctypes
import json
import os
import platform
import re

from measure import ROOT, output_of


def processor():
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def network():
    """Returns the congestion control of the loopback device, according to BenchNetwork."""
    way = os.environ.get("BENCH_NETWORK", "")
    with open("/proc/sys/net/ipv4/tcp_congestion_control") as file:
        control = file.read().strip()
    return "own network namespace, congestion control %s" % control if way == "private" else (
        "the machine's network, congestion control %s, which may pace" % control)


def machine():
    system = platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    return "%s, %d processors, %s, Linux %s; %s" % (processor(), os.cpu_count(), system, platform.release(), network())


def libcurl():
    """Returns the version of the libcurl that programs load."""
    library = ctypes.CDLL("libcurl.so.4")
    library.curl_version.restype = ctypes.c_char_p
    return re.search(r"libcurl/([\d.]+)", library.curl_version().decode())[1]


def swift():
    return (re.search(r"Swift version (\d[\w.]*)", output_of("swift", "--version")) or ["", "unknown"])[1]


def package_version(identity):
    """Returns the resolved versions of the benchmark package."""
    with open(os.path.join(ROOT, "Benchmarks", "Package.resolved")) as file:
        pins = json.load(file)["pins"]
    return next((pin["state"].get("version", "?") for pin in pins if pin["identity"] == identity), "?")
