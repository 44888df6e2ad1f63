"""JSON of any depth as Python objects, without the recursion of the standard library, which ends at 1,000."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

__all__ = ["parsed_json"]

_TOKEN = re.compile(
    r"[ \t\n\r]*(?:(?P<sign>[{}\[\],:])"
    r'|(?P<text>"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*")'
    r"|(?P<number>-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)"
    r"|(?P<word>true|false|null))",
    re.ASCII,
)
_WORDS = {"true": True, "false": False, "null": None}
_BEGINS = ("{", "[", "text", "number", "word")
_CLOSED_BY = {"}": dict, "]": list}


def parsed_json(text: str) -> Any:
    """Read JSON without recursion.

    Raises
    ------
    ValueError
        If it is no JSON. NaN and infinite numbers are none, and no object may have a key twice.

    Examples
    --------
    >>> parsed_json('{"a": [1, -2.5e1, "x"], "b": {"c": null}}')
    {'a': [1, -25.0, 'x'], 'b': {'c': None}}
    """
    done: list[Any] = []  # the whole document
    inside: list[Any] = [done]  # the containers around the next value
    keys: list[str] = []  # of the objects among them, each waiting for its value
    awaits = "value"
    for kind, token in _tokens(text):
        around = inside[-1]
        if kind == "text" and awaits in ("key", "first key"):
            keys.append(json.loads(token))
            if keys[-1] in around:
                raise ValueError(f"an object has the key {token} twice")
            awaits = "colon"
        elif kind == ":" and awaits == "colon":
            awaits = "value"
        elif kind == "," and awaits == "comma":
            awaits = "key" if isinstance(around, dict) else "value"
        elif isinstance(around, _CLOSED_BY.get(kind, ())) and awaits in ("comma", "first key", "first value"):
            inside.pop()
            awaits = "comma" if len(inside) > 1 else "end"
        elif kind in _BEGINS and awaits in ("value", "first value"):
            value = _value(kind, token)
            if isinstance(around, dict):
                around[keys.pop()] = value
            else:
                around.append(value)
            awaits = "comma" if len(inside) > 1 else "end"
            if kind in ("{", "["):
                inside.append(value)
                awaits = "first key" if kind == "{" else "first value"
        else:
            raise ValueError(f"{token!r} stands where a {awaits} should")
    if awaits != "end":
        raise ValueError("the text ends too early")
    return done[0]


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    place, end = 0, len(text.rstrip(" \t\n\r"))
    while place < end:
        match = _TOKEN.match(text, place)
        if match is None:
            raise ValueError(f"{text[place : place + 20]!r} at character {place} is no JSON")
        place, kind = match.end(), str(match.lastgroup)
        token = match[kind]
        yield (token if kind == "sign" else kind), token


def _value(kind: str, token: str) -> Any:
    match kind:
        case "{":
            return {}
        case "[":
            return []
        case "word":
            return _WORDS[token]
        case _:
            return json.loads(token)  # one text or one number
