"""The central graph: it sums up the graph in blocks, keeps its components, and fits where it is divided."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from graphsoft.distributed import contracting
from graphsoft.distributed.contracting import contract
from graphsoft.distributed.dividing import (
    OF_ENTRY,
    PART,
    bytes_to_divide,
    divide,
    most_nodes,
    nodes_wanted,
)
from graphsoft.distributed.files import open_arrays, rows_in_sections
from graphsoft.distributed.merging import shares_of_goal
from graphsoft.distributed.plan import PROCESS
from graphsoft.distributed.run import Run
from graphsoft.distributed.tasks import Where
from graphsoft.engine.dividing import Division
from graphsoft.engine.grouping import Limits, grouped_levels
from graphsoft.engine.scales import grouped
from graphsoft.errors import InputError
from graphsoft.graph.graph import Graph
from graphsoft.linalg.memberships import likeliest
from graphsoft.metrics import adjusted_rand
from naive import engine, moving
from shared.block_files import contracted, plan_of, records_of, run_of_blocks
from shared.opens import counted_opens
from shared.shapes import cloud_graph, graph_of, ring_of_cliques
from shared.strategies import graphs, plain, small

few_examples = settings(max_examples=25)  # each writes dozens of files


@pytest.fixture(autouse=True)
def few_nodes_each(request):
    """Let components have few central nodes, as if graphs were large, unless islands are what is tested."""
    with pytest.MonkeyPatch.context() as patch:
        if "islands" not in request.node.name:
            patch.setattr(contracting, "NODES_EACH_ISLAND", 1)
        yield


def assert_sums(found, W):
    """Check that the central graph has the summed weights, and is symmetric to the last bit."""
    count = found.weights.shape[0]
    assert sorted(set(found.group.tolist())) == list(range(count))
    np.testing.assert_allclose(found.dense, engine.contract(W, found.group, count), rtol=1e-12)
    assert (found.dense == found.dense.T).all()
    assert found.weights.has_sorted_indices


def assert_same_components(found, graph):
    """Check that no group lies in two components, and none is cut in two."""
    central = Graph(found.weights, range(found.weights.shape[0])).components[found.group]
    bare = np.asarray(graph.degrees == 0)  # nodes without edges may be together
    assert moving.same_partition(central[~bare], graph.components[~bare])
    assert not np.isin(central[bare], central[~bare]).any()


@st.composite
def cut_graphs(draw, weights=None):
    """A graph, the partition of every node, and how many partitions there are."""
    graph = draw(graphs(max_size=14, weights=weights))
    partitions = draw(st.integers(1, 5))
    part = draw(st.lists(st.integers(0, partitions - 1), min_size=len(graph), max_size=len(graph)))
    return graph, np.array(part), partitions


def community_graph(groups=8, size=40, seed=0):
    """Dense communities with few edges between them, and the community of every node."""
    rng = np.random.default_rng(seed)
    label = np.repeat(np.arange(groups), size)
    chance = np.where(label[:, None] == label[None, :], 0.3, 0.01)
    W = np.triu((rng.random(chance.shape) < chance) * rng.uniform(0.5, 1, chance.shape), 1)
    return graph_of(W + W.T), label


@few_examples
@given(cut_graphs(weights=st.one_of(plain, small)), st.integers(1, 14), st.data())
def test_the_central_graph_sums_up_the_graph(cut, coarse_nodes, data):
    graph, part, partitions = cut
    finest = data.draw(st.integers(1, min(len(graph), coarse_nodes)))
    with tempfile.TemporaryDirectory() as folder:
        found = contracted(folder, graph, part, (finest,), coarse_nodes, partitions=partitions)
        assert found.weights.shape[0] >= finest
        assert_sums(found, graph.adjacency.toarray())
        assert_same_components(found, graph)
        with open_arrays(found.run.where("central", 0).record()) as record:
            assert record.array("components") == graph.components.max() + 1
        labels, _ = found.labels((finest,))
        assert sorted(set(labels.tolist())) == list(range(finest))


@few_examples
@given(cut_graphs())
def test_without_contraction_the_central_graph_is_the_graph(cut):
    graph, part, partitions = cut
    with tempfile.TemporaryDirectory() as folder:
        found = contracted(folder, graph, part, partitions=partitions)
        order = np.concatenate(found.parts)
        assert found.group[order].tolist() == list(range(len(graph)))
        np.testing.assert_array_equal(found.dense, graph.adjacency.toarray()[order][:, order])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_partition_is_divided_as_on_one_machine(tmp_path, dtype):
    whole = graph_of(cloud_graph(120, centers=8))
    adjacency = sp.csr_array(whole.adjacency.astype(dtype))
    graph = Graph(adjacency, range(len(whole)))
    found = contracted(tmp_path, graph, np.zeros(len(graph), dtype=int), (8, 3), dtype=dtype)
    for part in ("data", "indices", "indptr"):
        one, other = getattr(found.weights, part), getattr(adjacency, part)
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist()
    division = Division(graph, 2)
    upper = division.into(3)
    finest = division.into(8)
    labels, groups = found.labels((8, 3))
    assert labels.tolist() == finest.tolist()
    expected = grouped_levels(graph, [finest, upper], (8, 3), Limits(0, 8))
    assert [each.toarray().tolist() for each in groups] == [each.toarray().tolist() for each in expected]


def test_one_partition_contracts_as_a_graph_does(tmp_path):
    graph = graph_of(cloud_graph(120) + 1e-3)
    found = contracted(tmp_path, graph, np.zeros(len(graph), dtype=int), (2,), 30)
    assert moving.same_partition(found.group, grouped(graph, 30))


@pytest.mark.parametrize("coarse_nodes", [40, 120, 1000])
def test_labels_agree_with_those_of_the_whole_graph(tmp_path, coarse_nodes):
    graph, label = community_graph()
    part = np.random.default_rng(1).integers(0, 2, len(graph)) + 2 * (label % 2)
    found = contracted(tmp_path, graph, part, (8, 2), coarse_nodes)
    labels, groups = found.labels((8, 2))
    assert adjusted_rand(label, labels) > 0.9
    assert groups[0].shape == (8, 2)
    assert sorted(set(likeliest(groups[0]).tolist())) == [0, 1]


def test_likelihood_of_tied_nodes_is_that_of_the_central_graph(tmp_path):
    W = cloud_graph(60)
    found = contracted(tmp_path, graph_of(W), np.arange(60) % 3, (2,), 12)
    count = found.weights.shape[0]
    shares = np.random.default_rng(0).dirichlet(np.ones(4), count)

    def likelihood(W, S):
        d = W.sum(axis=1)
        B = d[:, None] * S
        return (W * np.log(B @ np.diag(1 / B.sum(axis=0)) @ B.T)).sum()

    logs = [2 * (d * np.log(d)).sum() for d in (W.sum(axis=1), found.dense.sum(axis=1))]
    tied = likelihood(W, shares[found.group])
    np.testing.assert_allclose(tied - likelihood(found.dense, shares), logs[0] - logs[1])


def star(leaves, clique=5):
    """A clique, and leaves that hang on its first node."""
    W = np.zeros((clique + leaves, clique + leaves))
    W[:clique, :clique] = 1 - np.eye(clique)
    W[0, clique:] = W[clique:, 0] = 1
    return W


def test_lone_nodes_join_the_group_of_their_neighbor(tmp_path):
    graph = graph_of(star(leaves=6))
    found = contracted(tmp_path, graph, [0] * 5 + [1] * 6, (1,), 2)
    assert len(set(found.group[[0, *range(5, 11)]].tolist())) == 1
    assert_sums(found, graph.adjacency.toarray())


def test_lone_nodes_join_by_the_largest_score(tmp_path):
    # node 8 has a heavier edge to a node of large degree, and one to a node of small degree
    W = np.zeros((9, 9))
    W[:4, :4] = 10 * (1 - np.eye(4))
    W[4:8, 4:8] = 1 - np.eye(4)
    W[8, 0] = W[0, 8] = 2
    W[8, 4] = W[4, 8] = 1
    found = contracted(tmp_path, graph_of(W), [0] * 8 + [1], (2,), 2)
    assert found.group[8] == found.group[4] != found.group[0]


@few_examples
@given(cut_graphs(weights=plain))
def test_lone_nodes_join_the_best_that_is_not_lone(cut):
    graph, part, partitions = cut
    W, d = graph.adjacency.toarray(), graph.degrees
    joined = (W > 0) & ~np.eye(len(W), dtype=bool)
    lone = joined.any(axis=1) & ~(joined & (part[:, None] == part)).any(axis=1)
    with tempfile.TemporaryDirectory() as folder:
        found = contracted(folder, graph, part, (1,), 1, partitions=partitions)
    for node in np.flatnonzero(lone & (joined & ~lone).any(axis=1)):
        others = np.flatnonzero(joined[node] & ~lone)
        scores = [engine.rounded(W[node, other] / d[other]) for other in others]
        best = others[np.array(scores) == max(scores)]
        assert found.group[node] in found.group[best]


def test_chains_of_lone_nodes_join_one_after_the_other(tmp_path):
    W = np.zeros((10, 10))
    W[:5, :5] = 1 - np.eye(5)
    for node in range(4, 9):
        W[node, node + 1] = W[node + 1, node] = 1
    part = [0] * 5 + [1, 0, 1, 0, 1]
    found = contracted(tmp_path, graph_of(W), part, (1,), 1)
    assert len(set(found.group[4:].tolist())) == 1


def test_lone_nodes_among_themselves_merge_where_partitions_become_one(tmp_path):
    path = np.diag(np.ones(199), 1)
    graph = graph_of(path + path.T)
    found = contracted(tmp_path, graph, np.arange(200) % 2, (2,), 10)
    assert 10 <= found.weights.shape[0] <= contracting.EXCESS * 10 * 2
    assert_sums(found, graph.adjacency.toarray())
    assert_same_components(found, graph)


def test_islands_keep_some_nodes_each(tmp_path):
    W = np.kron(np.eye(12), cloud_graph(60, centers=2))
    graph = graph_of(W)
    islands = int(graph.components.max()) + 1
    part = np.arange(len(graph)) // 200
    found = contracted(tmp_path, graph, part, (24, 12), 24)
    assert found.weights.shape[0] >= contracting.NODES_EACH_ISLAND * islands
    sizes = np.bincount(Graph(found.weights, range(found.weights.shape[0])).components)
    assert len(sizes) == islands
    assert sizes.min() >= contracting.NODES_EACH_ISLAND // 4
    assert_same_components(found, graph)


def test_nodes_without_edges_and_empty_partitions(tmp_path):
    W = np.zeros((40, 40))
    W[:6, :6] = 1
    W[6, 6] = 3  # alone with itself
    graph = graph_of(W)
    found = contracted(tmp_path, graph, [1] * 20 + [3] * 20, (3,), 5, partitions=5)
    assert found.weights.shape[0] >= 3
    assert_sums(found, W)
    labels, _ = found.labels((3,))
    assert set(labels.tolist()) == {0, 1, 2}


def test_a_graph_without_edges(tmp_path):
    graph = graph_of(np.zeros((30, 30)))
    found = contracted(tmp_path, graph, np.arange(30) % 3, (7,), 8)
    labels, _ = found.labels((7,))
    assert set(labels.tolist()) == set(range(7))


# Memory


def room_for(nodes, entries):
    """A limit in which a graph of this size can just be divided."""
    return int(np.ceil(bytes_to_divide(nodes, entries) / PART)) + 1


def test_groups_merge_again_until_their_graph_fits(tmp_path):
    graph, label = community_graph(groups=8, size=60)
    part = np.random.default_rng(0).integers(0, 2, len(graph)) + 2 * (label // 2)
    limit = room_for(90, 90 * 30)
    found = contracted(tmp_path, graph, part, (8,), 400, limit)
    assert any(each.name.startswith("merge-again") for each in Path(tmp_path, "done").iterdir())
    assert 80 <= found.weights.shape[0] < 400
    assert found.weights.nnz <= (limit * PART - PROCESS) / OF_ENTRY
    assert_sums(found, graph.adjacency.toarray())
    labels, _ = found.labels((8,))
    assert adjusted_rand(label, labels) > 0.95


def test_new_numbers_of_groups_are_put_together_once_for_all_tasks(tmp_path, monkeypatch):
    graph, label = community_graph(groups=8, size=60)
    part = np.random.default_rng(0).integers(0, 2, len(graph)) + 2 * (label // 2)
    opens = counted_opens(monkeypatch)
    contracted(tmp_path, graph, part, (8,), 400, room_for(90, 90 * 30))
    readers = {reader for reader, stage in opens if stage.startswith("merge-again")}
    assert readers
    assert all(reader.startswith("number-again") for reader in readers)
    assert opens["group", "number-again-1"] <= len(np.unique(part))


@few_examples
@given(cut_graphs(weights=plain), st.integers(1, 40))
def test_what_merged_again_sums_up_the_graph_too(cut, entries):
    graph, part, partitions = cut
    limit = room_for(len(graph) // 2, entries)
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = contracted(folder, graph, part, (1,), 1000, limit, partitions=partitions)
        except InputError as error:
            assert error.argument == "max_memory"  # noqa: PT017
        else:
            assert_sums(found, graph.adjacency.toarray())


def test_too_little_memory_is_refused(tmp_path):
    with pytest.raises(
        InputError, match=r"max_memory: 0\.1 GB are too little to find 8 clusters in this graph"
    ):
        contracted(tmp_path, graph_of(ring_of_cliques()), np.arange(20) % 2, (8,), 15, 10**8)
    with pytest.raises(InputError, match="max_memory: 1 GB are too little to find 1000000 clusters"):
        nodes_wanted([10**6, 10], 1e9)
    assert nodes_wanted([200], 1e9) == most_nodes(1e9)
    assert nodes_wanted([200], 1e10) == 50_000
    assert nodes_wanted([5000], 1e10) == 150_000


def test_more_clusters_than_nodes_are_refused(tmp_path):
    graph = graph_of(ring_of_cliques())
    found = contracted(tmp_path, graph, np.arange(20) % 2, (2,), 5)
    count = found.weights.shape[0]
    with pytest.raises(InputError, match=rf"levels: asks for 19 clusters, and the small graph has {count}"):
        found.labels((19,))


MEASURED = """
import sys
from pathlib import Path
from graphsoft.distributed.dividing import divide_levels
from graphsoft.distributed.tasks import Where
from graphsoft.engine.grouping import Limits
divide_levels(Where(sys.argv[1], "divided", 0), (600, 10), Limits(0, 600))
status = Path("/proc/self/status").read_text()
print(int(status.split("VmHWM:")[1].split()[0]) * 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the peak")
def test_dividing_takes_no_more_than_was_counted(tmp_path):
    nodes, each = 20_000, 60
    rng = np.random.default_rng(0)
    row = np.repeat(np.arange(nodes), each // 2)
    column = (row + 1 + rng.laplace(size=len(row), scale=200).astype(int)) % nodes
    half = sp.coo_array(
        (rng.random(len(row)).astype(np.float32), (row, column)), shape=(nodes, nodes)
    ).tocsr()
    graph = graph_of(half + half.T)
    arrays, _ = rows_in_sections("weights", sp.csr_array(graph.adjacency.astype(np.float32)))
    where = Where(str(tmp_path), "central", 0)
    where.write({**arrays, "edges": np.array(graph.adjacency.nnz / 2)})
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, tmp_path], capture_output=True, text=True, check=True, timeout=600
    )
    assert int(done.stdout) < bytes_to_divide(nodes, graph.adjacency.nnz)


