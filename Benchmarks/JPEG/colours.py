"""make bench-colours: compares the conversion of wide-gamut images by waybill with that by littlecms.

littlecms converts each image to Display P3 and Adobe RGB and saves it with that profile. The sRGB images that waybill and littlecms
create from that file are compared by pixel: CIEDE2000 (CIE 142-2001), mean over the image. For reference, the table also has the
difference that the same limit causes for an image that is already sRGB. Under 1 MiB the difference is that of the conversion; the
target applies there. Under 100 KiB it is mostly that of the compression.
"""

import argparse
import glob
import io
import os
import statistics
import struct
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image, ImageCms, ImageOps

import tools

TARGET = 2.0
LIMITS = [(1 << 20, "1 MiB"), (102_400, "100 KiB")]
SIDE = 1600

# Primaries under D50 and curves of the profiles of these color spaces (ICC.1:2010, s15Fixed16Number).
SPACES = {
    "Display P3": (
        [(0.51512, 0.2412, -0.00105), (0.29198, 0.69225, 0.04189), (0.1571, 0.06657, 0.78407)],
        ("para", 3, [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045]),
    ),
    "Adobe RGB (1998)": (
        [(0.60974, 0.31111, 0.01947), (0.20528, 0.62567, 0.06087), (0.14919, 0.06322, 0.74457)],
        ("para", 0, [563 / 256]),
    ),
}


def fixed(value):
    return struct.pack(">i", round(value * 65536))


def profile(name):
    """Returns a display profile with three primaries and one parametric curve, version 2.4, like those of phones."""
    columns, (kind, function, values) = SPACES[name]
    white = (0.9642, 1.0, 0.8249)
    text = name.encode("ascii") + b"\0"
    elements = [(b"desc", b"desc\0\0\0\0" + struct.pack(">I", len(text)) + text + bytes(78))]
    elements.append((b"wtpt", b"XYZ \0\0\0\0" + b"".join(map(fixed, white))))
    curve = kind.encode("ascii") + struct.pack(">IHH", 0, function, 0) + b"".join(map(fixed, values))
    for channel, column in zip(b"rgb", columns):
        elements.append((bytes([channel]) + b"XYZ", b"XYZ \0\0\0\0" + b"".join(map(fixed, column))))
        elements.append((bytes([channel]) + b"TRC", curve))
    table, data = struct.pack(">I", len(elements)), b""
    start = 132 + 12 * len(elements)
    for tag, element in elements:
        table += tag + struct.pack(">II", start + len(data), len(element))
        data += element + bytes(-len(element) % 4)
    head = bytearray(128)
    head[0:4] = struct.pack(">I", start + len(data))
    head[8:12] = bytes([4, 0, 0, 0])
    head[12:24] = b"mntrRGB XYZ "
    head[36:40] = b"acsp"
    head[68:80] = b"".join(map(fixed, white))
    return bytes(head) + table + data


def transform(source, target, modes=("RGB", "RGB")):
    def opened(one):
        return ImageCms.ImageCmsProfile(io.BytesIO(one)) if isinstance(one, bytes) else one

    return ImageCms.buildTransform(opened(source), opened(target), *modes, renderingIntent=ImageCms.Intent.RELATIVE_COLORIMETRIC)


def lab(image):
    """Returns CIE L*a*b* under D65 of an sRGB image (IEC 61966-2-1)."""
    value = np.asarray(image, dtype=np.float64) / 255
    light = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    matrix = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = light @ matrix.T / matrix.sum(axis=1)
    root = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return 116 * root[..., 1] - 16, 500 * (root[..., 0] - root[..., 1]), 200 * (root[..., 1] - root[..., 2])


def ciede2000(first, second):
    """Sharma, Wu, Dalal: The CIEDE2000 color-difference formula, 2005, equations 2 to 22."""
    (l1, a1, b1), (l2, a2, b2) = first, second
    mean = ((np.hypot(a1, b1) + np.hypot(a2, b2)) / 2) ** 7
    stretch = 1.5 - 0.5 * np.sqrt(mean / (mean + 25.0**7))
    a1, a2 = a1 * stretch, a2 * stretch
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = h2 - h1
    turn = np.where(turn > 180, turn - 360, np.where(turn < -180, turn + 360, turn))
    turn = np.where(c1 * c2 == 0, 0, turn)
    dl, dc, dh = l2 - l1, c2 - c1, 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2))
    l, c, total = (l1 + l2) / 2, (c1 + c2) / 2, h1 + h2
    h = np.where(np.abs(h1 - h2) <= 180, total / 2, np.where(total < 360, total / 2 + 180, total / 2 - 180))
    h = np.where(c1 * c2 == 0, total, h)
    t = 1 - 0.17 * np.cos(np.radians(h - 30)) + 0.24 * np.cos(np.radians(2 * h))
    t += 0.32 * np.cos(np.radians(3 * h + 6)) - 0.20 * np.cos(np.radians(4 * h - 63))
    sl = 1 + 0.015 * (l - 50) ** 2 / np.sqrt(20 + (l - 50) ** 2)
    sc, sh = 1 + 0.045 * c, 1 + 0.015 * c * t
    rotation = -np.sin(2 * np.radians(30 * np.exp(-(((h - 275) / 25) ** 2)))) * 2 * np.sqrt(c**7 / (c**7 + 25.0**7))
    return np.sqrt((dl / sl) ** 2 + (dc / sc) ** 2 + (dh / sh) ** 2 + rotation * (dc / sc) * (dh / sh))


