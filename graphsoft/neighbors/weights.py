"""From neighbor lists to a symmetric graph with weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.kernels.neighbors import shared_neighbors
from graphsoft.linalg.indexing import taken
from graphsoft.parallel import blocks

__all__ = [
    "SYMMETRIZE",
    "WEIGHTS",
    "ScaledLists",
    "edge_weights",
    "spread_over_copies",
    "symmetric",
    "weight_inside",
    "weights_by_length",
    "weights_of_others",
]

WEIGHTS = ("local-scaling", "gaussian", "connectivity", "jaccard", "relative")
SYMMETRIZE = ("union", "mutual", "average")

HUGE = 2.0**1022  # the sum of two distances above it may be infinite
AT_ONCE = 1 << 17  # numbers in a temporary array, a megabyte of which stays in the cache
# No edge has a lower weight, so that an outlier does not lose its neighbors to underflow.
SMALLEST = 2.0**-52


def edge_weights(indices: Array, distances: Array, weights: str) -> Array:
    """Compute the weight of every edge of the neighbor lists; both directions of an edge have the same bits.

    Parameters
    ----------
    indices, distances : ndarrays of shape (n, k)
        Neighbors by rising distance; -1 and infinity where there is none.
    weights : str
        With d the distance between i and j, and s the distance of a point to the last in its list:
        ``local-scaling`` exp(-d² / (s_i s_j)), ``relative`` exp(-d / sqrt(s_i s_j)), ``gaussian``
        exp(-d² / (2 σ²)) with σ the median of all s, ``connectivity`` 1, ``jaccard`` the number of neighbors
        that i and j share over the number that either has, where each point counts as its own neighbor. An s
        of 0 is replaced by the smallest positive s. No weight is below `SMALLEST`.

    Returns
    -------
    ndarray of shape (n, k)
        Positive; 0 where there is no neighbor.

    Examples
    --------
    >>> import numpy as np
    >>> edge_weights(np.array([[1], [0], [1]]), np.array([[1.0], [1.0], [2.0]]), "relative").round(3).tolist()
    [[0.368], [0.368], [0.243]]
    """
    present = indices >= 0
    result = np.zeros(distances.shape)
    if weights == "connectivity":
        result[present] = 1.0
        return result
    if weights == "jaccard":
        lists = np.sort(indices, axis=1)
        shared = np.zeros(distances.shape)
        for start, stop in blocks(len(lists), 8192):
            shared_neighbors(lists, start, stop, shared)
        back = np.argsort(np.argsort(indices, axis=1, kind="stable"), axis=1, kind="stable")
        return np.where(present, np.take_along_axis(shared, back, axis=1), 0.0)
    scaled = ScaledLists.of(indices, distances)
    for start, stop in blocks(len(indices), max(1, AT_ONCE // (8 * indices.shape[1] + 1))):
        rows, ranks = np.nonzero(present[start:stop])
        rows += start
        ends = scaled.scales[rows], taken(scaled.scales, indices[rows, ranks])
        result[rows, ranks] = weights_by_length(distances[rows, ranks], *ends, scaled.typical, weights)
    return result


def weights_by_length(lengths: Array, one: Array, two: Array, typical: float, weights: str) -> Array:
    """Compute weights of edges from their lengths and the scales of their two ends.

    Examples
    --------
    >>> ones = np.ones(1)
    >>> weights_by_length(2 * ones, ones, 4 * ones, 1.0, "relative").round(3).tolist()
    [0.368]
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if weights == "gaussian":
            power = np.square(lengths / typical) / 2
        else:
            power = (lengths / one) * (lengths / two)
            power = np.sqrt(power) if weights == "relative" else power
        return np.asarray(np.fmax(np.exp(-power), SMALLEST))


@dataclass(frozen=True, eq=False)
class ScaledLists:
    """What weights depend on besides the lengths of edges: the neighbor lists of n points, and their scales.

    Attributes
    ----------
    neighbors : ndarray of shape (n, k)
        Their numbers, -1 where there is none.
    scales : ndarray of shape (n,)
        The distance of each to the last in its list, never 0.
    typical : float
        The median of the scales.
    """

    neighbors: Array
    scales: Array
    typical: float

    @classmethod
    def of(cls, indices: Array, distances: Array) -> ScaledLists:
        """Compute the scales of neighbor lists, which are as :func:`edge_weights` takes them."""
        present = indices >= 0
        scales = _scales(distances, present)
        of_lists = scales[present.any(axis=1)]
        shrink = 0.5 if of_lists.max(initial=0.0) > HUGE else 1.0  # the median adds the two in the middle
        return cls(indices, scales, float(np.median(of_lists * shrink)) / shrink if len(of_lists) else 1.0)

    def with_others(self, indices: Array, distances: Array) -> ScaledLists:
        """Add points after these, whose lists number all points; the typical scale stays the same."""
        width = max(indices.shape[1], self.neighbors.shape[1])
        lists = np.full((len(self.neighbors) + len(indices), width), -1, dtype=np.int64)
        lists[: len(self.neighbors), : self.neighbors.shape[1]] = self.neighbors
        lists[len(self.neighbors) :, : indices.shape[1]] = indices
        return ScaledLists(lists, np.append(self.scales, self.scales_of(indices, distances)), self.typical)

    def scales_of(self, indices: Array, distances: Array) -> Array:
        """Compute the scales of other points from their lists; 0 is replaced by the smallest scale here."""
        scales = np.max(distances, axis=1, initial=0.0, where=indices >= 0)
        scales[scales == 0] = self.scales.min()
        return np.asarray(scales)


