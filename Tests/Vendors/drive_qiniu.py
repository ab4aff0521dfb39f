#!/usr/bin/env python3
"""Runs the vendor's Qiniu client against the test store: the store accepts its requests, and it accepts the responses.

    drive_qiniu.py PATH-OF-TestStore
"""

import io
import os
import sys
import tempfile

from store import Store
from tally import Tally

import qiniu
import qiniu.utils
from qiniu import config
from qiniu.services.storage.upload_progress_recorder import UploadProgressRecorder

BUCKET = "photos"
KEYS = ["cards/front.jpg", "a/空 +%?#&=.jpg", "", None]

tally = Tally()


def token(key, **policy):
    return qiniu.Auth("ak", "sk").upload_token(BUCKET, key, 3600, policy or None)


def forms(key):
    what = f"form to {key!r}"
    body = os.urandom(100_000)
    # The client sends the checksum of the content.
    answer, info = qiniu.put_data(
        token(key or None), key, body, params={"x:order": "7"}, mime_type="image/jpeg", fname="front.jpg",
        metadata={"x-qn-meta-author": "alice"})
    tally.same(f"{what}: status", info.status_code, 200)
    etag = qiniu.utils.etag_stream(io.BytesIO(body))
    tally.same(f"{what}: hash", answer["hash"], etag)
    tally.same(f"{what}: key", answer["key"], etag if key is None else key)
    tally.check(f"{what}: id", info.req_id and info.req_id.startswith("reqid-"), info.req_id)


def parts(key, size, part_size):
    what = f"{size} bytes in parts of {part_size} to {key!r}"
    body = os.urandom(size)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "film.mp4")
        with open(path, "wb") as file:
            file.write(body)
        answer, info = qiniu.put_file_v2(
            token(key or None), key, path, part_size=part_size, bucket_name=BUCKET, mime_type="video/mp4",
            params={"x:order": "7"}, metadata={"x-qn-meta-author": "alice"},
            upload_progress_recorder=UploadProgressRecorder(folder))
    tally.same(f"{what}: status", info.status_code, 200)
    etag = qiniu.utils.etag_stream(io.BytesIO(body))
    if part_size % (4 << 20) == 0:
        tally.same(f"{what}: hash", answer["hash"], etag)
        # In parts the package has no encoding for the empty key: it sends none.
        tally.same(f"{what}: key", answer["key"], key or etag)
    else:
        tally.check(f"{what}: another hash", answer["hash"] != etag, answer["hash"])


def policies():
    limited = token("small", fsizeLimit=10)
    _, info = qiniu.put_data(limited, "small", b"x" * 11)
    tally.same("larger than fsizeLimit", info.status_code, 413)
    _, info = qiniu.put_data(token("other"), "small", b"x")
    tally.same("another key than the scope's", info.status_code, 403)
    _, info = qiniu.put_data(qiniu.Auth("ak", "wrong").upload_token(BUCKET, "k"), "k", b"x")
    tally.same("another secret", info.status_code, 401)
    _, info = qiniu.put_data(qiniu.Auth("ak", "sk").upload_token(BUCKET, "k", -10), "k", b"x")
    tally.same("an expired token", info.status_code, 401)
    answer, _ = qiniu.put_data(token(None, saveKey="saved/$(fname)", returnBody='{"k":$(key),"n":$(fsize)}'), None, b"xyz",
                               fname="f.bin")
    tally.same("saveKey and returnBody", answer, {"k": "saved/f.bin", "n": 3})
    qiniu.put_data(token("once", insertOnly=1), "once", b"1")
    _, info = qiniu.put_data(token("once", insertOnly=1), "once", b"2")
    tally.same("insertOnly", info.status_code, 614)


def main():
    store = Store(sys.argv[1], "qiniu", "--account", "ak:sk", "--page", "2")
    try:
        host = f"http://127.0.0.1:{store.port}"
        # Once with an explicit host, once with the host that the store's own region service returns.
        config.set_default(default_zone=qiniu.Region(up_host=host, up_host_backup=host, scheme="http"))
        for key in KEYS:
            tally.run(f"form to {key!r}", lambda: forms(key))
            for size, part_size in ((9 << 20, 4 << 20), ((3 << 20) + 17, 1 << 20)):
                config.set_default(default_upload_threshold=1 << 20)
                tally.run(f"parts to {key!r}", lambda: parts(key, size, part_size))
        tally.run("policies", policies)
        state = store.state()
    finally:
        store.close()
    stored = {entry["key"]: entry for entry in state["objects"]}
    film = stored.get("cards/front.jpg", {})
    tally.same("metadata of parts", film.get("metadata"), {"x-qn-meta-author": "alice"})
    tally.same("variables of parts", film.get("variables"), {"x:order": "7"})
    tally.same("uploads left open", state["openUploads"], 0)
    tally.same("requests against HTTP", state["complaints"], [])
    kinds = sorted({request["operation"] for request in state["requests"] if request["status"] == 200})
    tally.same("kinds of requests that were taken", kinds, ["begin", "complete", "form", "part"])
    taken = sum(1 for request in state["requests"] if request["status"] == 200)
    print(f"Qiniu: {taken} requests of the vendor's client taken, {tally.passed} checks passed, {tally.failed} differences")
    sys.exit(1 if tally.failed else 0)


main()
