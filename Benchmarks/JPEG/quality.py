"""Figures of images compared with their originals, cached, because each takes seconds.

usage: quality.py CACHE <pairs     where each line is METRIC <tab> ORIGINAL <tab> IMAGE; prints a figure per line

ssimulacra2  both reduced to at most 2048 pixels per side (Lanczos), the size on a screen
butteraugli  the 3-norm of butteraugli_main, at the same size
words        the share of the words of the original that Tesseract reads in the image, at the size of the original; the words are
             in a text file beside the original, or are those that Tesseract reads in it

Orientation tags are applied to both, profiles to neither.
"""

import difflib
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

import ssimulacra2
from PIL import Image, ImageOps

SIDE = 2048
Image.MAX_IMAGE_PIXELS = None


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
        self.original_size = image.size
        scale = min(1.0, SIDE / max(image.size))
        if scale < 1:
            image = image.resize((round(image.width * scale), round(image.height * scale)), Image.LANCZOS)
        self.size = image.size
        self.file = os.path.join(directory, "reference.png")
        image.save(self.file, compress_level=1)
        self.read = None

    @property
    def words(self):
        """Returns the language of the text and its words; the words of Chinese text are its characters."""
        if self.read is None:
            path = os.path.splitext(self.path)[0] + ".txt"
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                language = "chi_sim" if any(letter > "\u4dff" for letter in text) else "eng"
            else:
                language, text = "eng", recognized(self.path, "eng")
            self.read = language, split(text, language)
        return self.read


def split(text, language):
    return re.findall(r"\w", text) if language == "chi_sim" else text.split()


def recognized(path, language):
    command = ["tesseract", path, "stdout", "--dpi", "300", "--psm", "6", "-l", language]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode("utf-8")


def resized(image, size, kernel, directory):
    """Returns the path of a PNG of the image at the size."""
    path = os.path.join(directory, "candidate.png")
    load(image).resize(size, kernel).save(path, compress_level=1)
    return path


def compare_ssimulacra2(reference, image, directory):
    candidate = resized(image, reference.size, Image.LANCZOS, directory)
    return round(float(ssimulacra2.compute_ssimulacra2(reference.file, candidate)), 3)


def compare_butteraugli(reference, image, directory):
    candidate = resized(image, reference.size, Image.LANCZOS, directory)
    run = subprocess.run(
        ["butteraugli_main", reference.file, candidate, "--pnorm", "3"], stdout=subprocess.PIPE, check=True, text=True
    )
    return float(re.search(r"3-norm: ([\d.]+)", run.stdout).group(1))


def compare_words(reference, image, directory):
    candidate = resized(image, reference.original_size, Image.BICUBIC, directory)
    language, expected = reference.words
    seen = split(recognized(candidate, language), language)
    blocks = difflib.SequenceMatcher(None, expected, seen, autojunk=False).get_matching_blocks()
    return round(sum(block.size for block in blocks) / max(1, len(expected)), 4)


METRICS = {"ssimulacra2": compare_ssimulacra2, "butteraugli": compare_butteraugli, "words": compare_words}


def main(cache):
    figures = {}
    if os.path.exists(cache):
        with open(cache) as file:
            figures = json.load(file)
    with tempfile.TemporaryDirectory() as directory:
        reference = None
        for line in sys.stdin:
            metric, original, image = line.rstrip("\n").split("\t")
            key = metric + digest(original) + digest(image)
            if key not in figures:
                if reference is None or reference.path != original:
                    reference = Reference(original, directory)
                figures[key] = METRICS[metric](reference, image, directory)
                with open(cache + ".new", "w") as file:
                    json.dump(figures, file)
                os.replace(cache + ".new", cache)
            print(figures[key], flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
