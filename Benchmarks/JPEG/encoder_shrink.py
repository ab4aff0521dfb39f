"""A peer for encoders that only have a quality setting: at most 1600 pixels, then the highest quality that fits.

usage: encoder_shrink.py mozjpeg|cjpegli PROGRAM IN OUT LIMIT

Pillow reduces the image once; each quality is one process of the encoder, which reads raw pixels.
"""

import io
import os
import subprocess
import sys
import tempfile

from PIL import Image, ImageOps

SIDE = 1600


def command(kind, program, quality, pixels, target):
    if kind == "mozjpeg":
        return [program, "-quality", str(quality), "-optimize", "-progressive", "-outfile", target, pixels]
    return [program, pixels, target, "-q", str(quality), "-p", "2", "--chroma_subsampling=420"]


def main(kind, program, source, target, limit):
    image = Image.open(source)
    image = ImageOps.exif_transpose(image).convert("RGB")
    image.thumbnail((SIDE, SIDE), Image.LANCZOS)
    with tempfile.TemporaryDirectory() as directory:
        pixels = os.path.join(directory, "pixels.ppm")
        image.save(pixels)
        low, high, best = 1, 95, None
        while low <= high:
            quality = (low + high) // 2
            made = os.path.join(directory, "made.jpg")
            subprocess.run(command(kind, program, quality, pixels, made), check=True, stderr=subprocess.DEVNULL)
            with open(made, "rb") as file:
                data = file.read()
            if len(data) <= limit:
                low, best = quality + 1, data
            else:
                high = quality - 1
    if best is None:
        sys.exit("encoder_shrink: no quality fits the limit.")
    with open(target, "wb") as file:
        file.write(best)


main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]))
