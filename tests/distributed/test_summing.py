"""What all tasks found is joined in a tree of fixed shape, and many partitions are no more to tell a task."""

import pickle
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft.distributed import arguments, summing
from graphsoft.distributed.executors import InThisProcess
from graphsoft.distributed.growing import looked_up, pieces_of
from graphsoft.distributed.run import Run
from graphsoft.distributed.summing import packed, summed
from graphsoft.distributed.tasks import Where
from graphsoft.distributed.typical import typical_scale
from shared.block_files import plan_of
from shared.shapes import ring_of_cliques
from shared.shuffled import Shuffled

POSITIVE = st.floats(0, exclude_min=True, allow_infinity=False)


def find(where, *, seed):
    """A task that finds numbers whose sum depends on the order."""
    random = np.random.default_rng([seed, where.part])
    matrix = sp.random_array((3, 4), density=0.5, rng=random, format="csr") * 10.0 ** random.integers(-8, 8)
    numbers = random.normal(size=5) * 10.0 ** random.integers(-8, 8)
    where.write(packed({"numbers": numbers, "matrix": matrix, "others": np.arange(3)}))


def chained(one, other):
    return {"numbers": np.append(one["numbers"], other["numbers"])}


def in_pairs(values):
    while len(values) > 1:  # the last of an odd number waits
        values = [sum(values[at + 1 : at + 2], values[at]) for at in range(0, len(values), 2)]
    return values[0]


@pytest.mark.parametrize("files", [1, 5, 13])
def test_sums_have_the_bits_of_one_tree_however_many_tasks_add_them_up(tmp_path, monkeypatch, files):
    found = []
    for branch in (2, 64):
        monkeypatch.setattr(summing, "BRANCH", branch)
        with Run(tmp_path / str(branch), Shuffled(branch)) as run:
            run.stage("find", find, range(files), seed=1)
            found.append(summed(run, "find", files, ["numbers", "matrix"]))
            run.stage("find-again", find, range(files), seed=1)
            order = summed(run, "find-again", files, ["numbers"], chained)
            left = [path.name for path in (tmp_path / str(branch) / "parts").iterdir()]
            assert not any("summed" in name for name in left)
    values = []
    for part in range(files):
        with run.where("find", part).open("find", part) as file:
            values.append((file.array("numbers"), file.rows("matrix").toarray()))
    assert (order["numbers"] == np.concatenate([numbers for numbers, _ in values])).all()
    for each in found:
        assert (each["numbers"] == in_pairs([numbers for numbers, _ in values])).all()
        assert (each["matrix"].toarray() == in_pairs([matrix for _, matrix in values])).all()


@settings(max_examples=5)  # each writes a hundred files
@given(st.lists(st.lists(POSITIVE, max_size=6), min_size=1, max_size=4))
def test_the_typical_scale_is_the_median(scales):
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(summing, "BRANCH", 2)
        for part, own in enumerate(scales):
            place = Where(folder, "points", part)
            place.write({"scale": np.array([*own, 1.5])})  # the last node has no neighbors
            keys = np.array([[0]] * len(own) + [[-1]])
            Where(folder, "merge-neighbors", part).write({"scale": np.array([*own, 0.0]), "keys": keys})
        found = typical_scale(Run(Path(folder)), plan_of(range(30), len(scales), (2,), 10))
    every = np.concatenate([np.array(own, dtype=float) for own in scales])
    with np.errstate(over="ignore"):
        expected = 1.0 if not len(every) else np.median(every)
    if np.isfinite(expected):
        assert found == pytest.approx(expected, rel=1e-15, abs=0)
    assert np.isfinite(found)


@settings(max_examples=25)
@given(st.integers(1, 5), st.integers(1, 40), st.integers(0, 2**20))
def test_what_is_looked_up_is_what_was_written(blocks, count, seed):
    random = np.random.default_rng(seed)
    starts = np.append(0, np.cumsum(random.integers(0, count, blocks)))
    values = random.normal(size=starts[-1])
    listed = np.sort(random.permutation(starts[-1])[: starts[-1] // 2])
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("graphsoft.distributed.pieces.PIECE", 3)
        for block in range(blocks):
            own = np.arange(starts[block], starts[block + 1])
            Where(folder, "all", block).write({"x": values[own]}, {"x": pieces_of(len(own))})
            ids = listed[(listed >= starts[block]) & (listed < starts[block + 1])]
            arrays = {"ids": ids, "x": values[ids]}
            cuts = dict.fromkeys(arrays, pieces_of(len(ids)))
            Where(folder, "some", block).write(arrays | {"heads": ids[::3]}, cuts)
        for stage, known in (("all", np.arange(starts[-1])), ("some", listed)):
            wanted = known[random.random(len(known)) < 0.3]
            found = looked_up(Where(folder, "ask", 0), stage, "x", wanted, starts)
            assert (found == values[wanted]).all()


class Watching(InThisProcess):
    """Notes the longest task that is submitted for each stage, and does it."""

    def __init__(self):
        super().__init__()
        self.longest = Counter()

    def submit(self, task, key):
        stage = task.where.stage
        self.longest[stage] = max(self.longest[stage], len(pickle.dumps(task)))
        super().submit(task, key)


def test_partitions_open_files_of_those_around_them_only(tmp_path, monkeypatch):
    opened, original = Counter(), Where.open

    def counted(where, stage, part):
        opened[where.stage, where.part] += 1
        return original(where, stage, part)

    monkeypatch.setattr(Where, "open", counted)
    line = np.sort(np.random.default_rng(0).normal(size=(300, 1)), axis=0)
    graphsoft.hierarchy(line, [6, 2], directory=tmp_path, partitions=30, n_neighbors=3)
    for stage in ("merge-neighbors", "look-up-neighbors", "weigh-edges", "graph", "sum-edges-1"):
        assert 1 < max(opened[stage, part] for part in range(30)) < 15


@pytest.mark.filterwarnings("ignore:partitions")
@pytest.mark.parametrize("kind", ["points", "graph"])
def test_tasks_are_told_as_much_of_many_partitions_as_of_few(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(arguments, "LARGE", 128)
    monkeypatch.setattr("graphsoft.distributed.gathering.UNITS", 20)
    monkeypatch.setattr("graphsoft.distributed.gathering.UNITS_EACH", 1)
    told = []
    for partitions in (10, 30):
        folder, options = tmp_path / str(partitions), {}
        if kind == "points":  # on a line, so that a partition has to do with two others
            data = np.sort(np.random.default_rng(0).normal(size=(partitions * 12, 1)), axis=0)
            options = {"n_neighbors": 4}
        else:
            folder.mkdir()
            ends = np.array(np.nonzero(ring_of_cliques(partitions, 8)))
            ends = np.random.default_rng(0).permutation(8 * partitions)[ends]
            np.savez(folder / "edges.npz", row=ends[0], col=ends[1])
            data = graphsoft.partitioned_graph(folder / "edges.npz")
        watching = Watching()
        given = {"directory": folder / "run", "partitions": partitions}
        graphsoft.hierarchy(data, [6, 2], client=watching, **given, **options)
        told.append(watching.longest)
    few, many = told
    assert few.keys() & many.keys() >= {"send-home", "group", "graph"}
    for stage in few.keys() & many.keys():
        assert many[stage] <= few[stage] + 100, stage  # numbers have more digits
