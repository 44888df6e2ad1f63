"""The page itself: the built code and style, a policy that allows nothing else, and the content."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import IO

from graphsoft.explorer.content import Content
from graphsoft.explorer.packing import printable_text
from graphsoft.lazy import lazy
from graphsoft.storage.atomic import PathLike, write_atomic

__all__ = ["Explorer"]

BUILT = Path(__file__).parent / "built"
HEIGHT = 720  # pixels, of the frame in a notebook


@dataclass(frozen=True, eq=False, repr=False)
class Explorer:
    """A page that shows a hierarchy; in a notebook it appears in a frame.

    Attributes
    ----------
    content : Content
    """

    content: Content

    def __repr__(self) -> str:
        return f"Explorer({self.content.head['points']:,} points, {len(self.html.encode()):,} bytes)"

    def _repr_html_(self) -> str:
        # without allow-same-origin, the page cannot reach the notebook
        return (
            f'<iframe title="graphsoft explorer" sandbox="allow-scripts allow-downloads" srcdoc="'
            f'{escape(self.html)}" style="width:100%;height:{HEIGHT}px;border:0"></iframe>'
        )

    @lazy
    def html(self) -> str:
        """The whole page as text."""
        return "".join(_pieces(self.content))

    def save(self, path: PathLike) -> None:
        """Write the page to a file, whole or not at all."""

        def write(file: IO[bytes]) -> None:
            for piece in _pieces(self.content):
                file.write(piece.encode("utf-8"))

        write_atomic(path, write)


def _pieces(content: Content) -> Iterator[str]:
    """Yield the page piece by piece."""
    code = (BUILT / "explorer.js").read_text(encoding="utf-8")
    style = (BUILT / "explorer.css").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; script-src '{_hash(code)}'; style-src '{_hash(style)}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    title = escape(printable_text(content.head["title"]))
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        "<noscript>This page shows clusters with JavaScript, which is switched off here.</noscript>\n"
    )
    yield f'<script type="application/json" id="head">{_json_in_html(content.head)}</script>\n'
    for name, text in content.members.texts.items():
        yield f'<script type="text/plain" id="member:{name}">{text}</script>\n'
    yield f"<script>{code}</script>\n</body>\n</html>\n"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _json_in_html(value: object) -> str:
    """Write JSON in ASCII that cannot end the script element it stands in."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
