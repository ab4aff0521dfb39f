"""Parses forms with `multipart`, the parser of Bottle."""

import io
from importlib.metadata import version

from multipart import MultipartParser

from batch import boundary_of, part, run


def read(body, content_type):
    parser = MultipartParser(
        io.BytesIO(body), boundary_of(content_type), headersize_limit=16 * 1024, part_limit=2_000, strict=True
    )
    parts = []
    for one in parser:
        parts.append(part(one.name, one.filename, one.headers.get("Content-Type"), one.raw))
        one.close()
    return parts


run(f"multipart {version('multipart')}", read)
