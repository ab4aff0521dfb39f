"""Parses a form with one file with defnull's `multipart`, chunk by chunk, and prints the megabytes per second of
CPU time.

parse.py FILE BOUNDARY CHUNK TOTAL: the content is the file, repeated up to TOTAL bytes.
"""

import sys
import time

from multipart import MultipartError, PushMultipartParser

path, boundary, chunk, total = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with open(path, "rb") as file:
    block = file.read()
chunks = [block[start : start + chunk] for start in range(0, len(block), chunk)]
head = f'--{boundary}\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n'.encode()
tail = f"\r\n--{boundary}--\r\n".encode()


def parse():
    count = fed = 0
    with PushMultipartParser(boundary) as parser:
        for event in parser.parse(head):
            pass
        while fed < total:
            for piece in chunks:
                for event in parser.parse(piece):
                    if event:
                        count += len(event)
                fed += len(piece)
                if fed >= total:
                    break
        for event in parser.parse(tail):
            if isinstance(event, (bytes, bytearray)):
                count += len(event)
    return count, fed


started = time.process_time()
try:
    count, fed = parse()
except MultipartError:
    # The parser rejects a boundary that is followed by other bytes.
    print("nan")
    sys.exit()
elapsed = time.process_time() - started
if count != fed:
    sys.exit(f"{count} bytes were parsed of {fed}")
print(round(fed / elapsed / 1e6, 1))
