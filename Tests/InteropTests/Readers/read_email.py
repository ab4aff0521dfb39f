"""Parses forms with the `email` package of Python's standard library."""

import platform
from email import policy
from email.parser import BytesParser

from batch import part, run


def read(body, content_type):
    head = f"MIME-Version: 1.0\r\nContent-Type: {content_type}\r\n\r\n".encode()
    message = BytesParser(policy=policy.HTTP).parsebytes(head + body)
    if not message.is_multipart():
        raise ValueError("not a multipart message")
    return [
        part(
            one.get_param("name", header="content-disposition"),
            one.get_param("filename", header="content-disposition"),
            dict(one.raw_items()).get("Content-Type"),
            one.get_payload(decode=True),
        )
        for one in message.get_payload()
    ]


run(f"Python {platform.python_version()}", read)
