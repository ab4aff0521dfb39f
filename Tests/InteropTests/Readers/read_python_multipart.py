"""Parses forms with python-multipart, assembled as by Starlette and FastAPI."""

from importlib.metadata import version

from python_multipart.multipart import MultipartParser, parse_options_header

from batch import boundary_of, part, run


def text(value):
    return None if value is None else value.decode()


def read(body, content_type):
    parts, state = [], {}

    def begin():
        state.update(headers={}, field=b"", value=b"", content=b"")

    def collect(key):
        def append(data, start, end):
            state[key] += data[start:end]

        return append

    def end_header():
        state["headers"][state["field"].lower()] = state["value"]
        state.update(field=b"", value=b"")

    def end():
        _, options = parse_options_header(state["headers"][b"content-disposition"])
        parts.append(
            part(
                text(options[b"name"]),
                text(options.get(b"filename")),
                text(state["headers"].get(b"content-type")),
                state["content"],
            )
        )

    parser = MultipartParser(
        boundary_of(content_type),
        {
            "on_part_begin": begin,
            "on_header_field": collect("field"),
            "on_header_value": collect("value"),
            "on_header_end": end_header,
            "on_part_data": collect("content"),
            "on_part_end": end,
        },
        max_header_size=16 * 1024,
    )
    parser.write(body)
    parser.finalize()
    return parts


run(f"python-multipart {version('python-multipart')}", read)
