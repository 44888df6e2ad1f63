from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from graphsoft.distributed import arguments
from graphsoft.engine.blocks import OneBlock, State, Stepped, added, floor_of
from graphsoft.fitting.descending import descend, fits
from graphsoft.graph.graph import Graph
from graphsoft.linalg.memberships import one_cluster_each, rows_to_one
from graphsoft.methods import Relation
from shared.blocks_of_graphs import assembled, blocks_of, communities


def random_weights(n, seed=0, mean=4):
    random = np.random.default_rng(seed)
    upper = sp.triu(sp.random_array((n, n), density=mean / n, rng=random), 1)
    return sp.csr_array(upper + upper.T + sp.diags_array(random.integers(0, 2, n) * 0.5))


def spread(seen, *others, power):
    """A step with neighbors: shares of a walk that stays or takes a step."""
    stepped = (seen.block.edges @ seen.memberships + seen.own) @ sp.diags_array(1 / (1 + seen.mass))
    for other in others:
        stepped = stepped + power * other
    sums = float(stepped.sum())  # which sorts the entries
    return Stepped(rows_to_one(sp.csr_array(stepped)), sums)


def grouped(seen, *, groups):
    return Stepped(sp.csr_array(seen.own @ groups))


def numbered(seen):
    return {"clusters": sp.csr_array(seen.own.T @ seen.own), "numbers": np.array([seen.block.number])}


def counted(seen):
    """A look: a matrix, an array and a number."""
    return {"clusters": sp.csr_array(seen.own.T @ seen.own), "mass": seen.mass, "nodes": len(seen.block)}


@pytest.mark.parametrize("partitions", [1, 2, 5])
def test_a_step_in_blocks_is_the_step_on_the_graph(tmp_path, partitions):
    n, m = 40, 6
    weights, random = random_weights(n), np.random.default_rng(1)
    part, labels = random.integers(0, partitions, n), np.arange(n) % m
    run, blocks = blocks_of(tmp_path, weights, part, partitions, labels, [m])
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    dense = one_cluster_each(labels, m).toarray()
    begun = blocks.begin()
    assert np.allclose(begun.mass, degrees @ dense)
    assert (assembled(run, begun, part, partitions) == dense).all()
    state, before, sums = begun, dense, 0.0
    for _ in range(3):
        stepped = (weights @ before + before) / (1 + degrees @ before) + 0.5 * dense
        sums, before = stepped.sum(), stepped / stepped.sum(axis=1, keepdims=True)
        state = blocks.step(spread, state, [begun], power=0.5)
    assert np.allclose(assembled(run, state, part, partitions), before, atol=1e-14)
    assert np.allclose(state.mass, degrees @ before)
    logs = degrees[degrees > 0]
    assert np.isclose(state.log_likelihood, sums + 2 * (logs * np.log(logs)).sum())


def in_order(one, other):
    """A join: numbers of blocks one after the other, matrices summed."""
    numbers = np.concatenate([one["numbers"], other["numbers"]])
    return {"clusters": one["clusters"] + other["clusters"], "numbers": numbers}


def test_what_looks_find_is_joined_in_the_order_of_the_blocks(tmp_path):
    n, m = 30, 4
    weights, part, labels = random_weights(n), np.arange(n) % 3, np.arange(n) % m
    _, blocks = blocks_of(tmp_path, weights, part, 3, labels, [m])
    begun = blocks.begin()
    own = one_cluster_each(labels, m)
    found = blocks.look(counted, added, begun)
    assert found["nodes"] == n
    assert (found["clusters"] != sp.csr_array(own.T @ own)).nnz == 0
    assert np.allclose(found["mass"], 3 * begun.mass)
    found = blocks.look(numbered, in_order, begun)
    assert found["numbers"].tolist() == [0, 1, 2]
    assert (found["clusters"] != sp.csr_array(own.T @ own)).nnz == 0


def test_large_arguments_go_through_files(tmp_path, monkeypatch):
    n, m = 30, 8
    weights, part, labels = random_weights(n), np.arange(n) % 3, np.arange(n) % m
    groups = one_cluster_each(np.arange(m) % 3, 3)
    found = []
    for folder, bound in (("small", 1 << 20), ("large", 1)):
        monkeypatch.setattr(arguments, "LARGE", bound)
        run, blocks = blocks_of(tmp_path / folder, weights, part, 3, labels, [m])
        state = blocks.step(grouped, blocks.step(spread, blocks.begin(), power=0.0), groups=groups)
        found.append((state.mass, assembled(run, state, part, 3)))
        kept = sorted(path.name for path in (tmp_path / folder / "parts").glob("known-*"))
        # groups, the masses of two states, and the weights, partitions and labels that blocks are made of
        assert len(kept) == (0 if folder == "small" else 6)
    assert all((one == two).all() for one, two in zip(*found, strict=True))


