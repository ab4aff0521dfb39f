#!/usr/bin/env python3
"""Runs the vendor's OSS clients against the test store: each side accepts the messages of the other.

    drive_oss.py PATH-OF-TestStore

This validates the store, against which all other tests run Waybill, with third-party clients.
"""

import base64
import datetime
import hashlib
import hmac
import json
import os
import sys
import tempfile
import urllib.error
import urllib.request

from store import Store  # first: it registers the names of the test
from tally import Tally

import alibabacloud_oss_v2 as v2
import alibabacloud_oss_v2.models as models
import oss2
import oss2.resumable
import requests

REGION = "cn-hangzhou"
BUCKET = "examplebucket"
HARD_KEY = "a+b #?%空/=&;x.jpg"
PART = 102_400
BODY = os.urandom(PART * 3 + 77)

tally = Tally()


# ---------- oss2

def oss2_auths():
    yield "oss2 V1", oss2.Auth("ak", "sk"), "v1"
    yield "oss2 V4", oss2.AuthV4("ak", "sk"), "v4"
    yield "oss2 V1 STS", oss2.StsAuth("sts", "secret", "tok/en+="), "v1"
    yield "oss2 V4 STS", oss2.StsAuth("sts", "secret", "tok/en+=", auth_version="v4"), "v4"


def oss2_buckets(port, auth):
    yield "virtual host", oss2.Bucket(auth, f"http://oss.test:{port}", BUCKET, region=REGION)
    yield "path", oss2.Bucket(auth, f"http://oss.test:{port}", BUCKET, region=REGION, is_path_style=True)
    yield "CNAME", oss2.Bucket(auth, f"http://cdn.localhost:{port}", BUCKET, region=REGION, is_cname=True)


def oss2_objects(what, bucket):
    headers = {
        "Content-Type": "image/jpeg", "x-oss-meta-author": "alice", "Content-MD5": oss2.utils.content_md5(b"hello oss"),
        "x-oss-object-acl": "private", "x-oss-traffic-limit": "819200",
    }
    # The client compares x-oss-hash-crc64ecma and raises if it differs.
    put = bucket.put_object(HARD_KEY, b"hello oss", headers=headers)
    tally.same(f"{what}: status of put", put.status, 200)
    tally.same(f"{what}: checksum of put", put.crc, 15021467531229347219)
    tally.same(f"{what}: ETag of put", put.etag, hashlib.md5(b"hello oss").hexdigest().upper())
    head = bucket.head_object(HARD_KEY)
    tally.same(f"{what}: head", (head.content_length, head.content_type, head.headers["x-oss-meta-author"]),
               (9, "image/jpeg", "alice"))
    tally.same(f"{what}: get", bucket.get_object(HARD_KEY).read(), b"hello oss")
    try:
        bucket.put_object(HARD_KEY, b"", headers={"x-oss-forbid-overwrite": "true"})
        tally.check(f"{what}: forbid-overwrite", False, "was not refused")
    except oss2.exceptions.OssError as error:
        tally.same(f"{what}: forbid-overwrite", (error.status, error.code), (409, "FileAlreadyExists"))
    bucket.delete_object(HARD_KEY)
    tally.same(f"{what}: gone", bucket.object_exists(HARD_KEY), False)
    first = bucket.append_object("log", 0, b"hello ")
    second = bucket.append_object("log", first.next_position, b"oss", init_crc=first.crc)
    tally.same(f"{what}: append", (second.next_position, second.crc), (9, 15021467531229347219))
    bucket.delete_object("log")


def oss2_callback(what, bucket):
    order = {"callbackUrl": "http://127.0.0.1/", "callbackBody": "o=${object}&s=${size}&v=${x:v}"}
    headers = {
        "x-oss-callback": base64.b64encode(json.dumps(order).encode()).decode(),
        "x-oss-callback-var": base64.b64encode(b'{"x:v":"1"}').decode(),
    }
    answer = bucket.put_object("called", b"abc", headers=headers)
    tally.same(f"{what}: callback", answer.resp.read(), b'{"Status":"OK"}')


