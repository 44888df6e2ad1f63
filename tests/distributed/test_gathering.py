"""Nodes in random order are gathered: few edges cross partitions, and these are balanced."""

import networkx as nx
import numpy as np
import pytest

from graphsoft.distributed import dealing, gathering
from graphsoft.distributed.dealing import deal
from graphsoft.distributed.edge_files import partitioned_graph
from graphsoft.distributed.run import Run, recorded_parts
from shared.dealt import plan_of, read_all
from shared.opens import counted_opens


@pytest.fixture
def small(monkeypatch):
    """Few units are few hundred here, so that groups grow in several rounds."""
    monkeypatch.setattr(gathering, "UNITS", 300)
    monkeypatch.setattr(gathering, "UNITS_EACH", 16)


def shuffled(graph, seed=0):
    """Edges of a graph of networkx with the nodes in random order."""
    ends = np.array([edge[:2] for edge in nx.convert_node_labels_to_integers(graph).edges()], dtype=np.int64)
    return np.random.default_rng(seed).permutation(len(graph))[ends.reshape(-1, 2)]


def planted(groups, size, inside, outside, seed=0):
    """Edges of communities: so many within and between them for each node."""
    rng = np.random.default_rng(seed)
    n = groups * size
    u = rng.integers(n, size=n * inside)
    v = u // size * size + rng.integers(size, size=n * inside)
    others = rng.integers(n, size=(n * outside, 2))
    ends = np.concatenate([np.stack([u, v], axis=1), others])
    return rng.permutation(n)[ends[ends[:, 0] != ends[:, 1]]]


def dealt(tmp_path, ends, nodes, partitions, name="run"):
    np.savez(tmp_path / f"{name}.npz", row=ends[:, 0], col=ends[:, 1])
    run = Run(tmp_path / name)
    graph = partitioned_graph(tmp_path / f"{name}.npz", nodes=nodes)
    return run, deal(run, graph, plan_of(nodes, partitions, 1 << 26))


def crossing(records):
    return sum(int(each["crossing"]) for each in records) / sum(int(each["entries"]) for each in records)


def imbalance(records, name="entries"):
    sizes = np.array([int(each[name]) for each in records])
    return sizes.max() / sizes.mean()


def was_gathered(run):
    return (run.directory / "done" / "cut-groups").is_dir()


