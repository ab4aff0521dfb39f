#!/usr/bin/env python3
"""Runs the command through proxies to tus servers and to our server of the IETF draft: every upload arrives whole.

    drive_proxied.py PATH-OF-waybill

A relay interrupts the uploads, between the command and the proxy or between the proxy and the server. A proxy that is
not installed is skipped.
"""

import contextlib
import os
import sys

from draft_server import DraftServer, InterimDraftServer
from proxies import (
    Apache, BarringNginx, BufferingNginx, Caddy, HAProxy, HeadBarringNginx, LimitingNginx, StreamingNginx)
from tus_servers import ResumableUpload, TusPyServer
from uploads import POSITIONS, PROGRAM, Upload, run_all

PROXIES = [BufferingNginx, StreamingNginx, HAProxy, Caddy, Apache]
STORE = os.path.join(os.path.dirname(PROGRAM), "TestStore")


def started(kind, folder):
    """Starts a server with a directory of its own."""
    if issubclass(kind, DraftServer):
        return kind(STORE, folder)
    path = os.path.join(folder, "server")
    os.mkdir(path)
    return kind(path)


def check_creations(upload):
    """Verifies the number of creations after the first append was lost. A creation with content is lost with it."""
    upload.check_creations(2 if upload.server.creates_with_upload else 1)


# ---------- Rows: each has a server, a proxy and a directory of its own

def whole(server, folder, tally, proxy):
    with Upload(server, folder, tally, "a file", proxy=proxy) as upload:
        upload.put()
        upload.check_creations()
        upload.check_repetitions(0)


def interrupted(server, folder, tally, proxy, action):
    """The command loses three connections to the proxy."""
    cuts = [(position, action) for position in POSITIONS]
    with Upload(server, folder, tally, f"three times {action}", *cuts, proxy=proxy) as upload:
        upload.put("--retry", "5")
        upload.check_repetitions(3)
        check_creations(upload)


def interrupted_inside(server, folder, tally, proxy, actions):
    """The proxy loses connections to the server, and responds with an error."""
    cuts = list(zip(POSITIONS, actions))
    with Upload(server, folder, tally, f"{actions} behind the proxy", *cuts, proxy=proxy, inside=True) as upload:
        upload.put("--retry", "5")
        upload.check_repetitions(len(cuts))
        check_creations(upload)


def unanswered(server, folder, tally, proxy, inside):
    what = f"no response to the last append {'behind' if inside else 'of'} the proxy"
    with Upload(server, folder, tally, what, proxy=proxy, inside=inside, drops_last=True) as upload:
        upload.put("--retry", "5")
        upload.check_repetitions(0)
        upload.check_creations()


def delayed(server, folder, tally, proxy):
    with Upload(server, folder, tally, "an append arrives late", proxy=proxy) as upload:
        upload.relay.delay(1, 1)
        upload.put("--retry", "5")
        upload.check_creations()


def limited(server, folder, tally, proxy):
    """The proxy responds with 413 until the appends are short enough."""
    with Upload(server, folder, tally, "a file", proxy=proxy, maximum=1 << 20) as upload:
        upload.put()
        upload.check_repetitions(0)
        rejected = sum(1 for request in upload.relay.requests if request.length > upload.maximum)
        upload.check("rejected requests", rejected, 2)
        check_creations(upload)


def barred(server, folder, tally, proxy):
    """The proxy responds with 405 to methods of the protocol."""
    with Upload(server, folder, tally, "a file", (5_000_000, "reset"), proxy=proxy) as upload:
        upload.put("--retry", "5")
        upload.check_repetitions(1)


def rows(server, proxy):
    yield whole, server, proxy
    for action in ("reset", "close", "leave"):
        yield interrupted, server, proxy, action
    for actions in (("reset", "close", "reset"), ("stall",)):
        yield interrupted_inside, server, proxy, actions
    for inside in (False, True):
        yield unanswered, server, proxy, inside
    yield delayed, server, proxy


def all_rows():
    for proxy in PROXIES:
        for server in (ResumableUpload, DraftServer):
            yield from rows(server, proxy)
        yield whole, InterimDraftServer, proxy
    for server in (ResumableUpload, TusPyServer, DraftServer):
        yield limited, server, LimitingNginx
    # In tus a field replaces all methods, and in the draft GET replaces HEAD.
    yield barred, ResumableUpload, BarringNginx
    yield barred, DraftServer, HeadBarringNginx


def run(kind, folder, tally, row, *arguments):
    """Runs a row with a server of its own."""
    with contextlib.closing(started(kind, folder)) as server:
        row(server, folder, tally, *arguments)


def main():
    for program in sorted({proxy.program for proxy in PROXIES if not proxy.path()}):
        print(f"➜ {program} is not installed: its rows are skipped. Run make setup.")
    rows = [(run, server, row, proxy, *rest) for row, server, proxy, *rest in all_rows() if proxy.path()]
    return run_all("proxies", rows, workers=16)


sys.exit(0 if main() else 1)
