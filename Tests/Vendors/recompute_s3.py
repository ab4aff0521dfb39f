#!/usr/bin/env python3
"""Signs requests of Waybill to S3 again with botocore and compares everything that the signature adds.

    recompute_s3.py PATH-OF-VendorRequests

VendorRequests prints a line of JSON for each request: those that its table signs, and those that the client sent over a
socket. botocore receives the request without the signature. It computes the hash of the body itself, except for sent
requests, whose bodies the test store has verified.
"""

import base64
import collections
import datetime
import json
import subprocess
import sys
import types
from urllib.parse import unquote

from tally import Tally

import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

COMPACT = "%Y%m%dT%H%M%SZ"
ADDED_TO_FORM = {"x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-security-token"}
ADDED = {"authorization", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token"}
tally = Tally()


def at(date):
    moment = datetime.datetime.strptime(date, COMPACT).replace(tzinfo=datetime.timezone.utc)
    botocore.auth.get_current_datetime = lambda: moment


def request(line, url, names):
    """Returns the request with the header fields that the signature lists, which are all that botocore signs."""
    headers = {name: value for name, value in line["headers"] if name.lower() in names and name.lower() not in ADDED}
    result = AWSRequest(method=line["method"], url=url, headers=headers, data=line.get("body", "").encode())
    config = types.SimpleNamespace(s3={"payload_signing_enabled": "body" in line})
    result.context["client_config"] = config
    return result


def items(url):
    pairs = [tuple(unquote(half) for half in pair.partition("=")[::2]) for pair in url.partition("?")[2].split("&")]
    tally.same("names of query items are unique", len(pairs), len(dict(pairs)))
    return dict(pairs)


def header(line, credentials):
    ours = {name.lower(): value for name, value in line["headers"]}
    names = ours["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
    at(ours["x-amz-date"])
    theirs = request(line, line["target"], names)
    signer = botocore.auth.S3SigV4Auth(credentials, "s3", line["region"])
    if "payload" in line:
        signer.payload = lambda _: line["payload"]
    signer.add_auth(theirs)
    for name in sorted(ADDED):
        got = ours.get(name)
        wanted = theirs.headers.get(name)
        tally.same(f'{line["what"]}, {name}', got, wanted and wanted.replace(", ", ","))


def url(line, credentials):
    ours = items(line["target"])
    at(ours["X-Amz-Date"])
    path, _, query = line["target"].partition("?")
    kept = "&".join(pair for pair in query.split("&") if not pair.startswith("X-Amz-"))
    theirs = request(line, f"{path}?{kept}" if kept else path, ours["X-Amz-SignedHeaders"].split(";"))
    botocore.auth.S3SigV4QueryAuth(
        credentials, "s3", line["region"], expires=int(ours["X-Amz-Expires"])).add_auth(theirs)
    tally.same(f'{line["what"]}, path', path, theirs.url.partition("?")[0])
    tally.same(line["what"], ours, items(theirs.url))


def form(line, credentials):
    """Signs the conditions of a form again with the signer of generate_presigned_post."""
    ours = dict(line["form"])
    tally.same(f'{line["what"]}, names of fields are unique', len(ours), len(line["form"]))
    at(ours["x-amz-date"])
    policy = json.loads(base64.b64decode(ours["policy"]))
    given = [one for one in policy["conditions"] if not (isinstance(one, dict) and ADDED_TO_FORM & set(one))]
    theirs = AWSRequest(method="POST", url="https://examplebucket.s3.eu-west-1.amazonaws.com/")
    theirs.context["s3-presign-post-fields"] = {}
    theirs.context["s3-presign-post-policy"] = {"expiration": policy["expiration"], "conditions": list(given)}
    signer = botocore.auth.S3SigV4PostAuth(credentials, "s3", line["region"])
    signer.add_auth(theirs)
    wanted = theirs.context["s3-presign-post-fields"]
    signed = json.loads(base64.b64decode(wanted["policy"]))
    tally.same(f'{line["what"]}, names of fields', sorted(ours), sorted(wanted))
    for name in sorted(set(wanted) - {"policy", "x-amz-signature"}):
        tally.same(f'{line["what"]}, {name}', ours.get(name), wanted[name])
    key = lambda one: json.dumps(one, sort_keys=True)
    tally.same(f'{line["what"]}, conditions', sorted(policy["conditions"], key=key), sorted(signed["conditions"], key=key))
    # The text of the policy differs in its spaces, so the signature is that of our text.
    theirs.context["timestamp"] = ours["x-amz-date"]
    tally.same(f'{line["what"]}, signature', ours["x-amz-signature"], signer.signature(ours["policy"], theirs))


def main():
    run = subprocess.run([sys.argv[1], "s3"], stdout=subprocess.PIPE, text=True, timeout=300)
    tally.same("exit status of VendorRequests", run.returncode, 0)
    counts = collections.Counter()
    for text in run.stdout.splitlines():
        line = json.loads(text)

        def steps():
            credentials = Credentials(line["id"], line["secret"], line.get("token"))
            if "form" in line:
                form(line, credentials)
                counts["form" + (" with token" if line.get("token") else "")] += 1
                return
            is_url = "X-Amz-Signature=" in line["target"]
            (url if is_url else header)(line, credentials)
            kind = "URL" if is_url else "header with hash" if "body" in line else "sent" if "payload" in line else "header"
            counts[kind + (" with token" if line.get("token") else "")] += 1

        tally.run(line["what"], steps)
    kinds = ["URL", "form", "header", "header with hash", "sent"]
    tally.same("kinds of requests", sorted(counts), sorted(kinds + [f"{kind} with token" for kind in kinds]))
    tally.check("number of requests", sum(counts.values()) >= 1_000, sum(counts.values()))
    listed = ", ".join(f"{counts[name]} {name}" for name in sorted(counts))
    print(f"S3: {sum(counts.values())} requests of ours signed once more ({listed}), "
          f"{tally.passed} checks passed, {tally.failed} differences")
    sys.exit(1 if tally.failed else 0)


main()
