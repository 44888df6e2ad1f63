"""The median of groupings of a small graph, each with other weights."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from graphsoft.engine import drawing
from graphsoft.engine.drawing import median_grouping
from naive import moving as naive
from shared.shapes import ring_of_cliques
from shared.strategies import weight_matrices


def grouped(W, count, homes=None, edges=None):
    homes = np.zeros(len(W), dtype=np.int32) if homes is None else homes
    edges = np.count_nonzero(W) / 2 if edges is None or not W.any() else edges
    order = np.argsort(homes, kind="stable")
    found = np.empty(len(W), dtype=np.int64)
    found[order], apart = median_grouping(W[order][:, order], homes[order], edges, count)
    assert apart >= 1
    return found


@settings(max_examples=50)
@given(weight_matrices(), st.sampled_from([0.0, 1e-6, 1.0, 30.0, 1e6, 1e15]), st.data())
def test_there_are_as_many_groups_as_wanted_and_none_across_homes(W, edges, data):
    homes = data.draw(st.lists(st.integers(0, 2), min_size=len(W), max_size=len(W)))
    homes = np.unique(homes, return_inverse=True)[1].astype(np.int32)
    count = data.draw(st.integers(homes.max() + 1, len(W)))
    found = grouped(W, count, homes, edges)
    assert sorted(set(found.tolist())) == list(range(count))
    assert naive.is_nested(found, homes)
    assert found.tolist() == grouped(W, count, homes, edges).tolist()


@pytest.mark.parametrize("count", [2, 3, 6, 7])
@pytest.mark.parametrize("W", [np.zeros((7, 7)), np.diag(np.arange(7.0)), np.diag([0, 1.0, 0, 0, 0, 0, 0])])
def test_without_edges(W, count):
    assert sorted(set(grouped(W, count).tolist())) == list(range(count))
    homes = np.array([0, 0, 0, 0, 0, 0, 1], dtype=np.int32)
    assert naive.is_nested(grouped(W, count, homes), homes)


def noisy_blocks(seed, blocks=6, size=12):
    """Dense counts of edges: 5 within blocks on average, 1 elsewhere."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(blocks), size)
    upper = np.triu(rng.poisson(np.where(np.equal.outer(truth, truth), 5.0, 1.0)), 1)
    return (upper + upper.T).astype(float), truth


@pytest.mark.parametrize("seed", range(5))
def test_planted_blocks_are_found(seed):
    W, truth = noisy_blocks(seed)
    found = grouped(W, 6, edges=W.sum() / 2)
    assert naive.agreement(found, truth, np.ones(len(W))) > 0.9


def test_clear_blocks_are_found_whatever_the_weights_stand_for():
    W = ring_of_cliques(cliques=6)
    for edges in (10.0, 100.0, 1e5):
        assert naive.same_partition(grouped(W, 6, edges=edges), np.arange(30) // 5)


def test_homes_are_kept_to_where_blocks_say_something_else():
    W, truth = noisy_blocks(0)
    homes = (np.arange(len(W)) % 2).astype(np.int32)
    found = grouped(W, 12, homes, W.sum() / 2)
    assert naive.agreement(found, 6 * homes + truth, np.ones(len(W))) > 0.8
    assert naive.is_nested(found, homes)


def test_the_same_groups_on_any_number_of_threads_and_with_any_unit(monkeypatch):
    W, _ = noisy_blocks(1)
    found = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
        found.append(grouped(W, 9).tolist())
        found.append(grouped(W / 1024, 9).tolist())  # no digit changes
    assert all(each == found[0] for each in found)


def test_the_chance_of_others_is_left_alone():
    before = np.random.get_state()[1].tolist()  # noqa: NPY002 - that of users
    grouped(ring_of_cliques(), 3)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


@given(st.data())
def test_the_median_agrees_best_with_all(data):
    n, count = data.draw(st.integers(1, 8)), 4
    draws = data.draw(st.lists(st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=1, max_size=6))
    draws = np.array(draws)
    masses = np.array(data.draw(st.lists(st.integers(1, 9), min_size=n, max_size=n)), dtype=float)
    found = drawing._median(draws, masses, count)
    worth = [sum(naive.agreement(one, other, masses) for other in draws) for one in draws]
    assert sum(naive.agreement(found, other, masses) for other in draws) == pytest.approx(max(worth))


def test_threads_of_blas_do_not_change_the_median():
    # two draws are the same but for their numbers, so it is rounding that decides between them
    count, n = 150, 20_000
    for seed in range(10):
        rng = np.random.default_rng(seed)
        first, masses = rng.integers(0, count, n), rng.random(n)
        others = [np.where(rng.random(n) < 0.9, first, rng.integers(0, count, n)) for _ in range(4)]
        draws = np.array([first, count - 1 - first, *others])
        found = []
        for threads in (1, 2):
            with threadpool_limits(threads):
                found.append(drawing._median(draws, masses, count).tolist())
        assert found[0] == found[1]


def test_the_median_is_one_that_others_are_like():
    masses = np.ones(6)
    draws = np.array([[0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1], [1, 1, 1, 1, 0, 0]])
    assert drawing._median(draws, masses, 2).tolist() == [0, 0, 0, 1, 1, 1]
    fragmented = np.array([[0, 0, 0, 0, 0, 1], *draws])
    heavy = np.array([1.0, 1, 1, 1, 1, 0.01])
    assert drawing._least_fragmented(fragmented, heavy, 2).tolist() == draws.tolist()
