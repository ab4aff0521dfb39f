"""Parser speed by CPU time, compared with defnull's `multipart` for Python and Go's `mime/multipart`.

Each figure is of a separate process, started in turn. It parses a form with one file, whose content is fed from memory in chunks,
counted and discarded.
"""

import math
import os
import random
import re

from drivers import go_program, go_version
from measure import PEERS, Failure, output_of, product, run

# As long as the boundaries of browsers.
BOUNDARY = "----WebKitFormBoundary7MA4YWxkTrZu0gW1"
BLOCK = 1 << 20


def filled(text):
    piece = text.encode()
    return (piece * (BLOCK // len(piece) + 1))[:BLOCK]


def contents():
    """Returns name, chunk size and content. The prefix of the name selects the target: see targets.py."""
    noise = random.Random(42).randbytes(BLOCK)
    delimiter = "\r\n--" + BOUNDARY
    return [
        ("random", 65536, noise),
        ("printable", 65536, bytes(32 + byte % 95 for byte in noise)),
        ("all CRLF", 65536, filled("\r\n")),
        ("hostile: boundary and junk", 65536, filled(delimiter + "x")),
        ("hostile: boundary, blanks, junk", 65536, filled(delimiter + " \tx")),
        ("hostile: boundary and a dash", 65536, filled(delimiter + "-x")),
        ("hostile: all but the last byte", 65536, filled(delimiter[:-1])),
        ("hostile: CR only", 65536, filled("\r")),
        ("1-byte chunks, random", 1, noise),
        ("1-byte chunks, all CRLF", 1, filled("\r\n")),
        ("1-byte chunks, hostile", 1, filled(delimiter + "x")),
    ]


def parsers(python, directory):
    """Returns the command prefix of each parser by name, the versions, and the missing parsers."""
    found, versions, absent = {"waybill": [product("WaybillWorkload"), "parse-form"]}, [], []
    version = output_of(python, "-c", "import multipart; print(multipart.__version__)") if python else ""
    if re.fullmatch(r"[\d.]+", version):
        found["defnull"] = [python, os.path.join(PEERS, "parse.py")]
        versions.append("defnull: multipart " + version)
    else:
        absent.append("defnull's multipart")
    program = go_program("parse.go", directory)
    if program:
        found["Go"] = [program]
        versions.append("Go: mime/multipart of " + go_version())
    else:
        absent.append("Go's mime/multipart")
    return found, versions, absent


def figure(words):
    text = run(words).output.strip()
    try:
        return float(text)
    except ValueError:
        raise Failure("%s printed %r" % (words[0], text[:200])) from None


def measure(found, rounds, scale, directory, say):
    """Returns megabytes per second of CPU time for each round, by content and parser; NaN if it rejects the content."""
    results = {}
    for name, chunk, block in contents():
        path = os.path.join(directory, "content")
        with open(path, "wb") as file:
            file.write(block)
        total = max(16 << 20, round((512 << 20) * scale)) if chunk > 1 else max(4 << 20, round((64 << 20) * scale))
        say("parser, %s" % name)
        for _ in range(rounds):
            for parser, words in found.items():
                # With chunks of one byte the others would take minutes.
                share = total if chunk > 1 or parser == "waybill" else max(1 << 20, total // 16)
                speed = figure(words + [path, BOUNDARY, chunk, share])
                results.setdefault(name, {}).setdefault(parser, []).append(None if math.isnan(speed) else speed)
    return results