def test_states_that_are_forgotten_are_deleted_and_can_be_made_again(tmp_path):
    n, m = 40, 6
    weights, part, labels = random_weights(n), np.arange(n) % 4, np.arange(n) % m
    run, blocks = blocks_of(tmp_path, weights, part, 4, labels, [m])
    states = [blocks.begin()]
    for _ in range(5):
        states.append(blocks.step(spread, states[-1], power=0.0))
        blocks.forget(states[-2])
    last = assembled(run, states[-1], part, 4)
    files = [run.where(state.held, 0).file(state.held, 0) for state in states]
    assert [path.exists() for path in files] == [False, False, False, True, True, True]
    for part_number in range(4):
        for state in states[-3:]:
            path = run.where(state.held, part_number).file(state.held, part_number)
            path.write_bytes(path.read_bytes()[:-1] + b"!")
    blocks.step(spread, states[-1], power=0.0)
    assert (assembled(run, states[-1], part, 4) == last).all()


class SummedByPart(OneBlock):
    """One block whose masses are summed as those of several are: part by part."""

    def __init__(self, graph, degrees, cuts):
        super().__init__(graph, degrees)
        self.cuts = cuts
        self.floor = floor_of(sum(float(degrees[a:b].sum()) for a, b in pairwise(cuts)))

    def begin(self, memberships, log_likelihood=np.nan):
        masses = [
            memberships[start:stop].T @ self.block.degrees[start:stop] for start, stop in pairwise(self.cuts)
        ]
        while len(masses) > 1:  # pair by pair; the last of an odd number waits
            masses = [sum(masses[at : at + 2]) for at in range(0, len(masses), 2)]
        return State(masses[0], log_likelihood, memberships)


@pytest.mark.parametrize("weight_type", [np.float32, np.float64])
@pytest.mark.parametrize("partitions", [1, 2, 8])
def test_levels_of_blocks_have_the_bits_of_the_graph(tmp_path, partitions, weight_type):
    n, sizes = 300, (12, 5, 2)
    weights, labels = communities(n, sizes[0], partitions)
    part = np.sort(np.random.default_rng(2).integers(0, partitions, n))
    part[part == 1] = 0  # and one partition is empty
    part = np.sort(part)
    order = np.random.default_rng(3).permutation(n)  # communities are spread over partitions
    weights, labels = weights[order][:, order].tocsr(), labels[order]
    weights.sort_indices()
    weights = weights.astype(weight_type).astype(np.float64)
    groups = [one_cluster_each(np.arange(12) % 5, 5), one_cluster_each(np.arange(5) % 2, 2)]
    run, blocks = blocks_of(tmp_path, weights, part, partitions, labels, sizes, weight_type)
    found = descend(blocks, blocks.begin(), groups, Relation())
    cuts = np.searchsorted(part, np.arange(partitions + 1))
    degrees = np.array([weights[[i]].data.sum() for i in range(n)])
    one = SummedByPart(Graph(weights.astype(weight_type), range(n)), degrees, cuts)
    expected = descend(one, one.begin(one_cluster_each(labels, 12)), groups, Relation())
    assert (assembled(run, found.finest, part, partitions) == expected.finest.held.toarray()).all()
    assert (found.finest.mass == expected.finest.mass).all()
    for one_level, other in zip(found.courses, expected.courses, strict=True):
        assert one_level.sweeps == other.sweeps
        assert np.allclose(one_level.trace, other.trace, rtol=1e-12)
    for matrix, other in zip(found.parents, expected.parents, strict=True):
        assert abs(matrix - other).max() < 1e-12
    for clusters, other in zip(found.graphs, expected.graphs, strict=True):
        assert np.isclose(abs(clusters.adjacency - other.adjacency).max(), 0, atol=1e-9)
    for fit, other in zip(fits(blocks, found), fits(one, expected), strict=True):
        assert np.isclose(fit.log_likelihood, other.log_likelihood, rtol=1e-12)
        assert np.isclose(fit.gap, other.gap, rtol=1e-9)
    chain = reduce(lambda below, above: below @ above, found.parents, expected.finest.held)
    assert np.allclose(chain.sum(axis=1), 1)
