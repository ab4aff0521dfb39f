"""A peer with Pillow: at most 1600 pixels, then the highest quality that fits, found by binary search.

usage: pillow_shrink.py IN OUT LIMIT
"""

import io
import sys

from PIL import Image, ImageOps

SIDE = 1600


def encoded(image, quality):
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality, optimize=True, progressive=True, subsampling="4:2:0")
    return buffer.getvalue()


def main(source, target, limit):
    image = Image.open(source)
    # Decode at half or a quarter of the size if that suffices, as the manual of Pillow recommends for thumbnails.
    image.draft(None, (SIDE, SIDE))
    image = ImageOps.exif_transpose(image)
    if image.mode not in ("L", "RGB"):
        image = image.convert("RGB")
    image.thumbnail((SIDE, SIDE), Image.LANCZOS)
    low, high, best = 1, 95, None
    while low <= high:
        quality = (low + high) // 2
        data = encoded(image, quality)
        if len(data) <= limit:
            low, best = quality + 1, data
        else:
            high = quality - 1
    if best is None:
        sys.exit("pillow_shrink: no quality fits the limit.")
    with open(target, "wb") as file:
        file.write(best)


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
