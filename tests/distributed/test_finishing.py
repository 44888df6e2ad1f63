from functools import reduce

import numpy as np
import pytest
import scipy.sparse as sp

from graphsoft.distributed.finishing import finish, write_homes
from graphsoft.distributed.run import Run
from graphsoft.engine.blocks import OneBlock
from graphsoft.fitting.descending import descend
from graphsoft.fitting.fitted import FittedLevel
from graphsoft.fitting.numbering import from_the_heaviest
from graphsoft.graph.graph import Graph
from graphsoft.linalg.memberships import entropies, likeliest, one_cluster_each, rows_to_one
from graphsoft.methods import Relation
from shared.blocks_of_graphs import blocks_of, communities, plan_of_graph

SIZES = (9, 4, 2)
GROUPS = [one_cluster_each(np.arange(9) % 4, 4), one_cluster_each(np.arange(4) % 2, 2)]


def on_one_machine(weights, labels):
    """The levels with final numbers, as one machine finds them."""
    graph = Graph(weights, range(len(labels)))
    one = OneBlock(graph)
    found = descend(one, one.begin(one_cluster_each(labels, SIZES[0])), GROUPS, Relation())
    levels, memberships = [], found.finest.held
    for clusters, parents in zip(found.graphs, [*found.parents, None], strict=True):
        levels.append(FittedLevel(memberships, clusters, parents, "", 0, (), 0.0))
        memberships = memberships if parents is None else (memberships @ parents).tocsr()
    return from_the_heaviest(levels, graph.degrees)


@pytest.mark.parametrize("chunk_rows", [7, 64, 1000])
@pytest.mark.parametrize("partitions", [1, 3])
def test_memberships_labels_and_sizes_are_those_of_one_machine(tmp_path, partitions, chunk_rows):
    n = 200
    weights, labels = communities(n, SIZES[0], 5)
    part = np.random.default_rng(0).integers(0, partitions, n)
    run, blocks = blocks_of(tmp_path, weights, part, partitions, labels, SIZES)
    plan = plan_of_graph(n, partitions, SIZES, chunk_rows)
    levels, steps = finish(run, plan, blocks, descend(blocks, blocks.begin(), GROUPS, Relation()))
    expected = on_one_machine(weights, labels)
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    found = np.empty((n, SIZES[0]))
    for each in range(partitions):
        with run.where("memberships", each).open("memberships", each) as file:
            memberships = file.rows("memberships")
            assert memberships.has_sorted_indices
            found[part == each] = memberships.toarray()
    assert np.allclose(found, expected[0].memberships.toarray(), atol=1e-12)
    assert np.allclose(found.sum(axis=1), 1, atol=1e-14)
    own = expected[0].memberships.toarray()
    assert np.allclose(steps.toarray(), own.T @ weights.toarray() @ own, atol=1e-10)
    for level, (one, other) in enumerate(zip(levels, expected, strict=True)):
        own = rows_to_one(other.memberships)
        assert np.allclose(one.mass, own.T @ degrees)
        assert (one.sizes == np.bincount(likeliest(own), minlength=SIZES[level])).all()
        assert np.allclose(one.graph.toarray(), other.graph.adjacency.toarray(), atol=1e-10)
        if other.parents is None:
            assert one.parents is None
        else:
            assert np.allclose(one.parents.toarray(), other.parents.toarray(), atol=1e-12)
        upper = reduce(
            lambda below, above: below @ above, [e.parents for e in levels[:level]], sp.csr_array(found)
        )
        assert np.allclose(upper.toarray(), own.toarray(), atol=1e-12)
        written = {name: [] for name in ("labels", "probability", "entropy")}
        for chunk in plan.chunks:
            with run.where("homes", chunk).open("homes", chunk) as file:
                for name, values in written.items():
                    values.append(file.array(f"{name}-{level}"))
        labels_found, *others = (np.concatenate(values) for values in written.values())
        assert (labels_found == likeliest(own)).all()
        for values, expected_values in zip(others, (own.toarray().max(axis=1), entropies(own)), strict=True):
            assert values.dtype == np.float32
            assert np.allclose(values, expected_values, atol=1e-6)
    for chunk in plan.chunks:
        with run.where("homes", chunk).open("homes", chunk) as file:
            home, place = file.array("part"), file.array("place")
        assert (home == part[slice(*plan.chunk(chunk))]).all()
        for row, (one, at) in enumerate(zip(home, place, strict=True), plan.chunk(chunk)[0]):
            assert np.flatnonzero(part == one)[at] == row
    assert not run.where("send-home", 0).file("send-home", 0).exists()


def test_a_row_that_no_partition_sends_is_an_error(tmp_path):
    run = Run(tmp_path)

    def send(home, part):
        arrays = {"home": np.array(home, dtype=np.int32), "sure": np.ones((len(home), 2), dtype=np.float32)}
        run.where("send-home", part).write(arrays, dict.fromkeys(arrays, np.array([0, len(home)])))

    for part, rows in enumerate(([0, 1, 4], [3])):
        send([[row, 0, 0] for row in rows], part)
    with pytest.raises(RuntimeError, match="row 2 is in none of the 2 partitions"):
        write_homes(run.where("homes", 0), levels=1, rows=5, chunk_rows=10, partitions=2)
    send([[2, 0, 0], [3, 0, 0], [4, 0, 0]], 1)
    with pytest.raises(RuntimeError, match="a row is in several of the 2 partitions"):
        write_homes(run.where("homes", 0), levels=1, rows=5, chunk_rows=10, partitions=2)
