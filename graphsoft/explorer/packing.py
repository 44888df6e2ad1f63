"""Members of a page: arrays, texts and files, compressed and written as base64.

A page holds each member in a script element of its own. Its type is no script, so a browser keeps it as text
until the page decodes it. Base64 has no character that HTML could take for a tag.
"""

from __future__ import annotations

import base64
import json
import sys
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphsoft.aliases import Array

__all__ = ["Members", "clean_text", "narrowed", "printable_text", "unpacked"]

# What a member can be, by the letters that the page knows it by.
KINDS = {"u1": np.uint8, "u2": np.uint16, "u4": np.uint32, "f4": np.float32}
LETTERS = {np.dtype(kind): letters for letters, kind in KINDS.items()}
JSON, BYTES = "json", "bytes"
LEVEL = 6  # of compression: more takes three times as long, and saves some percent


@dataclass(frozen=True)
class Members:
    """The members of a page, by name, in the order in which they are added.

    Attributes
    ----------
    table : dict
        For each name what the page must know to decode it: ``kind``, and of arrays ``length``.
    texts : dict
        For each name the member itself, in base64.

    Examples
    --------
    >>> members = Members()
    >>> members.add_array("mass", np.array([1.5, 2.0], dtype=np.float32))
    >>> members.add_json("names", ["a", "<b>"])
    >>> members.table
    {'mass': {'kind': 'f4', 'length': 2}, 'names': {'kind': 'json'}}
    >>> unpacked(members, "mass").tolist(), unpacked(members, "names")
    ([1.5, 2.0], ['a', '<b>'])
    """

    table: dict[str, dict[str, Any]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    def add_array(self, name: str, values: Array) -> None:
        """Add an array of one dimension, of a dtype in `KINDS`."""
        little = values.astype(values.dtype.newbyteorder("<"), copy=False)
        self._add(
            name, zlib.compress(little.tobytes(), LEVEL), kind=LETTERS[values.dtype], length=len(values)
        )

    def add_json(self, name: str, value: Any) -> None:
        """Add texts, or anything else that JSON has."""
        text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
        self._add(name, zlib.compress(text.encode("ascii"), LEVEL), kind=JSON)

    def add_bytes(self, name: str, content: bytes) -> None:
        """Add what is compressed already, such as pictures."""
        self._add(name, content, kind=BYTES)

    def _add(self, name: str, content: bytes, **facts: Any) -> None:
        self.table[name] = facts
        self.texts[name] = base64.b64encode(content).decode("ascii")


def unpacked(members: Members, name: str) -> Any:
    """Read a member back, as the page does."""
    facts, content = members.table[name], base64.b64decode(members.texts[name])
    if facts["kind"] == BYTES:
        return content
    content = zlib.decompress(content)
    if facts["kind"] == JSON:
        return json.loads(content)
    values = np.frombuffer(content, dtype=np.dtype(KINDS[facts["kind"]]).newbyteorder("<"))
    return values.astype(values.dtype.newbyteorder("="), copy=sys.byteorder != "little")


def narrowed(values: Any) -> Array:
    """Convert whole numbers of at least 0 to the smallest of 8, 16 and 32 bits that holds them.

    Examples
    --------
    >>> narrowed([0, 255]).dtype, narrowed([256]).dtype, narrowed([]).dtype
    (dtype('uint8'), dtype('uint16'), dtype('uint8'))
    """
    array = np.asarray(values, dtype=np.int64)
    top = int(array.max()) if len(array) else 0
    return array.astype(np.uint8 if top < 1 << 8 else np.uint16 if top < 1 << 16 else np.uint32)


def clean_text(value: object) -> str:
    r"""Write any value as a text that UTF-8 has.

    Lone surrogates are replaced, pairs of them are joined, and bytes are read as UTF-8.

    Examples
    --------
    >>> clean_text(7), clean_text(b"a"), clean_text("a\ud800b"), clean_text("\ud83d\ude00") == "\U0001f600"
    ('7', 'a', 'a\ufffdb', True)
    """
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    text = value if isinstance(value, str) else str(value)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def printable_text(text: str) -> str:
    r"""Replace what HTML cannot hold as text, which are control characters.

    Examples
    --------
    >>> printable_text("a\0b\nc")
    'a\ufffdb c'
    """
    return "".join(
        letter if letter.isprintable() or ord(letter) > 0x9F else " " if letter.isspace() else "\ufffd"
        for letter in text
    )
