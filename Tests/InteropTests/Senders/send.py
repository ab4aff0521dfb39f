"""Posts the form that all senders post: send.py LIBRARY URL CONTENT, where CONTENT is the path of the file's content."""

import asyncio
import sys

FIELDS = [("TOKEN", "a b&c=d"), ("字段", "值\r\n第二行"), ('a"b;c', ""), ("TOKEN", "again")]
FILES = [("FILE", "身份证正面.jpg", "image/jpeg"), ("FILE", 'a"b;c.bin', "application/octet-stream")]


def with_requests(url, content):
    import requests

    # Fields are passed as files without a file name, which preserves their order and makes the form multipart.
    parts = [(name, (None, value.encode())) for name, value in FIELDS]
    parts += [(name, (file_name, content, kind)) for name, file_name, kind in FILES]
    requests.post(url, files=parts, timeout=30).raise_for_status()


def with_httpx(url, content):
    import httpx

    parts = [(name, (None, value.encode())) for name, value in FIELDS]
    parts += [(name, (file_name, content, kind)) for name, file_name, kind in FILES]
    httpx.post(url, files=parts, timeout=30, trust_env=False).raise_for_status()


def with_aiohttp(url, content):
    import aiohttp

    async def post():
        # Otherwise names are percent-encoded, as RFC 7578 section 4.2 permits but browsers do not.
        form = aiohttp.FormData(quote_fields=False)
        for name, value in FIELDS:
            form.add_field(name, value)
        for name, file_name, kind in FILES:
            form.add_field(name, content, filename=file_name, content_type=kind)
        async with aiohttp.ClientSession() as session:
            async with session.post(url, data=form) as response:
                response.raise_for_status()

    asyncio.run(post())


library, url, path = sys.argv[1:]
with open(path, "rb") as file:
    data = file.read()
{"requests": with_requests, "httpx": with_httpx, "aiohttp": with_aiohttp}[library](url, data)
