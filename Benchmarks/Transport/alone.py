"""Measurements of other kinds: forms of many parts, images compressed while others are sent, and the start of programs."""

import os
import shutil

import drivers
from measure import ROOT, Failure, product, run
from receiver import Sink

RATE = 500 << 10


def forms(rounds, scale, say):
    """Returns the CPU seconds to build and read 200,000 parts, in forms of 1,000 and of 10,000 parts."""
    total = max(20_000, round(200_000 * scale))
    results = {"total": total, "1,000": [], "10,000": []}
    say("forms of many parts")
    for _ in range(rounds):
        for parts, name in ((1_000, "1,000"), (10_000, "10,000")):
            results[name].append(run([product("WaybillWorkload"), "build-form", parts, total // parts]).cpu)
    return results


def pictures(rounds, scale, directory, say):
    """Returns the seconds to compress images of 12 megapixels below 100 KiB and send them at 500 KiB/s."""
    count = max(4, round(100 * scale))
    drawn = os.path.join(directory, "pictures")
    os.makedirs(drawn, exist_ok=True)
    run([product("JPEGWorkload"), "draw", drawn])
    results = {"count": count, "batch": [], "in-turn": []}
    with Sink(rate=RATE) as sink:
        for number in range(rounds):
            say("%d images at 500 KiB/s: round %d of %d" % (count, number + 1, rounds))
            for way in ("batch", "in-turn"):
                done = run([product("WaybillWorkload"), "send-photos", sink.url, drawn, count, way])
                if done.output.strip() != str(count):
                    raise Failure("%s of %d responses arrived" % (done.output.strip(), count))
                results[way].append(done.wall)
    return results


def start(rounds, directory, say):
    """Returns CPU and wall seconds and megabytes of programs that send one form of 1 KB, or only print their version. Missing
    programs are left out."""
    path = os.path.join(directory, "form-of-1-KB")
    with open(path, "wb") as file:
        file.write(bytes(1000))
    say("the start of programs")
    ours = os.path.join(ROOT, os.environ.get("WAYBILL_PROGRAM", ".build-dist/release/waybill"))
    results = {}
    with Sink() as sink:
        form, order = ["-F", "FILE=@" + path, sink.url], [sink.url, path, 1, 1]
        commands = {
            "waybill post": [ours, "post"] + form, "curl -F": ["curl", "-q", "-sS", "--noproxy", "*"] + form,
            "waybill --version": [ours, "--version"], "curl --version": ["curl", "--version"],
            "program with Waybill": [product("WaybillWorkload"), "send"] + order,
            "program in Go": [drivers.go_program("send.go", directory) or "go", "length"] + order,
        }
        for _ in range(3 * rounds):
            for name, command in commands.items():
                if shutil.which(command[0]):
                    done = run(command)
                    results.setdefault(name, []).append({"cpu": done.cpu, "wall": done.wall, "memory": done.memory})
    return results
