"""Sends the forms with httpx: send_httpx.py URL FILE COUNT AT_ONCE [AUTHORITY]."""

import ssl
import time

import httpx

from orders import FIELDS, Order


def main():
    order = Order()
    trust = ssl.create_default_context(cafile=order.authority) if order.authority else True
    limits = httpx.Limits(max_connections=order.at_once, max_keepalive_connections=order.at_once)
    with httpx.Client(trust_env=False, verify=trust, timeout=600, limits=limits) as client:
        order.carry_out(lambda order, share: work(order, share, client))


def work(order, share, client):
    for _ in range(share):
        started = time.perf_counter()
        with open(order.path, "rb") as file:
            files = {"FILE": ("file", file, "application/octet-stream")}
            answer = client.post(order.url, data=dict(FIELDS), files=files)
        answer.raise_for_status()
        order.ended(started, answer.text)


main()
