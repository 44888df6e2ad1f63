"""What is wanted of a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from graphsoft.datasets.byte_limit import EXPANDED, ByteLimit
from graphsoft.errors import InputError, shown

__all__ = ["Asked"]

# What files without the thing are said to lack.
LACKING = {
    "labels": "hold no labels",
    "header": "have no header",
    "columns": "have no columns with titles",
    "drop": "have no columns with titles",
    "obsm": "have no obsm, only h5ad files do",
    "obsp": "have no obsp, only h5ad files do",
}


@dataclass(frozen=True)
class Asked:
    """The options of :func:`graphsoft.datasets.read`, which says what they mean; `limit` is `max_bytes`."""

    labels: str | None = None
    directed: bool = False
    header: bool | None = None
    columns: Sequence[str] | None = None
    drop: Sequence[str] | None = None
    obsm: str | None = None
    obsp: str | None = None
    limit: ByteLimit = field(default=ByteLimit("it", EXPANDED), repr=False)

    def __post_init__(self) -> None:
        if self.header is not None and not isinstance(self.header, bool | np.bool_):
            raise InputError("header", f"got {shown(self.header)}", "use True, False or None")
        for name in ("columns", "drop"):
            titles = getattr(self, name)
            if titles is not None and (
                isinstance(titles, str) or not all(isinstance(title, str) for title in titles)
            ):
                raise InputError(name, f"got {shown(titles)}", "give a list of titles")
        for one, other in (("columns", "drop"), ("obsm", "obsp")):
            if getattr(self, one) is not None and getattr(self, other) is not None:
                raise InputError(other, f"is given together with {one}", "give one of the two")

    def refuse(self, ending: str, known: frozenset[str]) -> None:
        """Refuse what files of this ending do not have."""
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None and each.name in LACKING and each.name not in known:
                raise InputError(each.name, f"{ending} files {LACKING[each.name]}", "leave it out")
