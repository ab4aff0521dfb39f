#!/usr/bin/env python3
"""Computes tokens, private URLs and hashes of Waybill for Qiniu again with the vendor's package.

    recompute_qiniu.py PATH-OF-VendorRequests
"""

import base64
import collections
import io
import json
import subprocess
import sys

from tally import Tally

import qiniu
import qiniu.utils

tally = Tally()


def pattern(size):
    return bytes((index * 7 + (index >> 8)) & 255 for index in range(size))


def pairs(line, bodies):
    kind, ours, text = line["kind"], line["ours"], line["input"]
    if kind in ("etag", "crc32"):
        size = int(text)
        body = bodies.setdefault(size, None) or pattern(size)
        bodies[size] = body
        if kind == "crc32":
            yield ours, str(qiniu.utils.crc32(body))
        elif size > 0:  # the package has no block for an empty input
            yield ours, qiniu.utils.etag_stream(io.BytesIO(body))
        else:
            yield ours, "Fto5o-5ea0sNMlW_75VgGJCv2AcJ"
        return
    auth = qiniu.Auth(line["accessKey"], line["secretKey"])
    if kind == "signature":
        yield ours, auth.token(text)
    elif kind == "token":
        yield ours, auth.token_with_data(text)
    elif kind == "url":
        url = f"{text}{'&' if '?' in text else '?'}e=1700000000"
        yield ours, f"{url}&token={auth.token(url)}"
    elif kind == "policy":
        access_key, _, policy = qiniu.Auth.up_token_decode(ours)
        yield access_key, line["accessKey"]
        yield policy["scope"].split(":")[0], text.split(":")[0]
        yield type(policy["deadline"]), int
        # The bytes that Waybill signed, signed by the package.
        data = base64.urlsafe_b64decode(ours.split(":")[2]).decode()
        yield ours, auth.token_with_data(data)
        # The package knows every member and writes the same policy.
        rest = {name: value for name, value in policy.items() if name not in ("scope", "deadline")}
        bucket, _, key = policy["scope"].partition(":")
        theirs = auth.upload_token(bucket, key or None, 3600, rest, strict_policy=True)
        written = qiniu.Auth.up_token_decode(theirs)[2]
        yield {**policy, "deadline": 0}, {**written, "deadline": 0}


def main():
    run = subprocess.run([sys.argv[1], "qiniu"], stdout=subprocess.PIPE, text=True, timeout=300)
    tally.same("exit status of VendorRequests", run.returncode, 0)
    counts = collections.Counter()
    bodies = {}
    for text in run.stdout.splitlines():
        line = json.loads(text)

        def steps():
            for ours, theirs in pairs(line, bodies):
                tally.same(line["what"], ours, theirs)
            counts[line["kind"]] += 1

        tally.run(line["what"], steps)
    tally.same("kinds", sorted(counts), ["crc32", "etag", "policy", "signature", "token", "url"])
    listed = ", ".join(f"{counts[name]} {name}" for name in sorted(counts))
    print(f"Qiniu: {sum(counts.values())} values of ours computed once more ({listed}), "
          f"{tally.passed} checks passed, {tally.failed} differences")
    sys.exit(1 if tally.failed else 0)


main()