def oss2_multipart(what, bucket):
    upload = bucket.init_multipart_upload(HARD_KEY, headers={"x-oss-meta-a": "b"}).upload_id
    parts = []
    for number in range(1, 5):
        piece = BODY[(number - 1) * PART:number * PART]
        answer = bucket.upload_part(HARD_KEY, upload, number, piece)
        parts.append(oss2.models.PartInfo(number, answer.etag, size=len(piece), part_crc=answer.crc))
    # The store returns two parts per page.
    listed = list(oss2.PartIterator(bucket, HARD_KEY, upload))
    tally.same(f"{what}: listed parts", [(p.part_number, p.size, p.etag) for p in listed],
               [(p.part_number, p.size, p.etag) for p in parts])
    # The client combines the checksums of the parts and compares.
    done = bucket.complete_multipart_upload(HARD_KEY, upload, parts)
    tally.same(f"{what}: status of complete", done.status, 200)
    tally.same(f"{what}: whole", bucket.get_object(HARD_KEY).read(), BODY)
    upload = bucket.init_multipart_upload("aborted").upload_id
    bucket.upload_part("aborted", upload, 1, b"x")
    bucket.abort_multipart_upload("aborted", upload)
    try:
        bucket.list_parts("aborted", upload)
        tally.check(f"{what}: abort", False, "the upload is still there")
    except oss2.exceptions.NoSuchUpload as error:
        tally.same(f"{what}: abort", (error.status, error.ec), (404, "0042-00000203"))


def oss2_resumable(what, bucket, folder):
    path = os.path.join(folder, "file")
    with open(path, "wb") as file:
        file.write(BODY)
    store = oss2.resumable.ResumableStore(root=folder)
    oss2.resumable_upload(bucket, "resumable", path, store=store, multipart_threshold=PART, part_size=PART, num_threads=3)
    tally.same(f"{what}: resumable", bucket.get_object("resumable").read(), BODY)


def oss2_presigned(what, bucket):
    headers = {"Content-Type": "text/plain", "x-oss-meta-a": "b"}
    url = bucket.sign_url("PUT", HARD_KEY, 600, headers=dict(headers), slash_safe=True)
    put = urllib.request.Request(url, data=b"hello oss", method="PUT", headers=headers)
    with urllib.request.urlopen(put) as answer:
        tally.same(f"{what}: presigned put", answer.headers["x-oss-hash-crc64ecma"], "15021467531229347219")
    with urllib.request.urlopen(bucket.sign_url("GET", HARD_KEY, 600, slash_safe=True)) as answer:
        tally.same(f"{what}: presigned get", answer.read(), b"hello oss")
    try:
        urllib.request.urlopen(urllib.request.Request(url, data=b"x", method="PUT", headers={"Content-Type": "image/png"}))
        tally.check(f"{what}: presigned with another type", False, "was taken")
    except urllib.error.HTTPError as error:
        tally.same(f"{what}: presigned with another type", error.code, 403)


def oss2_refusals(port):
    wrong = oss2.Bucket(oss2.Auth("ak", "other"), f"http://oss.test:{port}", BUCKET)
    try:
        wrong.put_object("k", b"")
        tally.check("oss2: another secret", False, "was taken")
    except oss2.exceptions.SignatureDoesNotMatch as error:
        tally.check("oss2: another secret", "StringToSign" in error.details, error.details)
    wrong = oss2.Bucket(oss2.StsAuth("sts", "secret", "other"), f"http://oss.test:{port}", BUCKET)
    try:
        wrong.put_object("k", b"")
        tally.check("oss2: another token", False, "was taken")
    except oss2.exceptions.ServerError as error:
        tally.same("oss2: another token", error.code, "InvalidSecurityToken")


def drive_oss2(port):
    for name, auth, _ in oss2_auths():
        for style, bucket in oss2_buckets(port, auth):
            what = f"{name}, {style}"
            tally.run(what, lambda: oss2_objects(what, bucket))
            tally.run(what, lambda: oss2_multipart(what, bucket))
            tally.run(what, lambda: oss2_presigned(what, bucket))
            tally.run(what, lambda: oss2_callback(what, bucket))
            with tempfile.TemporaryDirectory() as folder:
                tally.run(what, lambda: oss2_resumable(what, bucket, folder))
    tally.run("oss2", lambda: oss2_refusals(port))


# ---------- alibabacloud-oss-v2

def v2_clients(port):
    for version in ("v1", "v4"):
        for token in (None, "tok/en+="):
            # With V1 the package sends `security-token`, which is not the name of the field, and does not sign it.
            if version == "v1" and token:
                continue
            for style in ("virtual host", "path", "CNAME"):
                config = v2.config.load_default()
                config.region = REGION
                config.signature_version = version
                config.credentials_provider = v2.credentials.StaticCredentialsProvider(
                    "sts" if token else "ak", "secret" if token else "sk", token)
                config.endpoint = f"http://cdn.localhost:{port}" if style == "CNAME" else f"http://oss.test:{port}"
                config.use_path_style = style == "path"
                config.use_cname = style == "CNAME"
                config.retry_max_attempts = 1
                if version == "v4":
                    config.additional_headers = ["content-length", "host"]
                yield f"v2 {version}{' STS' if token else ''}, {style}", v2.Client(config)


