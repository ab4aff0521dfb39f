#!/usr/bin/env python3
"""Runs the command against foreign tus servers, through a relay that interrupts it: every upload arrives whole.

    drive_resumable.py PATH-OF-waybill

A known defect of a server is the expectation of its row, with a comment.
"""

import contextlib
import os
import signal
import sys
import tempfile

from tus_servers import ResumableUpload, TusPyServer, Tussi, TusWSGI
from uploads import BODY, POSITIONS, REJECTED, SUCCESS, UNKNOWN, Upload, run_all

FIRST_APPEND = 4 << 20


# ---------- Rows: each has a directory of its own

def whole(server, folder, tally):
    upload = Upload(server, folder, tally, "a file")
    with upload:
        upload.put()
        upload.check_creations()
        upload.check_repetitions(0)
        upload.check("metadata", server.metadata(upload.identifier),
                     {"filename": "film.bin", "filetype": "application/octet-stream"})


def empty(server, folder, tally):
    upload = Upload(server, folder, tally, "an empty file", body=b"")
    with upload:
        upload.put()
        upload.check_creations()


def named(server, folder, tally):
    name = "身份证 正面 1.jpg"
    upload = Upload(server, folder, tally, "a name in Chinese with spaces", name=name, body=BODY[:1000])
    with upload:
        if isinstance(server, Tussi):
            # Known defect: it responds with 400 to a name that is not ASCII.
            return upload.put(status=REJECTED)
        upload.put()
        upload.check("metadata", server.metadata(upload.identifier), {"filename": name, "filetype": "image/jpeg"})


def interrupted(server, folder, tally, position, action):
    upload = Upload(server, folder, tally, f"{action} after {position} bytes", (position, action))
    with upload:
        upload.put("--retry", "5")
        upload.check_repetitions(1)
        # The URL of the upload is lost with the response to its creation.
        upload.check_creations(2 if server.creates_with_upload and position < FIRST_APPEND else 1)


def unanswered(server, folder, tally):
    upload = Upload(server, folder, tally, "no response to the last append", drops_last=True)
    with upload:
        # Known defect of tussi: a complete upload is 404, as one that the server has lost.
        upload.put("--retry", "5", status=UNKNOWN if isinstance(server, Tussi) else SUCCESS)
        upload.check_repetitions(0)
        upload.check_creations()


def killed(server, folder, tally):
    upload = Upload(server, folder, tally, "kill -9", (5_000_000, lambda: upload.kill()))
    with upload:
        upload.put(status=-signal.SIGKILL)
        upload.put()
        upload.check_repetitions(1)
        upload.check_creations()


def restarted(server, folder, tally, keeps):
    server = type(server)(folder)

    def restart():
        server.close()
        if not keeps:
            server.remove()
        server.start()
        upload.relay.upstream = server.port

    what = f"the server is killed and started again {'with' if keeps else 'without'} its uploads"
    upload = Upload(server, folder, tally, what, (5_000_000, restart))
    with contextlib.closing(server), upload:
        upload.put("--retry", "5")
        if keeps:
            upload.check_repetitions(1)
        upload.check_creations(1 if keeps else 2)


def delayed(server, folder, tally, appends, later):
    upload = Upload(server, folder, tally, f"{appends} appends arrive {later} requests late")
    upload.relay.delay(appends, later)
    with upload:
        if not isinstance(server, TusWSGI) or (appends, later) == (1, 1):
            return upload.put("--retry", "5")
        # Known defect: it appends at any offset. No run may succeed with the upload in which it did so.
        status = upload.put("--retry", "5", status=None)
        upload.check("the wrong offset is detected", status != SUCCESS, True)
        if upload.put(status=None) != SUCCESS:
            upload.put()


def in_parts(server, folder, tally):
    upload = Upload(server, folder, tally, "a file in three parts")
    with upload:
        if isinstance(server, TusWSGI):
            # Known defect: it lists the extension, and rejects the request that joins the parts.
            return upload.put("--parts-at-once", "3", status=REJECTED)
        upload.put("--parts-at-once", "3")
        upload.check_creations(4 if server.concatenates else 1)
        upload.check_repetitions(0)
        upload.check("metadata", server.metadata(upload.identifier),
                     {"filename": "film.bin", "filetype": "application/octet-stream"})


def interrupted_in_parts(server, folder, tally, position, action):
    upload = Upload(server, folder, tally, f"three parts, {action} after {position} bytes", (position, action))
    with upload:
        upload.put("--retry", "5", "--parts-at-once", "3")
        # One of the three creations is lost, and only that part is created again.
        upload.check_creations(5)
        upload.check_repetitions(1)


def killed_in_parts(server, folder, tally):
    upload = Upload(server, folder, tally, "three parts, kill -9", (5_000_000, lambda: upload.kill()))
    with upload:
        upload.put("--parts-at-once", "3", status=-signal.SIGKILL)
        upload.put("--parts-at-once", "3")
        upload.check_repetitions(3)


def rows(server):
    yield whole, server
    yield empty, server
    yield named, server
    for action in ("reset", "close"):
        for position in POSITIONS:
            yield interrupted, server, position, action
    yield unanswered, server
    yield killed, server
    for later in (1, 2, 3):
        yield delayed, server, 1, later
    # The server then reports more bytes than were ever sent.
    yield delayed, server, 2, 1
    yield in_parts, server
    if isinstance(server, ResumableUpload):
        yield restarted, server, True
        yield restarted, server, False
        for position in POSITIONS:
            yield interrupted_in_parts, server, position, "reset"
        yield killed_in_parts, server


def main():
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as running:
        servers = []
        for kind in (ResumableUpload, TusWSGI, TusPyServer, Tussi):
            os.mkdir(f"{folder}/{kind.name}")
            servers.append(running.enter_context(contextlib.closing(kind(f"{folder}/{kind.name}"))))
        return run_all("tus", [row for server in servers for row in rows(server)], workers=4)


sys.exit(0 if main() else 1)
