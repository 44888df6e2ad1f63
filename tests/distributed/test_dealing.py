"""Blocks of edges on disk add up to the graph that a single machine reads."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from graphsoft.distributed import dealing, gathering
from graphsoft.distributed.dealing import bytes_needed, deal
from graphsoft.distributed.edge_files import partitioned_graph
from graphsoft.distributed.run import Run
from graphsoft.distributed.tasks import Task
from graphsoft.errors import InputError
from graphsoft.graph.reading import as_graph
from naive.gathering import edges_once
from shared.dealt import KINDS, assembled, plan_of, read_all, same_as, write_parts


@pytest.fixture
def small(monkeypatch):
    """Sizes at which a graph of some hundred nodes goes through all that a large one does."""
    monkeypatch.setattr(gathering, "UNITS", 40)
    monkeypatch.setattr(gathering, "UNITS_EACH", 1)
    monkeypatch.setattr(dealing, "BINS", 32)


def graph_of_edges(edges, nodes, directed=False):
    return as_graph(sp.csr_array(np.array(edges_once(edges, nodes, directed))), affinity="precomputed")


def random_edges(nodes=60, count=200, seed=0):
    """Edges given once, with weights whose float32 would be others."""
    rng = np.random.default_rng(seed)
    found = {tuple(sorted(pair)) for pair in rng.integers(nodes, size=(count, 2)).tolist()}
    return [(u, v, float(rng.random() + 0.1)) for u, v in sorted(found)]


def dealt(tmp_path, edges, nodes, partitions, kind="npz", name="run", **options):
    folder = write_parts(tmp_path / f"{name}-files", edges, kind, nodes)
    graph = partitioned_graph(folder, nodes=nodes, **options)
    run = Run(tmp_path / name)
    return run, deal(run, graph, plan_of(nodes, partitions))


@pytest.mark.parametrize("partitions", [1, 2, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_all_formats_in_any_number_of_partitions(tmp_path, small, kind, partitions):
    edges = random_edges()
    run, _ = dealt(tmp_path, edges, 60, partitions, kind)
    assert same_as(graph_of_edges(edges, 60), assembled(run, partitions, 60))


def both_ways(edges, rng):
    return edges + [(v, u, w) for u, v, w in edges]


def in_any_direction(edges, rng):
    return [(v, u, w) if rng.random() < 0.5 else (u, v, w) for u, v, w in edges]


def repeated(edges, rng):
    return edges + in_any_direction(edges[::2], rng) + edges[::3]


@pytest.mark.parametrize("listed", [both_ways, in_any_direction, repeated])
def test_files_are_the_same_however_edges_are_listed(tmp_path, small, listed):
    edges, rng = random_edges(), np.random.default_rng(1)
    others = listed(edges, rng)
    others = [others[k] for k in rng.permutation(len(others))]
    runs = [dealt(tmp_path, some, 60, 3, name=name)[0] for name, some in (("a", edges), ("b", others))]
    for stage in ("rows", "graph"):
        for one, other in zip(*(read_all(run, stage, 3) for run in runs), strict=True):
            assert {name: array.tobytes() for name, array in one.items()} == {
                name: array.tobytes() for name, array in other.items()
            }


@st.composite
def listings(draw):
    n = draw(st.integers(1, 9))
    nodes = st.integers(0, n - 1)
    weights = draw(
        st.sampled_from([st.just(1.0), st.floats(0.01, 100), st.integers(-90, 90).map(lambda e: 10.0**e)])
    )
    known = {}
    pairs = draw(st.lists(st.tuples(nodes, nodes), max_size=3 * n))
    edges = [(u, v, known.setdefault(frozenset((u, v)), draw(weights))) for u, v in pairs]
    return n, edges


@settings(max_examples=25)
@given(listings(), st.sampled_from([1, 2, 3, 8]), st.sampled_from(["npz", "csv"]), st.booleans())
def test_any_list_of_edges(tmp_path_factory, listing, partitions, kind, gathers):
    n, edges = listing
    with pytest.MonkeyPatch.context() as patch:
        for module, name, value in (
            (gathering, "UNITS", 2), (gathering, "UNITS_EACH", 1), (dealing, "MOST_CROSSING", -gathers),
        ):  # fmt: skip
            patch.setattr(module, name, value)
        run, records = dealt(tmp_path_factory.mktemp("any"), edges, n, partitions, kind)
    graph = graph_of_edges(edges, n)
    assert same_as(graph, assembled(run, partitions, n))
    assert sum(int(each["entries"]) for each in records) == graph.adjacency.nnz
    assert sum(float(each["weight"]) for each in records) == pytest.approx(graph.degrees.sum())
    assert sum(float(each["degree_logs"]) for each in records) == pytest.approx(graph.degree_logs)


def test_edges_that_go_one_way(tmp_path, small):
    rng = np.random.default_rng(0)
    pairs = {tuple(pair) for pair in rng.integers(30, size=(150, 2)).tolist()}
    edges = [(u, v, float(rng.random() + 0.1)) for u, v in sorted(pairs)]
    run, _ = dealt(tmp_path, edges, 30, 3, directed=True)
    A = np.zeros((30, 30))
    for u, v, weight in edges:
        A[u, v] = weight
    graph = as_graph(sp.csr_array((A + A.T) / 2), affinity="precomputed")
    assert same_as(graph, assembled(run, 3, 30))
    assert same_as(graph_of_edges(edges, 30, directed=True), assembled(run, 3, 30))


def test_the_record_says_what_is_in_a_block(tmp_path, small):
    run, records = dealt(tmp_path, random_edges(), 70, 4)
    for part, (record, block) in enumerate(zip(records, read_all(run, "graph", 4), strict=True)):
        nodes = len(block["degrees"])
        expected = {
            "nodes": nodes,
            "entries": len(block["columns"]),
            "crossing": np.count_nonzero(block["columns"] >= nodes),
            "halo": len(block["halo_part"]),
        }
        assert {name: int(record[name]) for name in expected} == expected, part
    left = {path.name for path in (run.directory / "parts").iterdir() if any(path.iterdir())}
    assert left == {"rows", "graph"}


def test_all_blocks_have_weights_of_one_type(tmp_path, small):
    edges = [(0, 1, 1.0), (1, 2, 1e-30), (2, 3, 1.0)]
    for nodes, some, kind in ((4, edges, np.float64), (3, edges[:1], np.float32)):
        run, _ = dealt(tmp_path, some, nodes, 2, name=f"run-{nodes}")
        assert {block["weights"].dtype.type for block in read_all(run, "graph", 2)} == {kind}


def test_weights_that_conflict_are_refused(tmp_path):
    edges = [(0, 1, 1.0), (1, 0, 1.0 + 1e-12), (2, 1, 3.0), (1, 2, 3.5)]
    with pytest.raises(InputError, match=r"edge 1 2 weighs 3 in one place and 3.5 in another"):
        dealt(tmp_path, edges, 3, 2)
    run, _ = dealt(tmp_path, edges[:2], 3, 1, name="rounded")
    assert read_all(run, "graph", 1)[0]["weights"].tolist() == [1.0, 1.0]


def test_weights_too_far_apart_are_refused(tmp_path):
    with pytest.raises(InputError, match="too far apart"):
        dealt(tmp_path, [(0, 1, 1e-300), (1, 2, 1e300)], 3, 1)


def test_an_edge_that_cannot_be_is_refused_with_its_place(tmp_path):
    edges = [(0, 1, 1.0)] * 5000 + [(0, 7, 1.0)]
    for kind, place in (("csv", "line 5002"), ("npz", "row 5000"), ("edges", "line 5002")):
        folder = write_parts(tmp_path / kind, edges, kind, 8, parts=1)
        graph = partitioned_graph(folder, nodes=5)
        with pytest.raises(InputError, match=f"the node 7 in {place}, outside 0..4"):
            deal(Run(tmp_path / f"run-{kind}"), graph, plan_of(5, 2))


def test_bytes_needed_fall_with_partitions(tmp_path):
    folder = write_parts(tmp_path / "files", random_edges(500, 4000), "npz", 500)
    graph = partitioned_graph(folder, nodes=500)
    few, many = (bytes_needed(plan_of(500, partitions), graph) for partitions in (1, 8))
    assert few.keys() == many.keys()
    of_blocks = few.keys() - {"read-edges", "cut-groups"}
    assert all(few[stage] > many[stage] for stage in of_blocks)


def test_a_run_that_is_complete_does_nothing_again(tmp_path, small, monkeypatch):
    _, records = dealt(tmp_path, random_edges(), 60, 4)

    def refuse(task):
        raise AssertionError(f"{task.where} was done again")

    monkeypatch.setattr(Task, "__call__", refuse)
    graph = partitioned_graph(tmp_path / "run-files", nodes=60)
    again = deal(Run(tmp_path / "run"), graph, plan_of(60, 4))
    assert [{k: v.tobytes() for k, v in one.items()} for one in again] == [
        {k: v.tobytes() for k, v in one.items()} for one in records
    ]


def test_slices_of_any_size_give_the_same_blocks(tmp_path, small):
    """How many edges are read at a time changes nothing."""
    graph = partitioned_graph(write_parts(tmp_path / "files", random_edges(300, 6000), "csv", 300), nodes=300)
    found = []
    for memory in (1 << 20, 1 << 24):
        run = Run(tmp_path / str(memory))
        deal(run, graph, plan_of(300, 3, memory))
        found.append([{k: v.tobytes() for k, v in one.items()} for one in read_all(run, "graph", 3)])
        assert len(list((run.directory / "done" / "read-edges").iterdir())) >= 3
    assert found[0] == found[1]
