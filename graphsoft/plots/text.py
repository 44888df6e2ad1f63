"""Text in pictures: its size, its fonts, and names of any kind written as they are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from unicodedata import combining, east_asian_width

__all__ = ["columns", "counted", "font_size", "left_out", "listed", "showable", "styled", "text_size"]

# Longer names are cut.
LONGEST = 28
# Of a line of text, in units of the font's size: the width of usual characters, and the distance of lines.
WIDTH, LINE = 0.58, 1.35


def listed(numbers: Sequence[int]) -> str:
    """Write numbers as a list in words, without the middle of a long one.

    Examples
    --------
    >>> listed([60, 16, 5]), listed([7])
    ('60, 16 and 5', '7')
    """
    words = [f"{each:,}" for each in numbers]
    if len(words) > 6:
        words[3:-2] = ["..."]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def showable(name: Any) -> str:
    r"""Write a name on one line and not too long.

    Examples
    --------
    >>> showable("a\nb"), showable("much too long to be read in a picture")
    ('a b', 'much too long to be read in...')
    """
    text = " ".join(str(name).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "..."


def counted(count: int, what: str) -> str:
    """Write a number with a noun.

    Examples
    --------
    >>> counted(1, "label"), counted(1200, "label")
    ('1 label', '1,200 labels')
    """
    return f"{count:,} {what}{'s' * (count != 1)}"


def left_out(count: int, what: str = "label") -> str:
    """Say how many are left out, if any are.

    Examples
    --------
    >>> left_out(2), left_out(1, "edge"), left_out(0)
    ('2 labels left out', '1 edge left out', '')
    """
    return f"{counted(count, what)} left out" if count else ""


def columns(text: str) -> float:
    """Count how many usual characters a text is as wide as.

    Examples
    --------
    >>> columns("ab"), round(columns("日本"), 1)
    (2, 3.4)
    """
    widths = (0 if combining(each) else 1.7 if east_asian_width(each) in "WF" else 1 for each in text)
    return sum(widths)


def font_size(size: Any) -> float:
    """Return the size of a font in points, which may be given in words."""
    from matplotlib.font_manager import FontProperties

    return float(FontProperties(size=size).get_size_in_points())


def text_size(ax: Any, text: str, size: Any = "small") -> tuple[float, float]:
    """Estimate the width and the height of a line of text on these axes, in pixels."""
    pixels = font_size(size) * ax.figure.dpi / 72
    return columns(text) * WIDTH * pixels, LINE * pixels


def styled(text: str) -> tuple[str, dict[str, Any]]:
    """Return what is written for a text, and how: without markup, and in fonts that have its characters.

    Characters that no font has become U+FFFD, since matplotlib would warn of each of them.
    """
    plain: dict[str, Any] = {"parse_math": False, "usetex": False}
    foreign = frozenset(each for each in text if not (" " <= each <= "~" or each == "\n"))
    if foreign:
        families, missing = _families(foreign)
        plain["fontfamily"] = list(families)
        text = "".join("\ufffd" if each in missing else each for each in text)
    return text, plain


@lru_cache(maxsize=1000)
def _families(characters: frozenset[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Find families of fonts that have these characters, the usual ones first, and what none of them has."""
    from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font

    families = list(FontProperties().get_family())
    missing = _not_in(get_font(findfont(FontProperties())), characters)
    for entry in sorted(fontManager.ttflist, key=lambda entry: (entry.name, entry.fname)):
        if not missing:
            break
        if (entry.style, entry.variant) != ("normal", "normal") or entry.name.startswith("Last Resort"):
            continue
        try:
            left = _not_in(get_font(entry.fname), missing)
        except (OSError, RuntimeError):  # a font that is gone, or damaged
            continue
        if left != missing:
            families, missing = [*families, entry.name], left
    return tuple(families), missing


def _not_in(font: Any, characters: frozenset[str]) -> frozenset[str]:
    return frozenset(each for each in characters if not font.get_char_index(ord(each)))
