"""Parses forms with aiohttp, as its server does."""

import asyncio
import warnings
from importlib.metadata import version

from aiohttp import MultipartReader
from aiohttp.base_protocol import BaseProtocol
from aiohttp.streams import StreamReader

from batch import part, run


async def read_parts(body, content_type):
    loop = asyncio.get_running_loop()
    stream = StreamReader(BaseProtocol(loop), 2**20, loop=loop)
    stream.feed_data(body)
    stream.feed_eof()
    parts = []
    async for one in MultipartReader({"Content-Type": content_type}, stream, max_field_size=16 * 1024):
        parts.append(part(one.name, one.filename, one.headers.get("Content-Type"), bytes(await one.read())))
    return parts


# A name that it cannot read is visible in its output for the part.
warnings.simplefilter("ignore")
with asyncio.Runner() as runner:
    run(f"aiohttp {version('aiohttp')}", lambda body, type: runner.run(read_parts(body, type)))
