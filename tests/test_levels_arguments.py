"""Arguments of `graphsoft.hierarchy`: what is taken, what is refused before any work, and progress."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

import graphsoft
from graphsoft.errors import InputError
from shared.shapes import cloud, cloud_graph


@pytest.mark.parametrize(
    "levels", [(9, 3), [9, 3], np.array([9, 3]), [np.int32(9), np.uint64(3)], iter([9, 3]), range(9, 2, -6)]
)
def test_levels_may_be_any_falling_integers(levels):
    h = graphsoft.hierarchy(cloud(), levels)
    assert [len(level.mass) for level in h] == [9, 3]


@pytest.mark.parametrize("levels", [4, np.int64(4), np.uint8(4)])
def test_levels_may_be_one_integer(levels):
    h = graphsoft.hierarchy(cloud(), levels)
    assert len(h) == 1
    assert h[0].parents is None
    assert h[0].memberships.shape == (80, 4)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"levels": []}, "levels: .*at least one"),
        ({"levels": [3, 3]}, r"levels: got \[3, 3\], where 3 does not fall below 3"),
        ({"levels": [3, 9]}, r"levels: got \[3, 9\], where 9 does not fall below 3.*falling"),
        (
            {"levels": [81, 3]},
            "levels: .*81 clusters.*80 points.*at most 80",
        ),
        ({"levels": 81}, "levels: .*81 clusters.*80 points"),
        ({"levels": [9, 0]}, "levels: got 0"),
        ({"levels": -4}, "levels: got -4"),
        ({"levels": 2.5}, "levels: got 2.5"),
        ({"levels": [9, True]}, "levels: got True"),
        ({"levels": "9"}, "levels: got '9'"),
        ({"levels": None}, "levels: got None"),
        ({"levels": [[9, 3]]}, r"levels: got \[9, 3\]"),
        ({"method": "louvain"}, "method: got 'louvain'.*'relation'"),
        ({"polish": "yes"}, "polish: got 'yes'.*True or False"),
        ({"polish": 1}, "polish: got 1"),
        ({"metric": "cosin"}, "metric: got 'cosin'.*'cosine'"),
        ({"weights": "heat"}, "weights: got 'heat'"),
        ({"n_neighbors": 0}, "n_neighbors: got 0"),
        ({"affinity": "graph"}, "affinity: got 'graph'"),
    ],
)
def test_bad_arguments_are_named_before_any_work(options, words):
    steps = []
    graph = nx.from_numpy_array(cloud_graph(80, centers=5))
    for data in (cloud(), cloud().tolist(), graph, graphsoft.as_graph(graph)):
        arguments = {"levels": [9, 3], "progress": lambda *step: steps.append(step)} | options
        with pytest.raises(InputError, match=words) as caught:
            graphsoft.hierarchy(data, **arguments)
        assert caught.value.argument == next(iter(options))
        assert "Remedy: " in str(caught.value)
    assert steps == []


@pytest.mark.parametrize("polish", [True, False])
def test_progress_rises_to_the_end_of_every_stage(polish):
    steps = []
    graphsoft.hierarchy(cloud(), [20, 8, 3], polish=polish, progress=lambda *step: steps.append(step))
    assert {stage for stage, *_ in steps} >= {"neighbors", "dividing"}
    assert ("polishing" in {stage for stage, *_ in steps}) == polish
    assert all(0 < done <= total for _, done, total in steps)
    for (stage, done, total), (after, later, _) in pairwise([*steps, ("end", 0, 0)]):
        # a stage either moves on or is done
        assert (after == stage and later > done) or done == total