def v2_objects(what, client):
    put = client.put_object(models.PutObjectRequest(
        bucket=BUCKET, key=HARD_KEY, body=b"hello oss", content_type="image/jpeg", metadata={"author": "alice"},
        acl="private", storage_class="Standard", traffic_limit=819200))
    tally.same(f"{what}: put", (put.status_code, put.hash_crc64), (200, "15021467531229347219"))
    head = client.head_object(models.HeadObjectRequest(bucket=BUCKET, key=HARD_KEY))
    tally.same(f"{what}: head", (head.content_length, head.content_type, head.metadata.get("author")),
               (9, "image/jpeg", "alice"))
    tally.same(f"{what}: get", client.get_object(models.GetObjectRequest(bucket=BUCKET, key=HARD_KEY)).body.read(), b"hello oss")
    try:
        client.put_object(models.PutObjectRequest(bucket=BUCKET, key=HARD_KEY, body=b"", forbid_overwrite=True))
        tally.check(f"{what}: forbid-overwrite", False, "was not refused")
    except v2.exceptions.OperationError as error:
        service = error.unwrap()
        tally.same(f"{what}: forbid-overwrite", (service.status_code, service.code), (409, "FileAlreadyExists"))
    tally.same(f"{what}: delete",
               client.delete_object(models.DeleteObjectRequest(bucket=BUCKET, key=HARD_KEY)).status_code, 204)
    first = client.append_object(models.AppendObjectRequest(bucket=BUCKET, key="log", position=0, body=b"hello "))
    second = client.append_object(models.AppendObjectRequest(
        bucket=BUCKET, key="log", position=first.next_position, body=b"oss", init_hash_crc64=first.hash_crc64))
    tally.same(f"{what}: append", (second.next_position, second.hash_crc64), (9, "15021467531229347219"))
    client.delete_object(models.DeleteObjectRequest(bucket=BUCKET, key="log"))


def v2_multipart(what, client):
    upload = client.initiate_multipart_upload(models.InitiateMultipartUploadRequest(bucket=BUCKET, key=HARD_KEY)).upload_id
    parts, checksums = [], []
    for number in range(1, 5):
        piece = BODY[(number - 1) * PART:number * PART]
        answer = client.upload_part(models.UploadPartRequest(
            bucket=BUCKET, key=HARD_KEY, part_number=number, upload_id=upload, body=piece))
        parts.append(models.UploadPart(part_number=number, etag=answer.etag))
        checksums.append(int(answer.hash_crc64))
    pages = client.list_parts_paginator().iter_page(models.ListPartsRequest(bucket=BUCKET, key=HARD_KEY, upload_id=upload))
    listed = [part for page in pages for part in page.parts]
    tally.same(f"{what}: listed parts", [(p.part_number, p.etag) for p in listed], [(p.part_number, p.etag) for p in parts])
    tally.same(f"{what}: listed checksums", [int(p.hash_crc64) for p in listed], checksums)
    client.complete_multipart_upload(models.CompleteMultipartUploadRequest(
        bucket=BUCKET, key=HARD_KEY, upload_id=upload,
        complete_multipart_upload=models.CompleteMultipartUpload(parts=parts)))
    tally.same(f"{what}: whole", client.get_object(models.GetObjectRequest(bucket=BUCKET, key=HARD_KEY)).body.read(), BODY)
    upload = client.initiate_multipart_upload(models.InitiateMultipartUploadRequest(bucket=BUCKET, key="all")).upload_id
    client.upload_part(models.UploadPartRequest(bucket=BUCKET, key="all", part_number=9, upload_id=upload, body=b"x"))
    done = client.complete_multipart_upload(models.CompleteMultipartUploadRequest(
        bucket=BUCKET, key="all", upload_id=upload, complete_all="yes"))
    tally.same(f"{what}: complete all", done.status_code, 200)
    upload = client.initiate_multipart_upload(models.InitiateMultipartUploadRequest(bucket=BUCKET, key="aborted")).upload_id
    gone = client.abort_multipart_upload(models.AbortMultipartUploadRequest(bucket=BUCKET, key="aborted", upload_id=upload))
    tally.same(f"{what}: abort", gone.status_code, 204)


def v2_resumable(what, client, folder):
    path = os.path.join(folder, "file")
    with open(path, "wb") as file:
        file.write(BODY)
    uploader = client.uploader(part_size=PART, parallel_num=3, enable_checkpoint=True, checkpoint_dir=folder + "/")
    uploader.upload_file(models.PutObjectRequest(bucket=BUCKET, key="resumable"), filepath=path)
    got = client.get_object(models.GetObjectRequest(bucket=BUCKET, key="resumable")).body.read()
    tally.same(f"{what}: resumable", got, BODY)


