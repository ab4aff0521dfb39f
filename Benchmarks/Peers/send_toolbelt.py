"""Sends the forms with requests and the streaming encoder of requests-toolbelt: send_toolbelt.py URL FILE COUNT AT_ONCE [AUTHORITY]."""

import time

import requests
from requests_toolbelt.multipart.encoder import MultipartEncoder

from orders import FIELDS, Order


def work(order, share):
    session = requests.Session()
    session.trust_env = False
    session.verify = order.authority or True
    for _ in range(share):
        started = time.perf_counter()
        with open(order.path, "rb") as file:
            body = MultipartEncoder(FIELDS + [("FILE", ("file", file, "application/octet-stream"))])
            answer = session.post(order.url, data=body, headers={"Content-Type": body.content_type})
        answer.raise_for_status()
        order.ended(started, answer.text)


Order().carry_out(work)
