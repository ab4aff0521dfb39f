"""The measured programs: waybill in three modes, and the installed peers."""

import os
import re
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PRODUCTS = os.path.join(os.path.dirname(HERE), ".build", "release")


class Tool:
    """A program and its command to compress an image below a limit."""

    def __init__(self, name, command, version):
        self.name = name
        self.command = command
        self.version = version


def output_of(*words):
    run = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return run.stdout.decode("utf-8", "replace")


def ours():
    program = os.path.join(PRODUCTS, "JPEGWorkload")
    if not os.access(program, os.X_OK):
        raise SystemExit("bench-jpeg: %s is not built. Run make bench-jpeg." % program)

    def tool(mode):
        return Tool(
            "waybill " + mode,
            lambda source, target, limit: [program, mode, str(limit), source, target],
            "this checkout",
        )

    return [tool(mode) for mode in ("best", "fast", "draft")]


def jpegoptim():
    program = shutil.which("jpegoptim")
    if not program:
        return None

    # Its kilobytes have 1,024 bytes, and it writes a file of the same name to a directory.
    def command(source, target, limit):
        script = 'd=$(mktemp -d) && "$0" -q -s --all-progressive --size="$1" -d "$d" "$2" >&2; mv "$d"/* "$3" && rmdir "$d"'
        return ["sh", "-c", script, program, str(limit // 1024), source, target]

    return Tool("jpegoptim", command, output_of(program, "--version").split("\n")[0].split("  ")[0])


def imagemagick():
    for name in ("convert-im6.q16", "magick", "convert"):
        program = shutil.which(name)
        if program and "ImageMagick" in output_of(program, "-version"):
            break
    else:
        return None

    def command(source, target, limit):
        return [
            program, source, "-auto-orient", "-resize", "1600x1600>", "-strip", "-interlace", "JPEG",
            "-define", "jpeg:extent=%d" % limit, target,
        ]

    version = re.search(r"ImageMagick [\w.-]+", output_of(program, "-version")).group(0)
    return Tool("ImageMagick 1600", command, version)


def system_python():
    return "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else shutil.which("python3")


def pillow():
    python = system_python()
    version = output_of(python, "-c", "import PIL; print(PIL.__version__)").strip()
    if not re.fullmatch(r"[\d.]+", version):
        return None
    script = os.path.join(HERE, "pillow_shrink.py")
    return Tool("Pillow 1600", lambda *words: [python, script] + [str(word) for word in words], "Pillow " + version)


def encoder(kind, side, python):
    """Returns an encoder that only has a quality setting, at most `side` pixels large, or None if it is not installed."""
    if kind == "mozjpeg":
        version = output_of(python, "-c", "import pyvips; print('libvips %d.%d.%d' % tuple(map(pyvips.version, range(3))))")
        version = version.strip() if version.startswith("libvips") else None
    else:
        # The program does not print its version.
        version = "in PATH" if shutil.which("cjpegli") else None
    if not version:
        return None
    words = [python, os.path.join(HERE, "encoder_shrink.py"), kind, str(side)]
    return Tool(
        "%s %d" % (kind, side), lambda source, target, limit: words + [source, target, str(limit)],
        "in " + version if kind == "mozjpeg" else version,
    )


def peers(python):
    """Returns the installed peers, and the names of missing ones."""
    found, absent = [], []
    for name, tool in [
        ("jpegoptim", jpegoptim()),
        ("ImageMagick", imagemagick()),
        ("Pillow", pillow()),
        ("mozjpeg 1600", encoder("mozjpeg", 1600, python)),
        ("mozjpeg 1200", encoder("mozjpeg", 1200, python)),
        ("cjpegli 1600", encoder("cjpegli", 1600, python)),
        ("cjpegli 1200", encoder("cjpegli", 1200, python)),
    ]:
        if tool:
            found.append(tool)
        else:
            absent.append(name)
    return found, absent


def libjpeg_of(command):
    """Returns the libjpeg that a command loads, with its system package.

    The output of the loader (ld.so(8), LD_DEBUG) includes modules opened later. mozjpeg and libjpeg-turbo have libraries of the same
    name: with mozjpeg first in LD_LIBRARY_PATH, jpegoptim would use it.
    """
    with tempfile.TemporaryDirectory() as directory:
        environment = dict(os.environ, LD_DEBUG="files", LD_DEBUG_OUTPUT=os.path.join(directory, "loaded"))
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        paths = set()
        for name in os.listdir(directory):
            with open(os.path.join(directory, name), errors="replace") as file:
                paths.update(re.findall(r"calling init: (\S*/libjpeg[^/\s]*)", file.read()))
    packages = set()
    for path in paths:
        answer = ""
        if shutil.which("dpkg-query"):
            # dpkg may have recorded the path from before the merge of /lib into /usr.
            for place in (os.path.realpath(path), path, path.replace("/usr/lib/", "/lib/", 1)):
                answer = answer or subprocess.run(
                    ["dpkg-query", "--search", place], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
                ).stdout.decode()
        package = answer.split(":")[0]
        packages.add((os.path.basename(path), package or "no package of the system's"))
    return sorted(packages)


def draw(directory):
    """Draws images for a run without a directory of photos."""
    subprocess.run([os.path.join(PRODUCTS, "JPEGWorkload"), "draw", directory], check=True)
