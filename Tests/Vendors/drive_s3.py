#!/usr/bin/env python3
"""Lets servers of others judge our S3 client: the PyPI package moto, and with an endpoint another server.

    drive_s3.py PATH-OF-VendorRequests [ENDPOINT PROFILE]

moto checks neither signatures nor checksums, so it judges only the semantics: conditions, parts, resuming, aborts, forms.
Its answers are compared with the objects that botocore reads back. A server at ENDPOINT needs the account `ak` with the
secret `s3cr3t`, and no bucket `examplebucket`.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

from tally import Tally

import botocore.config
import botocore.session

BUCKET = "examplebucket"
FILM = os.urandom(12 << 20)
SMALL = b"hello s3"
tally = Tally()


@contextlib.contextmanager
def moto(folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with open(os.path.join(folder, "moto.log"), "w") as log:
        process = subprocess.Popen(
            [sys.executable, __file__, "--moto", str(port)], stdout=log, stderr=log)
        try:
            for _ in range(600):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()


def serve(port):
    """Runs moto. Known defect: the root element of ListParts has the name of the operation's response."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import run_simple
    moto_application = DomainDispatcherApplication(create_backend_app)

    def application(environ, start):
        # Spaces keep the length of the body.
        for chunk in moto_application(environ, start):
            yield chunk.replace(b"<ListPartsResponse", b"<ListPartsResult  ").replace(
                b"</ListPartsResponse", b"</ListPartsResult  ")

    run_simple("127.0.0.1", port, application, threaded=True)


def connect(endpoint):
    # Known defect of moto: without another package, a CRC-32C is computed as CRC-32.
    config = botocore.config.Config(
        s3={"addressing_style": "path"}, request_checksum_calculation="when_required",
        response_checksum_validation="when_required")
    client = botocore.session.get_session().create_client(
        "s3", region_name="us-east-1", endpoint_url=endpoint, aws_access_key_id="ak", aws_secret_access_key="s3cr3t",
        config=config)
    client.create_bucket(Bucket=BUCKET)
    return client


def content(client, key):
    return client.get_object(Bucket=BUCKET, Key=key)["Body"].read()


def uploads(client):
    return [one["Key"] for one in client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])]


def run(program, endpoint, profile, client, folder):
    """Returns the results of the steps. Lists and aborts uploads when the program waits."""
    pathlib.Path(folder, "film").write_bytes(FILM)
    results = {}
    process = subprocess.Popen(
        [program, "s3-uploads", endpoint, profile, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for text in process.stdout:
        line = json.loads(text)
        results[line["what"]] = line["result"]
        if line["what"] == "abandoned":
            tally.same("uploads that are begun", uploads(client), ["abandoned"])
        if line["what"] == "lost":
            tally.same("uploads after one was abandoned", uploads(client), ["lost"])
            for one in client.list_multipart_uploads(Bucket=BUCKET)["Uploads"]:
                client.abort_multipart_upload(Bucket=BUCKET, Key=one["Key"], UploadId=one["UploadId"])
        if line["what"] in ("abandoned", "lost"):
            process.stdin.write("\n")
            process.stdin.flush()
    tally.same("exit status", process.wait(), 0)
    return results


def judge(name, program, endpoint, profile, folder):
    client = connect(endpoint)
    results = run(program, endpoint, profile, client, folder)
    hashed = lambda body: f'"{hashlib.md5(body).hexdigest()}"'
    conditional = profile == "aws"
    wanted = {
        "put": hashed(SMALL), "empty": hashed(b""), "form": "204", "URL": "200",
        "absent": hashed(SMALL) if conditional else "invalidArgument",
        "present": "PreconditionFailed" if conditional else "invalidArgument",
        "present parts": "PreconditionFailed" if conditional else "invalidArgument",
        "same": hashed(b"\1") if conditional else "invalidArgument",
        "stale": "PreconditionFailed" if conditional else "invalidArgument",
        "begun": "cancelled", "abandoned": "cancelled", "lost": "cancelled",
    }
    for what, result in wanted.items():
        tally.same(f"{name}, {what}", results.get(what), result)
    tally.check(f"{name}, probe", results.get("probe") in (["true"] if conditional else ["true", "false"]), results)
    tally.check(f"{name}, resumed", results.get("resumed", "").startswith("resumed(parts: "), results.get("resumed"))
    tally.check(f"{name}, lost", results.get("begun again", "").startswith("afterDiscarding("), results.get("begun again"))
    objects = {"空 1+2%.txt": SMALL, "empty": b"", "form/空.txt": SMALL, "url/空.txt": SMALL, "resumed": FILM, "lost": FILM}
    if conditional:
        objects["c"] = b"\1"
    for what in results:
        kind, _, checksum = what.partition(" ")
        if checksum and kind == "put":
            tally.same(f"{name}, {what}", results[what], hashed(SMALL))
            objects[f"put-{checksum}"] = SMALL
        if kind == "parts" and checksum:
            tally.same(f"{name}, {what}", results[what], "fresh")
            objects[f"parts-{checksum}"] = FILM
    for key, body in objects.items():
        tally.run(f"{name}, {key}", lambda: tally.check(f"{name}, content of {key}", content(client, key) == body))
    listed = [one["Key"] for one in client.list_objects_v2(Bucket=BUCKET)["Contents"]]
    tally.same(f"{name}, keys", sorted(listed), sorted(objects))
    tally.same(f"{name}, open uploads", uploads(client), [])
    print(f"S3 judged by {name}: {len(results)} steps, probe {results.get('probe')}, "
          f"{tally.passed} checks passed, {tally.failed} differences")


def main():
    if sys.argv[1] == "--moto":
        serve(int(sys.argv[2]))
    with tempfile.TemporaryDirectory() as folder:
        if len(sys.argv) > 3:
            judge(sys.argv[2], sys.argv[1], sys.argv[2], sys.argv[3], folder)
        else:
            with moto(folder) as endpoint:
                judge("moto", sys.argv[1], endpoint, "aws", folder)
    sys.exit(1 if tally.failed else 0)


main()
