"""What others look up in a file is cut into pieces, so that a few numbers are read without the rest."""

from __future__ import annotations

import numpy as np

from graphsoft.aliases import Array
from graphsoft.distributed.tasks import Where

__all__ = ["heads_of", "looked_up", "pieces_of"]

# A section has so many units, nodes or rows.
PIECE = 1 << 12


def pieces_of(count: int) -> Array:
    """Cut so many units, nodes or rows into sections.

    Examples
    --------
    >>> pieces_of(5000)
    array([   0, 4096, 5000])
    """
    return np.append(np.arange(0, count, PIECE), count)


def heads_of(ids: Array) -> Array:
    """List the first id of each section."""
    return ids[::PIECE]


def looked_up(where: Where, stage: str, name: str, wanted: Array, starts: Array) -> Array:
    """Look up what a stage says of units or nodes of any blocks, whose ids rise; no other sections are read.

    A file lists the ids of its units, and the first ones of all sections as "heads"; or it is of all nodes of
    its block.
    """
    found, cuts = [], np.searchsorted(wanted, starts)
    for block in np.flatnonzero(np.diff(cuts)).tolist():
        some = wanted[cuts[block] : cuts[block + 1]]
        with where.open(stage, block) as file:
            listed = "ids" in file
            if listed:
                pieces = np.searchsorted(file.array("heads"), some, side="right") - 1
            else:
                pieces = (some - starts[block]) // PIECE
            begins = np.flatnonzero(np.diff(pieces, prepend=-1))
            for piece, few in zip(pieces[begins].tolist(), np.split(some, begins[1:]), strict=True):
                places = few - (starts[block] + piece * PIECE)
                if listed:
                    places = np.searchsorted(file.section("ids", piece), few)
                found.append(file.section(name, piece)[places])
    return np.concatenate(found) if found else np.empty(0, dtype=np.int32)
