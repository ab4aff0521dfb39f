#!/usr/bin/env python3
"""Signs requests of Waybill to OSS again with the vendor's packages and compares the signatures.

    recompute_oss.py PATH-OF-VendorRequests

VendorRequests prints a line of JSON for each request: those that its table signs, and those that the client sent over a
socket. Version 4 is recomputed with both packages. Version 1 is recomputed only with `oss2`, because the other package
omits the security token. No package signs forms: the key comes from `oss2`, the rest is hmac.
"""

import base64
import collections
import datetime
import hashlib
import hmac
import json
import subprocess
import sys
import time
from urllib.parse import unquote

from tally import Tally

import alibabacloud_oss_v2.credentials as credentials_v2
import alibabacloud_oss_v2.types as types_v2
import oss2
import oss2.auth
from alibabacloud_oss_v2.signer import SignerV4
from oss2.credentials import Credentials

COMPACT = "%Y%m%dT%H%M%SZ"
tally = Tally()


class Request:
    """The properties of a request that the packages use."""

    def __init__(self, line):
        self.line = line
        self.method = line["method"]
        self.path, _, query = line["target"].partition("?")
        self.pairs = [tuple(unquote(half) for half in pair.partition("=")[::2]) for pair in query.split("&") if pair]
        self.headers = {name.lower(): value for name, value in line["headers"]}
        self.bucket, self.key = line["bucket"], line["key"]
        self.account = (line["id"], line["secret"]) + ((line["token"],) if line.get("token") else ())

    def params(self, *without):
        return {name: value for name, value in self.pairs if name not in without}

    def stub(self, without_headers=(), without_params=()):
        """Returns a request for `oss2`."""
        stub = type("Stub", (), {})()
        stub.method, stub.url = self.method, f"http://host{self.path}"
        stub.headers = oss2.http.CaseInsensitiveDict(
            {name: value for name, value in self.headers.items() if name not in without_headers})
        stub.params = self.params(*without_params)
        stub.region, stub.product, stub.cloudbox_id = self.line["region"], "oss", None
        return stub


def auth(request, version):
    if request.line.get("token"):
        return oss2.StsAuth(*request.account, auth_version=version)
    return (oss2.AuthV4 if version == "v4" else oss2.Auth)(*request.account)


class Frozen(datetime.datetime):
    moment = None

    @classmethod
    def utcnow(cls):
        return cls.moment


def header_v1(request):
    ours = request.headers["authorization"]
    oss2.utils.http_date = lambda *_: request.headers.get("x-oss-date") or request.headers["date"]
    stub = request.stub({"authorization", "date", "x-oss-security-token"})
    auth(request, "v1")._sign_request(stub, request.bucket, request.key)
    yield "oss2", ours, stub.headers["authorization"]


def query_v1(request):
    oss2.auth.time = type("Clock", (), {"time": staticmethod(lambda: int(request.params()["Expires"]) - 600)})
    stub = request.stub((), {"Expires", "OSSAccessKeyId", "Signature", "security-token"})
    auth(request, "v1")._sign_url(stub, request.bucket, request.key, 600)
    oss2.auth.time = time
    yield "oss2", request.params(), stub.params


def parse_v4(text):
    assert text.startswith("OSS4-HMAC-SHA256 "), text
    return dict(item.strip().split("=", 1) for item in text[17:].split(","))


def v4_context(request, names, moment, url_without):
    pairs = [pair for pair in request.line["target"].partition("?")[2].split("&")
             if pair and pair.partition("=")[0] not in url_without]
    url = f"http://host{request.path}" + ("?" + "&".join(pairs) if pairs else "")
    own = {"authorization", "x-oss-date", "x-oss-content-sha256", "x-oss-security-token", "date"}
    if url_without:
        own = set()
    message = types_v2.HttpRequest(method=request.method, url=url, headers={
        name: value for name, value in request.headers.items() if name not in own})
    provider = credentials_v2.StaticCredentialsProvider(*request.account)
    return types_v2.SigningContext(
        product="oss", region=request.line["region"], bucket=request.bucket or None, key=request.key or None,
        request=message, credentials=provider.get_credentials(),
        signing_time=moment.replace(tzinfo=datetime.timezone.utc), additional_headers=set(names))


