"""One clustering by any method; the cases that need no method are answered here."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from graphsoft.aliases import Progress
from graphsoft.engine.scales import grouped
from graphsoft.fitting.islands import means_of_islands, merged_islands
from graphsoft.fitting.preparing import Work, prepare
from graphsoft.linalg.memberships import one_cluster_each
from graphsoft.methods import Clustering, Method, Sample
from graphsoft.methods.interface import check_found, reads_of
from graphsoft.methods.relation import by_likelihood

__all__ = ["find"]


def find(
    sample: Sample, count: int, method: Method, random: np.random.Generator, progress: Progress | None = None
) -> Clustering:
    """Cluster points: prepare them, let the method work, and carry what it found back to the points."""
    work = prepare(sample, count, method)
    if "graph" in reads_of(method, len(sample), sample.given_features is not None):
        work = work.without_strays(count)
    found = _without_work(work.sample, count, method) or _merged(sample, work, count, method)
    if found is None:
        found = method.cluster(work.sample, count, random, progress)
        check_found(found, (len(work.sample), count))
        sample.check_indices("method")  # a method of the caller's own may have changed what it was shown
    return replace(found, memberships=work.restore(found.memberships))


def _without_work(sample: Sample, count: int, method: Method) -> Clustering | None:
    """Return the clustering where there is nothing to find, or None where the method has to work."""
    if by_likelihood(method):  # it takes any graph and any count
        return None
    if count == 1:
        return Clustering(one_cluster_each(np.zeros(len(sample), dtype=int), 1), (), "all in one cluster")
    if len(sample) <= count:
        return Clustering(one_cluster_each(np.arange(len(sample)), count), (), "one cluster for each point")
    graph = sample.given_graph
    if graph is not None and not graph.adjacency.nnz:
        return Clustering(one_cluster_each(grouped(graph, count), count), (), "no edges: grouped by number")
    return None


def _merged(sample: Sample, work: Work, count: int, method: Method) -> Clustering | None:
    """Merge the components of a graph of points if there are more of them than clusters."""
    if sample.given_features is None or not by_likelihood(method):
        return None
    graph = work.sample.graph
    means = partial(means_of_islands, graph, sample.given_features, work.first_points)
    labels = merged_islands(graph, [count], means)
    if not labels:
        return None
    return Clustering(one_cluster_each(labels[0], count), (), "components merged by their features")
