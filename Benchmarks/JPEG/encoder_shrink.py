"""A peer for encoders that only have a quality setting: at most SIDE pixels, then the highest quality that fits.

usage: encoder_shrink.py mozjpeg|cjpegli SIDE IN OUT LIMIT

Pillow reduces the image once. mozjpeg is the one in libvips (package pyvips-binary), in this process; cjpegli is a program in PATH,
which reads raw pixels.
"""

import os
import subprocess
import sys
import tempfile

from PIL import Image, ImageOps


class Mozjpeg:
    """mozjpeg with the settings of its program cjpeg: trellis quantization, optimized scans, its own tables."""

    def __init__(self, image):
        import pyvips

        self.image = pyvips.Image.new_from_memory(image.tobytes(), image.width, image.height, 3, "uchar")

    def encoded(self, quality):
        return self.image.jpegsave_buffer(
            Q=quality, interlace=True, optimize_coding=True, trellis_quant=True, overshoot_deringing=True,
            optimize_scans=True, quant_table=3, subsample_mode="on", keep="none",
        )


class Cjpegli:
    def __init__(self, image):
        self.directory = tempfile.TemporaryDirectory()
        self.pixels = os.path.join(self.directory.name, "pixels.ppm")
        image.save(self.pixels)

    def encoded(self, quality):
        made = os.path.join(self.directory.name, "made.jpg")
        command = ["cjpegli", self.pixels, made, "-q", str(quality), "-p", "2", "--chroma_subsampling=420"]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        with open(made, "rb") as file:
            return file.read()


def main(kind, side, source, target, limit):
    image = ImageOps.exif_transpose(Image.open(source)).convert("RGB")
    image.thumbnail((side, side), Image.LANCZOS)
    encoder = Mozjpeg(image) if kind == "mozjpeg" else Cjpegli(image)
    low, high, best = 1, 95, None
    while low <= high:
        quality = (low + high) // 2
        data = encoder.encoded(quality)
        if len(data) <= limit:
            low, best = quality + 1, data
        else:
            high = quality - 1
    if best is None:
        sys.exit("encoder_shrink: no quality fits the limit.")
    with open(target, "wb") as file:
        file.write(best)


main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5]))
