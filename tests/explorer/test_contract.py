"""What a page holds, what its code asks for, and what is written down about both are the same."""

import re
from pathlib import Path

import numpy as np
import pytest

import graphsoft
from graphsoft.explorer import content
from graphsoft.explorer.images import png
from graphsoft.explorer.packing import KINDS

SOURCES = Path(content.__file__).parent / "page" / "src"
POINTS = np.random.default_rng(0).normal(size=(120, 3))
PICTURE = png(np.zeros((1, 1, 1), dtype=np.uint8))


@pytest.fixture(scope="module")
def pages():
    """Pages that have everything: one with pictures as files, and one with pictures as pixels."""
    h = graphsoft.hierarchy(POINTS, levels=[12, 4])
    count = len(POINTS)
    known = {"names": range(count), "texts": ["t"] * count, "labels": [1, 2] * (count // 2)}
    known |= {"stability": graphsoft.stability(h, rounds=2), "max_points": 40}
    return [
        h.explore(**known, images=images).content for images in ([PICTURE] * count, np.zeros((count, 2, 2)))
    ]


def general(names):
    """Names of members without the numbers of levels and sheets."""
    return {re.sub(r"\d+$", "0", re.sub(r"^\d+/", "", name)) for name in names}


def asked_for():
    """Names of the members that the page's code asks for."""
    code = "".join((SOURCES / name).read_text(encoding="utf-8") for name in ("data.ts", "pictures.ts"))
    code = code.replace("${level}/", "").replace("${at}/", "").replace("${number}", "0")
    names = set(re.findall(r'\b(?:array|json|bytes)\(["`]([\w/]+)["`]', code))
    for prefix, columns in re.findall(r'\brows\(["`](\w+)["`], ([^)]*)\)', code):
        names |= {f"{prefix}_{column}" for column in ["count", *re.findall(r'"(\w+)"', columns)]}
    (texts,) = re.findall(r"type TextsName = ([^;]*);", code)
    return names | set(re.findall(r'"(\w+)"', texts))


def fields(interface):
    """The fields of an interface of the page's code."""
    code = (SOURCES / "data.ts").read_text(encoding="utf-8")
    (body,) = re.findall(rf"export interface {interface} \{{(.*?)\n\}}", code, re.DOTALL)
    return set(re.findall(r"^  (\w+)\??:", body, re.MULTILINE))


def test_the_code_asks_for_the_members_that_pages_have(pages):
    assert asked_for() == {name for page in pages for name in general(page.members.table)}


def test_the_code_knows_the_head_and_the_kinds(pages):
    for page in pages:
        assert page.head.keys() == fields("Head")
        assert all(level.keys() == fields("LevelHead") for level in page.head["levels"])
    decoding = (SOURCES / "decode.ts").read_text(encoding="utf-8")
    assert set(re.findall(r"^  (\w\d): \w+,", decoding, re.MULTILINE)) == set(KINDS)


def test_every_member_is_written_down_with_its_kind(pages):
    for page in pages:
        for name, facts in page.members.table.items():
            (plain,) = general([name])
            kind = re.search(rf"\b{plain}\b( [uf]\d?)?", content.__doc__)
            assert kind, name
            assert facts["kind"].startswith((kind[1] or facts["kind"]).strip()), name
        for field in page.head:
            assert f"``{field}``" in content.__doc__