def check_formula():
    """Checks the formula with the pairs 1, 9, 17 and 24 of table 1 in the paper."""
    pairs = [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 2.49, -0.001), (50, -2.49, 0.0009), 7.1792),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ]
    for first, second, wanted in pairs:
        found = float(ciede2000(*(tuple(np.array([part], dtype=float) for part in one) for one in (first, second)))[0])
        if abs(found - wanted) > 0.0001:
            raise SystemExit("bench-colours: CIEDE2000 of %s and %s is %.4f, not %.4f" % (first, second, found, wanted))


def drawn(directory):
    """Returns an image with smooth gradients through the whole color cube."""
    across, down = np.meshgrid(np.linspace(0, 1, 960), np.linspace(0, 1, 720))
    wave = 0.5 + 0.5 * np.sin(6 * np.pi * across) * np.cos(4 * np.pi * down)
    path = os.path.join(directory, "drawn.png")
    Image.fromarray((np.dstack([across, wave, down]) * 255).round().astype(np.uint8)).save(path)
    return path


def difference(command, wide, converted, directory, limit):
    source, target = os.path.join(directory, "in.jpg"), os.path.join(directory, "out.jpg")
    with open(source, "wb") as file:
        file.write(wide)
    if os.path.exists(target):
        os.remove(target)
    subprocess.run(command(source, target, limit), check=True)
    ours = Image.open(target).convert("RGB")
    if ours.size != converted.size:
        ours = ours.resize(converted.size, Image.LANCZOS)
    return float(ciede2000(lab(converted), lab(ours)).mean())


def encoded(image, icc):
    file = io.BytesIO()
    image.save(file, "JPEG", quality=97, subsampling=0, icc_profile=icc)
    return file.getvalue()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", nargs="*", default=[], help="directories of JPEG files; default: a drawn image")
    options = parser.parse_args()
    check_formula()
    srgb = ImageCms.createProfile("sRGB")
    worst = 0.0
    with tempfile.TemporaryDirectory() as directory:
        images = sorted(path for name in options.corpus for path in glob.glob(os.path.join(name, "*.jpg")))
        images.append(drawn(directory))
        print("%-18s %-8s %-22s %s" % ("space", "limit", "mean over images", "maximum (without conversion)"))
        for mode in tools.ours():
            for limit, limit_name in LIMITS:
                rows = {name: [] for name in SPACES}
                for path in images:
                    image = ImageOps.exif_transpose(Image.open(path)).convert("RGB")
                    image.thumbnail((SIDE, SIDE), Image.LANCZOS)
                    plain = encoded(image, None)
                    alone = difference(mode.command, plain, Image.open(io.BytesIO(plain)).convert("RGB"), directory, limit)
                    for name, found in rows.items():
                        icc = profile(name)
                        wide = encoded(ImageCms.applyTransform(image, transform(srgb, icc)), icc)
                        seen = Image.open(io.BytesIO(wide)).convert("RGB")
                        converted = ImageCms.applyTransform(seen, transform(icc, srgb))
                        shift = difference(mode.command, wide, converted, directory, limit)
                        found.append((shift, alone, os.path.basename(path)))
                for name, found in rows.items():
                    shift, alone, image = max(found)
                    mean = statistics.mean(one[0] for one in found)
                    print("%-18s %-8s %-22s %.2f (%.2f), %s, %s" % (name, limit_name, "%.2f" % mean, shift, alone, image, mode.name))
                    if limit == LIMITS[0][0]:
                        worst = max(worst, shift)
    print("The maximum under %s is %.2f; the target is at most %.1f." % (LIMITS[0][1], worst, TARGET))
    return 0 if worst <= TARGET else 1


sys.exit(main())