def v2_presigned(what, client):
    signed = client.presign(
        models.PutObjectRequest(bucket=BUCKET, key=HARD_KEY, content_type="text/plain", metadata={"a": "b"}),
        expires=datetime.timedelta(seconds=600))
    put = urllib.request.Request(signed.url, data=b"hello oss", method="PUT", headers=dict(signed.signed_headers or {}))
    with urllib.request.urlopen(put) as answer:
        tally.same(f"{what}: presigned put", answer.headers["x-oss-hash-crc64ecma"], "15021467531229347219")


def drive_v2(port):
    for what, client in v2_clients(port):
        tally.run(what, lambda: v2_objects(what, client))
        tally.run(what, lambda: v2_multipart(what, client))
        # If content-length is signed, a presigned request would have to be sent with that length.
        if "v4" not in what:
            tally.run(what, lambda: v2_presigned(what, client))
        with tempfile.TemporaryDirectory() as folder:
            tally.run(what, lambda: v2_resumable(what, client, folder))


# ---------- Forms: no package creates them, so `requests` writes the form and hmac signs it

def form_fields(version, token):
    account, secret = ("sts", "secret") if token else ("ak", "sk")
    now = datetime.datetime.now(datetime.timezone.utc)
    date = now.strftime("%Y%m%dT%H%M%SZ")
    scope = f"{date[:8]}/{REGION}/oss/aliyun_v4_request"
    fields = {"key": "forms/${filename}", "Content-Type": "image/png", "success_action_status": "201"}
    conditions = [
        {"bucket": BUCKET}, ["eq", "$success_action_status", "201"], ["starts-with", "$key", "forms/"],
        ["content-length-range", 1, 10], ["in", "$content-type", ["image/jpg", "image/png"]],
        ["not-in", "$cache-control", ["no-cache"]],
    ]
    fields["Cache-Control"] = "max-age=60"
    signing = {}
    if version == "v4":
        signing = {"x-oss-signature-version": "OSS4-HMAC-SHA256", "x-oss-credential": f"{account}/{scope}", "x-oss-date": date}
    if token:
        signing["x-oss-security-token"] = token
    conditions += [{name: value} for name, value in signing.items()]
    end = (now + datetime.timedelta(seconds=600)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    policy = base64.b64encode(json.dumps({"expiration": end, "conditions": conditions}).encode()).decode()
    fields |= signing | {"policy": policy}
    if version == "v1":
        mac = hmac.new(secret.encode(), policy.encode(), hashlib.sha1).digest()
        return fields | {"OSSAccessKeyId": account, "Signature": base64.b64encode(mac).decode()}
    key = ("aliyun_v4" + secret).encode()
    for step in scope.split("/") + [policy]:
        key = hmac.new(key, step.encode(), hashlib.sha256).digest()
    return fields | {"x-oss-signature": key.hex()}


def drive_forms(port):
    for version in ("v1", "v4"):
        for token in (None, "tok/en+="):
            what = f"form {version}{' STS' if token else ''}"

            def steps():
                fields = form_fields(version, token)
                answer = requests.post(f"http://{BUCKET}.oss.test:{port}/", data=fields,
                                       files={"file": ("空 a.png", b"hello oss", "image/png")}, timeout=10)
                tally.same(f"{what}: status", answer.status_code, 201)
                tally.same(f"{what}: checksum", answer.headers.get("x-oss-hash-crc64ecma"), "15021467531229347219")
                large = requests.post(f"http://{BUCKET}.oss.test:{port}/", data=fields,
                                      files={"file": ("a.png", b"hello oss!!", "image/png")}, timeout=10)
                tally.check(f"{what}: too large", large.status_code == 400 and "EntityTooLarge" in large.text, large.text)

            tally.run(what, steps)


def main():
    store = Store(sys.argv[1], "oss", "--account", "ak:sk", "--account", "sts:secret:tok/en+=", "--page", "2")
    try:
        drive_oss2(store.port)
        drive_v2(store.port)
        drive_forms(store.port)
        state = store.state()
    finally:
        store.close()
    taken = sum(1 for request in state["requests"] if request["status"] and request["status"] < 300)
    kinds = sorted({request["signature"] for request in state["requests"] if request["status"] == 200})
    tally.same("kinds of signatures that were taken", kinds, ["v1Header", "v1URL", "v4Header", "v4URL"])
    tally.same("requests against HTTP", state["complaints"], [])
    tally.same("uploads left open", state["openUploads"], 0)
    print(f"OSS: {taken} requests of the vendor's clients taken, {tally.passed} checks passed, {tally.failed} differences")
    sys.exit(1 if tally.failed else 0)


main()
