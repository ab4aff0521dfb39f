"""Parses forms with the decoder of Werkzeug, on which Flask is based."""

from importlib.metadata import version

from werkzeug.sansio.multipart import Data, Epilogue, Field, File, MultipartDecoder, NeedData

from batch import boundary_of, part, run


def read(body, content_type):
    decoder = MultipartDecoder(boundary_of(content_type).encode())
    decoder.receive_data(body)
    decoder.receive_data(None)
    parts, head, content = [], None, b""
    while not isinstance(event := decoder.next_event(), Epilogue):
        if isinstance(event, NeedData):
            raise ValueError("wants more")
        if isinstance(event, (Field, File)):
            head, content = event, b""
        if isinstance(event, Data):
            content += event.data
            if not event.more_data:
                file_name = head.filename if isinstance(head, File) else None
                parts.append(part(head.name, file_name, head.headers.get("content-type"), content))
    return parts


run(f"Werkzeug {version('werkzeug')}", read)
