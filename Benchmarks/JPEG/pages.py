"""Draws pages of text at 300 dpi, clean and as if scanned, each with its words in a text file of the same name.

The sizes that `fast` tries were chosen with the five scans; nothing was adjusted to the other pages. Fonts are those that Scripts/bench-setup installs.
"""

import os
import random
import sys

from PIL import Image, ImageDraw, ImageFilter, ImageFont

DPI = 300
SERIF, SANS, MONO = ("Liberation%s-Regular.ttf" % family for family in ("Serif", "Sans", "Mono"))
CHINESE = "wqy-zenhei.ttc"

WORDS = """account address agreement amount annual applicant approval archive article balance branch building business card
certificate change charge citizen claim clerk company confirm contract copy correct country credit customer date deadline
delivery department deposit description document domestic employee entry evidence expense family february file foreign form
general health house identity income insurance interest invoice issue january large letter license manager medical member
message month national notice number office order original owner page paper payment period permit person photo place
population portrait process product province public quarter receipt record region register report request resident result
return review salary school section security service signature small source state station street student subject supply
system table term ticket title total travel under union valid value vehicle village visit water week window witness worker
year zone""".split()
HANZI = "身份证件姓名性别民族出生年月日住址公民号码签发机关有效期限银行账户金额合同编号客户经理申请日期审核结果照片上传成功失败业务部门地区街道电话单位收入证明文件正反面"


class Page:
    def __init__(self, name, font, points, kind, is_scan=False):
        self.name = name
        self.font = font
        self.points = points
        self.kind = kind
        self.is_scan = is_scan


PAGES = [
    Page("page_8pt_serif", SERIF, 8, "prose"),
    Page("page_9pt_sans_table", SANS, 9, "table"),
    Page("page_10pt_mono", MONO, 10, "prose"),
    Page("page_11pt_serif_half", SERIF, 11, "half"),
    Page("page_9pt_chinese", CHINESE, 9, "chinese"),
    Page("page_9pt_receipt", MONO, 9, "receipt"),
    Page("scan_8pt_sans", SANS, 8, "prose", is_scan=True),
    Page("scan_9pt_serif", SERIF, 9, "prose", is_scan=True),
    Page("scan_10pt_serif_table", SERIF, 10, "table", is_scan=True),
    Page("scan_11pt_sans", SANS, 11, "half", is_scan=True),
    Page("scan_10pt_chinese", CHINESE, 10, "chinese", is_scan=True),
]


def prose(source, draw, font, width):
    """Returns a line of random words that fits the width."""
    line = source.choice(WORDS)
    while True:
        word = "%d" % source.randint(10, 99_999) if source.random() < 0.08 else source.choice(WORDS)
        if draw.textlength(line + " " + word, font=font) > width:
            return line
        line += " " + word


def chinese(source, draw, font, width):
    return "".join(source.choice(HANZI) for _ in range(int(width / font.size)))


def cells(source, columns):
    amounts = ["%d.%02d" % (source.randint(1, 9_999), source.randint(0, 99)) for _ in range(columns - 1)]
    return [source.choice(WORDS) + " " + source.choice(WORDS)] + amounts


def size_of(page):
    """Returns the size in pixels: A4, or a receipt of 80 mm."""
    return (945, 2_000) if page.kind == "receipt" else (2_480, 3_508)


def drawn(page):
    """Returns the image and its lines."""
    source = random.Random("waybill " + page.name)
    width, height = size_of(page)
    image = Image.new("L", (width, height), 255)
    draw = ImageDraw.Draw(image)
    # Pillow looks for the file in all directories of fonts.
    font = ImageFont.truetype(page.font, round(page.points * DPI / 72))
    margin, step = width // 12, round(font.size * 1.4)
    bottom = height // 2 if page.kind == "half" else height - margin
    lines = []
    for number, top in enumerate(range(margin, bottom - step, step)):
        if page.kind in ("table", "receipt"):
            row = cells(source, 5 if page.kind == "table" else 2)
            column = (width - 2 * margin) // (len(row) + 1)
            for place, cell in enumerate(row):
                left = margin + (place + 1) * column if place else margin
                draw.text((left, top), cell, font=font, fill=0)
            if page.kind == "table":
                draw.line((margin, top + step - 4, width - margin, top + step - 4), fill=90, width=2)
            lines.append(" ".join(row))
        elif number % 12 < 11:
            write = chinese if page.kind == "chinese" else prose
            lines.append(write(source, draw, font, width - 2 * margin))
            draw.text((margin, top), lines[-1], font=font, fill=0)
    return scanned(image, source) if page.is_scan else image, lines


def scanned(image, source):
    """Returns the page as a scanner sees it: gray paper, a slight tilt, soft edges and noise."""
    tilted = image.rotate(source.uniform(-0.8, 0.8), Image.BICUBIC, fillcolor=255).filter(ImageFilter.GaussianBlur(1.0))
    gray = tilted.point(lambda value: 35 + value * 205 // 255)
    noise = Image.frombytes("L", (256, 256), bytes(round(min(255, max(0, source.gauss(128, 5)))) for _ in range(65_536)))
    tiles = Image.new("L", image.size)
    for left in range(0, image.width, 256):
        for top in range(0, image.height, 256):
            tiles.paste(noise.rotate(90 * source.randrange(4)), (left, top))
    # The mean of the page and the noise, doubled, is their sum; 128 is no noise.
    return Image.blend(gray, tiles, 0.5).point(lambda value: min(255, max(0, 2 * value - 128)))


def draw_all(directory):
    os.makedirs(directory, exist_ok=True)
    for page in PAGES:
        path = os.path.join(directory, page.name + ".jpg")
        if os.path.exists(path):
            continue
        try:
            image, lines = drawn(page)
        except OSError:
            print("pages: %s is not here; %s is left out. Run make bench-setup." % (page.font, page.name), file=sys.stderr)
            continue
        with open(os.path.join(directory, page.name + ".txt"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        image.convert("RGB").save(path + ".new", "JPEG", quality=95)
        os.replace(path + ".new", path)


if __name__ == "__main__":
    draw_all(sys.argv[1])