# The same answer


class Backwards(Run):
    """A run that does the tasks of every stage from the last to the first."""

    def stage(self, name, work, parts, **known):
        return super().stage(name, work, list(parts)[::-1], **known)[::-1]


@pytest.mark.parametrize("limit", [10**9, room_for(60, 60 * 25)])
def test_order_of_tasks_and_threads_change_no_bit(tmp_path, monkeypatch, limit):
    graph, _ = community_graph()
    part = np.random.default_rng(0).integers(0, 4, len(graph))

    def files(folder, made):
        run = made(run_of_blocks(Path(folder), graph, part, 4).directory)
        contract(run, plan_of(graph, 4, (4,), 100, limit), records_of(graph, part, 4))
        divide(run, plan_of(graph, 4, (4,), 100, limit), (4,), Limits(0, 4))
        parts = Path(folder, "parts")
        return {str(each.relative_to(parts)): each.read_bytes() for each in parts.rglob("*.arrays")}

    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    one = files(tmp_path / "one", Run)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    other = files(tmp_path / "other", Backwards)
    assert one == other
    assert {name.split("/")[0] for name in one} == {"graph", "group", "central", "divided"}


@given(
    st.integers(1, 300), st.lists(st.tuples(st.integers(0, 50), st.floats(0, 100)), min_size=1, max_size=6)
)
def test_shares_reach_the_goal(goal, blocks):
    nodes, masses = (np.array(each) for each in zip(*blocks, strict=True))
    masses = masses * (nodes > 0)
    shares = shares_of_goal(goal, nodes, masses.astype(float))
    assert (shares <= nodes).all()
    assert min(goal, nodes.sum()) <= shares.sum() <= goal + len(nodes)