def weights_of_others(
    indices: Array, distances: Array, weights: str, lists: ScaledLists, numbers: Array | None = None
) -> Array:
    """Compute the weights of edges from other points to their neighbors in `lists`, as `edge_weights` would.

    Parameters
    ----------
    indices, distances : ndarrays of shape (q, k)
        As :func:`edge_weights` takes them; neighbors are numbers of `lists`.
    weights : str
        Under ``gaussian`` σ stays the same.
    lists : ScaledLists
    numbers : ndarray of shape (q,), optional
        Their numbers in `lists`, which may hold these points too.

    Returns
    -------
    ndarray of shape (q, k)

    Examples
    --------
    >>> import numpy as np
    >>> lists = ScaledLists.of(np.array([[1], [0]]), np.array([[1.0], [1.0]]))
    >>> weights_of_others(np.array([[0]]), np.array([[2.0]]), "relative", lists).round(3).tolist()
    [[0.243]]
    """
    present = indices >= 0
    if weights == "connectivity":
        return present.astype(np.float64)
    result = np.zeros(distances.shape)
    if weights == "jaccard":
        size = max(1, AT_ONCE // (indices.shape[1] ** 2 + 1))
        for start, stop in blocks(len(indices), size):
            own = np.full(stop - start, -2) if numbers is None else numbers[start:stop]
            result[start:stop] = _jaccard(indices[start:stop], lists.neighbors, own)
        return result
    rows, ranks = np.nonzero(present)
    own = lists.scales_of(indices, distances)[rows]
    ends = own, lists.scales[indices[rows, ranks]]
    result[rows, ranks] = weights_by_length(distances[rows, ranks], *ends, lists.typical, weights)
    return result


def _jaccard(indices: Array, lists: Array, own: Array) -> Array:
    """Divide the number of neighbors shared with each neighbor, itself included, by those that either has."""
    theirs = lists[indices]
    common = np.ones(indices.shape)
    for rank in range(lists.shape[1]):
        one = theirs[:, :, rank]
        common += ((one[:, :, None] == indices[:, None, :]) & (one >= 0)[:, :, None]).any(axis=2)
        common += one == own[:, None]
    either = 2 + (indices >= 0).sum(axis=1)[:, None] + (theirs >= 0).sum(axis=2)
    return np.where(indices >= 0, common / (either - common), 0.0)


def _scales(distances: Array, present: Array) -> Array:
    """Compute the distance of each point to the last of its neighbors, never 0."""
    scales = np.max(distances, axis=1, initial=0.0, where=present)
    positive = scales[scales > 0]
    scales[scales == 0] = positive.min() if len(positive) else 1.0
    return np.asarray(scales)


def symmetric(indices: Array, weights: Array, symmetrize: str) -> sp.csr_array:
    """Make a symmetric graph of neighbor lists.

    Parameters
    ----------
    indices, weights : ndarrays of shape (n, k)
        As :func:`edge_weights` takes and returns them.
    symmetrize : str
        Of the weights of the two directions, ``union`` takes the larger, ``mutual`` the smaller and
        ``average`` the mean. A direction that is not listed has weight 0.

    Returns
    -------
    csr_array of shape (n, n)

    Examples
    --------
    >>> import numpy as np
    >>> symmetric(np.array([[1], [0], [1]]), np.ones((3, 1)), "average").toarray()
    array([[0. , 1. , 0. ],
           [1. , 0. , 0.5],
           [0. , 0.5, 0. ]])
    """
    listed = directed(indices, weights)
    reverse = listed.T.tocsr()
    if symmetrize == "union":
        return listed.maximum(reverse).tocsr()
    if symmetrize == "mutual":
        return listed.minimum(reverse).tocsr()
    return ((listed + reverse) / 2).tocsr()


def directed(indices: Array, values: Array) -> sp.csr_array:
    """Write the lists as a matrix with a row for each list."""
    present = indices >= 0
    indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    kind = np.int32 if indptr[-1] <= np.iinfo(np.int32).max else np.int64
    shape = (len(indices), len(indices))
    result = sp.csr_array((values[present], indices[present].astype(kind), indptr.astype(kind)), shape=shape)
    result.sort_indices()
    return result


def spread_over_copies(graph: sp.csr_array, indices: Array, sites: Array) -> sp.csr_array:
    """Extend a graph of distinct points to all rows; a distinct point with all its copies is a site.

    Parameters
    ----------
    graph : csr_array of shape (m, m)
        The symmetric graph of the sites, made from the lists `indices`.
    indices : ndarray of shape (m, k)
        The neighbor lists of the sites.
    sites : ndarray of shape (n,)
        The site of every row.

    Returns
    -------
    csr_array of shape (n, n)
        Every copy in a site is joined to one copy in each site of its list, to a different one each time. The
        copies in one site are joined with weight 1 along a circle and its chords, by about k edges each, or
        all to all if they are few. So all have equal positions inside the site. There are O(n k) edges.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> sites = sp.csr_array([[0.0, 0.5], [0.5, 0.0]])
    >>> spread_over_copies(sites, np.array([[1], [0]]), np.array([0, 0, 1])).toarray()
    array([[0. , 1. , 0.5],
           [1. , 0. , 0.5],
           [0.5, 0.5, 0. ]])
    """
    counts = np.bincount(sites)
    members = np.argsort(sites, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    # an edge is repeated for every copy in a site that lists the other site: O(n k) in all, even with hubs
    listing = directed(indices, np.broadcast_to(counts[:, None].astype(np.float64), indices.shape))
    listing = listing.maximum(listing.T)
    edges = sp.triu(graph, k=1, format="csr")
    pattern = sp.csr_array((np.ones(edges.nnz), edges.indices, edges.indptr), shape=edges.shape)
    repeats = pattern.multiply(listing).tocsr().data.astype(np.int64)
    one = np.repeat(np.repeat(np.arange(len(counts)), np.diff(edges.indptr)), repeats)
    two = np.repeat(edges.indices.astype(np.int64), repeats)
    turn = np.arange(len(one)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    rows = members[starts[one] + (turn + two) % counts[one]]
    columns = members[starts[two] + (turn + one) % counts[two]]
    shape = (len(sites), len(sites))
    across = sp.coo_array((np.repeat(edges.data, repeats), (rows, columns)), shape=shape).tocsr()
    inside = sp.coo_array(_edges_inside(counts, members, starts, indices.shape[1]), shape=shape).tocsr()
    inside.data[:] = 1.0  # chords across an even circle are listed twice
    half = across + inside
    return (half + half.T).tocsr()


def _edges_inside(
    counts: Array, members: Array, starts: Array, n_neighbors: int
) -> tuple[Array, tuple[Array, Array]]:
    """List edges among the copies in each site, with the lower row first."""
    ones, twos = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for count in np.unique(counts[counts > 1]):
        circles = members[starts[counts == count][:, None] + np.arange(count)]
        for chord in _chords(int(count), n_neighbors):
            others = np.roll(circles, -chord, axis=1)
            ones.append(np.minimum(circles, others).ravel())
            twos.append(np.maximum(circles, others).ravel())
    rows, columns = np.concatenate(ones), np.concatenate(twos)
    return np.ones(len(rows)), (rows, columns)


def _chords(count: int, n_neighbors: int) -> list[int]:
    """Tell how far apart on their circle the copies in a site are joined."""
    half, max_chords = count // 2, max(1, -(-n_neighbors // 2))
    chords = set(range(1, half + 1))
    if half > max_chords:
        chords = {1, *(half >> power for power in range(max_chords - 1))} - {0}
    return sorted(chords)


def weight_inside(counts: Array, n_neighbors: int) -> Array:
    """Sum the weights inside each site, in both directions, where `spread_over_copies` joins its copies.

    Parameters
    ----------
    counts : ndarray of shape (m,)
        How many copies are in each site.
    n_neighbors : int
        The length of the neighbor lists.

    Examples
    --------
    >>> weight_inside(np.array([1, 2, 4]), 10).tolist()
    [0.0, 2.0, 12.0]
    """
    different, place = np.unique(counts, return_inverse=True)
    sums = [
        # the longest chord of an even circle joins each two copies once
        sum(count if 2 * chord == count else 2 * count for chord in _chords(count, n_neighbors))
        for count in different.tolist()
    ]
    return np.array(sums, dtype=np.float64)[place]
