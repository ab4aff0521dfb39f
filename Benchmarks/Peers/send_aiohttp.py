"""Sends the forms with aiohttp: send_aiohttp.py URL FILE COUNT AT_ONCE [AUTHORITY]."""

import asyncio
import ssl
import time

import aiohttp

from orders import FIELDS, Order


async def work(order, share, session):
    for _ in range(share):
        started = time.perf_counter()
        with open(order.path, "rb") as file:
            form = aiohttp.FormData(FIELDS)
            form.add_field("FILE", file, filename="file", content_type="application/octet-stream")
            async with session.post(order.url, data=form) as answer:
                answer.raise_for_status()
                order.ended(started, await answer.text())


async def main():
    order = Order()
    trust = ssl.create_default_context(cafile=order.authority) if order.authority else True
    connector = aiohttp.TCPConnector(limit=order.at_once, ssl=trust)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=600)) as session:
        order.begin()
        await asyncio.gather(*[work(order, share, session) for share in order.shares()])
    order.report()


asyncio.run(main())