def test_planted_communities(tmp_path, small):
    ends = planted(50, 60, 8, 1)
    run, records = dealt(tmp_path, ends, 3000, 8)
    before = [run.where("sort-edges", part).record() for part in range(8)]
    assert all(path.is_file() for path in before)
    assert was_gathered(run)
    assert np.mean(ends[:, 0] * 8 // 3000 != ends[:, 1] * 8 // 3000) > 0.86
    assert crossing(records) < 0.2
    assert imbalance(records) < 1.3


def test_groups_grow_in_rounds_as_well_as_in_one_process(tmp_path, monkeypatch):
    ends = planted(20, 60, 8, 1)
    _, whole = dealt(tmp_path, ends, 1200, 4, "whole")
    monkeypatch.setattr(gathering, "UNITS", 200)
    monkeypatch.setattr(gathering, "UNITS_EACH", 1)
    run, grown = dealt(tmp_path, ends, 1200, 4, "grown")
    assert (run.directory / "done" / "sum-groups-2").is_dir()
    assert crossing(grown) < crossing(whole) + 0.05


@pytest.mark.parametrize(
    ("graph", "most"),
    [
        (nx.grid_2d_graph(40, 40), 0.2),
        (nx.path_graph(1500), 0.05),
        (nx.disjoint_union_all([nx.complete_graph(3)] * 1500), 0.0),
        (nx.random_regular_graph(3, 600, seed=0), 0.4),
        (nx.disjoint_union(nx.path_graph(700), nx.empty_graph(300)), 0.05),
    ],
    ids=["grid", "path", "islands", "no order at all", "many alone"],
)
def test_shapes_in_random_order(tmp_path, small, graph, most):
    run, records = dealt(tmp_path, shuffled(graph), len(graph), 8)
    assert was_gathered(run)
    assert crossing(records) <= most
    assert imbalance(records) < 1.3
    assert imbalance(records, "nodes") < 1.3
    blocks = read_all(run, "graph", 8)
    bare = [np.count_nonzero(np.diff(each["ptr"]) == 0) for each in blocks]
    assert max(bare) - min(bare) <= 1


def test_a_ring_lattice_in_order_stays_as_it_is(tmp_path):
    graph = nx.watts_strogatz_graph(2000, 10, 0.0, seed=0)
    run, records = dealt(tmp_path, np.array(graph.edges()), 2000, 8)
    assert not was_gathered(run)
    assert crossing(records) < 0.03
    assert imbalance(records) < 1.1
    rows = np.concatenate([each["rows"] for each in read_all(run, "rows", 8)])
    assert rows.tolist() == list(range(2000))


def test_a_star_is_cut_into_equal_parts(tmp_path, small):
    run, records = dealt(tmp_path, shuffled(nx.star_graph(1600)), 1601, 4)
    assert was_gathered(run)
    sizes = sorted(int(each["nodes"]) for each in records)
    assert sizes[0] > 0
    assert sum(sizes) == 1601
    # half of all entries are those of the hub
    assert imbalance(records) < 2.6


def test_a_hub_with_half_of_all_edges(tmp_path, small):
    ends = planted(20, 60, 8, 0)
    hub = np.stack([np.full(1199, 0), np.arange(1, 1200)], axis=1)
    run, records = dealt(tmp_path, np.concatenate([ends, hub]), 1200, 4)
    assert was_gathered(run)
    assert crossing(records) < 0.25
    assert imbalance(records) < 1.3


@pytest.mark.parametrize("partitions", [1, 2, 8])
def test_hardly_any_nodes(tmp_path, small, monkeypatch, partitions):
    monkeypatch.setattr(dealing, "MOST_CROSSING", -1)
    none = np.empty((0, 2), dtype=np.int64)
    for name, nodes, ends in (("one", 1, none), ("loop", 1, np.zeros((1, 2), int)), ("empty", 5, none),
                              ("pair", 2, np.array([[0, 1]]))):  # fmt: skip
        _, records = dealt(tmp_path, ends, nodes, partitions, name)
        assert sum(int(each["nodes"]) for each in records) == nodes
        assert max(int(each["nodes"]) for each in records) <= -(-nodes // partitions) + 1


def test_blocks_open_files_of_those_that_have_something_for_them(tmp_path, small, monkeypatch):
    """Here those of either half have to do with each other."""
    monkeypatch.setattr(dealing, "MOST_CROSSING", -1)
    opens = counted_opens(monkeypatch)
    half = planted(25, 60, 8, 1)
    run, _ = dealt(tmp_path, np.concatenate([half, 1500 + half]), 3000, 8)
    rounds = sum((run.directory / "done" / f"merge-groups-{k}").is_dir() for k in range(9))
    assert rounds >= 2
    for k in range(rounds):
        for stages in (("fill", "choose"), ("tell", "fill")):
            assert opens[f"{stages[0]}-groups-{k}", f"{stages[1]}-groups-{k}"] <= 2 * 4 * 4
        assert opens[f"sum-groups-{k + 1}", f"merge-groups-{k}"] <= 2 * 4 * 4
    assert opens["sort-edges", "read-edges"] == 8 * len(recorded_parts(run.directory, "read-edges"))
    assert opens["rows", "move-edges"] == opens["graph", "move-edges"] <= 8 * 8


def test_the_same_bits_again(tmp_path, small):
    ends = planted(20, 40, 6, 1)
    first, again = (dealt(tmp_path, ends, 800, 4, name)[0] for name in ("first", "again"))
    for stage in ("rows", "graph"):
        for one, other in zip(read_all(first, stage, 4), read_all(again, stage, 4), strict=True):
            assert {k: v.tobytes() for k, v in one.items()} == {k: v.tobytes() for k, v in other.items()}


def test_groups_are_no_larger_than_they_may_be(tmp_path, small):
    """Of 2000 leaves of one hub no group takes more than a sixteenth of a partition."""
    asked = {}
    original = Run.stage

    class Watched(Run):
        def stage(self, name, work, parts, **known):
            records = original(self, name, work, parts, **known)
            if name.startswith("sum-groups"):
                asked[name] = max(int(each["loads"].max(initial=0)) for each in read_all(self, name, 4))
            return records

    ends = shuffled(nx.star_graph(2000))
    np.savez(tmp_path / "star.npz", row=ends[:, 0], col=ends[:, 1])
    graph = partitioned_graph(tmp_path / "star.npz", nodes=2001)
    deal(Watched(tmp_path / "run"), graph, plan_of(2001, 4))
    assert asked
    assert max(asked.values()) <= 2001  # the hub by itself