def header_v4(request):
    ours = parse_v4(request.headers["authorization"])
    names = [name for name in ours.get("AdditionalHeaders", "").split(";") if name]
    moment = datetime.datetime.strptime(request.headers["x-oss-date"], COMPACT)
    Frozen.moment = moment
    oss2.auth.datetime = Frozen
    stub = request.stub({"authorization", "x-oss-date", "x-oss-content-sha256", "x-oss-security-token", "date"})
    provider = oss2.credentials.StaticCredentialsProvider(*request.account)
    oss2.auth.ProviderAuthV4(provider)._sign_request(stub, request.bucket, request.key, names)
    yield "oss2", ours, parse_v4(stub.headers["authorization"])
    context = v4_context(request, names, moment, ())
    SignerV4().sign(context)
    yield "alibabacloud-oss-v2", request.headers["authorization"], context.request.headers["authorization"]


def query_v4(request):
    ours = request.params()
    names = [name for name in ours.get("x-oss-additional-headers", "").split(";") if name]
    moment = datetime.datetime.strptime(ours["x-oss-date"], COMPACT)
    expires = int(ours["x-oss-expires"])
    own = {"x-oss-date", "x-oss-expires", "x-oss-signature-version", "x-oss-credential", "x-oss-additional-headers",
           "x-oss-security-token", "x-oss-signature"}
    Frozen.moment = moment
    oss2.auth.datetime = Frozen
    stub = request.stub((), own)
    provider = oss2.credentials.StaticCredentialsProvider(*request.account)
    oss2.auth.ProviderAuthV4(provider)._sign_url(stub, request.bucket, request.key, expires, set(names))
    yield "oss2", ours, stub.params
    context = v4_context(request, names, moment, own)
    context.auth_method_query = True
    context.expiration_time = context.signing_time + datetime.timedelta(seconds=expires)
    SignerV4().sign(context)
    theirs = dict(tuple(unquote(half) for half in pair.partition("=")[::2])
                  for pair in context.request.url.partition("?")[2].split("&"))
    yield "alibabacloud-oss-v2", ours, theirs


def form(line):
    fields = dict(line["form"])
    policy = fields["policy"]
    conditions = json.loads(base64.b64decode(policy).replace(b"\\$", b"$"))["conditions"]
    if "OSSAccessKeyId" in fields:
        mac = hmac.new(line["secret"].encode(), policy.encode(), hashlib.sha1).digest()
        yield "hmac", fields["Signature"], base64.b64encode(mac).decode()
    else:
        scope = f'{fields["x-oss-date"][:8]}/{line["region"]}/oss/aliyun_v4_request'
        yield "credential", fields["x-oss-credential"], f'{line["id"]}/{scope}'
        signer = oss2.auth.AuthV4(line["id"], line["secret"])
        stub = type("Stub", (), {"region": line["region"], "product": "oss", "cloudbox_id": None})()
        key = signer._ProviderAuthV4__get_signing_key(
            stub, Credentials(line["id"], line["secret"]), fields["x-oss-date"])
        yield "oss2", fields["x-oss-signature"], hmac.new(key, policy.encode(), hashlib.sha256).hexdigest()
        for name in ("x-oss-signature-version", "x-oss-credential", "x-oss-date"):
            yield f"condition of {name}", {name: fields[name]} in conditions, True
    if line.get("token"):
        yield "token", fields["x-oss-security-token"], line["token"]
        yield "condition of the token", {"x-oss-security-token": line["token"]} in conditions, True


def kind(line):
    if line.get("form"):
        return "form", form(line)
    request = Request(line)
    authorization = request.headers.get("authorization", "")
    if authorization.startswith("OSS4-"):
        return "V4 header", header_v4(request)
    if authorization.startswith("OSS "):
        return "V1 header", header_v1(request)
    if "x-oss-signature" in request.params():
        return "V4 URL", query_v4(request)
    return "V1 URL", query_v1(request)


def main():
    run = subprocess.run([sys.argv[1], "oss"], stdout=subprocess.PIPE, text=True, timeout=300)
    tally.same("exit status of VendorRequests", run.returncode, 0)
    counts = collections.Counter()
    for text in run.stdout.splitlines():
        line = json.loads(text)

        def steps():
            name, pairs = kind(line)
            for who, ours, theirs in pairs:
                tally.same(f'{line["what"]}, {who}', ours, theirs)
            counts[name + (" STS" if line.get("token") else "")] += 1

        tally.run(line["what"], steps)
    wanted = ["V1 URL", "V1 URL STS", "V1 header", "V1 header STS", "V4 URL", "V4 URL STS", "V4 header", "V4 header STS",
              "form", "form STS"]
    tally.same("kinds of requests", sorted(counts), wanted)
    listed = ", ".join(f"{counts[name]} {name}" for name in sorted(counts))
    print(f"OSS: {sum(counts.values())} requests of ours signed once more ({listed}), "
          f"{tally.passed} checks passed, {tally.failed} differences")
    sys.exit(1 if tally.failed else 0)


main()
