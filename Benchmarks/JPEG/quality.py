"""SSIMULACRA2 of images compared with their originals, cached, because one figure takes three seconds.

usage: quality.py CACHE <pairs     where each line is ORIGINAL <tab> IMAGE; prints a figure per line

Both are reduced to at most 2048 pixels per side (Lanczos), the size on a screen. Orientation tags are applied to both, profiles to
neither.
"""

import hashlib
import json
import os
import sys
import tempfile

import ssimulacra2
from PIL import Image, ImageOps

SIDE = 2048


def load(path):
    return ImageOps.exif_transpose(Image.open(path)).convert("RGB")


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class Reference:
    """An original, reduced once for all comparisons."""

    def __init__(self, path, directory):
        self.path = path
        image = load(path)
        scale = min(1.0, SIDE / max(image.size))
        if scale < 1:
            image = image.resize((round(image.width * scale), round(image.height * scale)), Image.LANCZOS)
        self.size = image.size
        self.file = os.path.join(directory, "reference.png")
        image.save(self.file, compress_level=1)


def main(cache):
    figures = {}
    if os.path.exists(cache):
        with open(cache) as file:
            figures = json.load(file)
    with tempfile.TemporaryDirectory() as directory:
        reference = None
        for line in sys.stdin:
            original, image = line.rstrip("\n").split("\t")
            key = digest(original) + digest(image)
            if key not in figures:
                if reference is None or reference.path != original:
                    reference = Reference(original, directory)
                candidate = os.path.join(directory, "candidate.png")
                load(image).resize(reference.size, Image.LANCZOS).save(candidate, compress_level=1)
                figures[key] = round(float(ssimulacra2.compute_ssimulacra2(reference.file, candidate)), 3)
                with open(cache + ".new", "w") as file:
                    json.dump(figures, file)
                os.replace(cache + ".new", cache)
            print(figures[key], flush=True)


main(sys.argv[1])
