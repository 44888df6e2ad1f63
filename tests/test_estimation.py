"""`graphsoft.estimate`, and the check of the memory before long work."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import graphsoft
from graphsoft import available
from graphsoft.available import available_memory
from graphsoft.cli.command import main
from graphsoft.errors import GraphsoftError, GraphsoftWarning, InputError, NotEnoughMemory
from graphsoft.fitting import memory
from graphsoft.fitting.memory import UNCERTAINTY, Extent, memory_text, needed
from graphsoft.neighbors.nearest import METRICS
from shared.shapes import cloud, cloud_graph

PROC = Path("/proc/self/clear_refs")
# Clusters a few points, so that all loops are compiled, and then X; prints what was predicted and taken.
MEASURED = """if True:
    import ctypes, json, sys
    from pathlib import Path
    import numpy as np
    import graphsoft
    from graphsoft.neighbors import nearest

    def held(field):
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith(field))

    def made(n, d):
        rng = np.random.default_rng(0)
        inner = min(8, d)
        some = 1.5 * rng.normal(size=(50, inner))[rng.integers(50, size=n)] + rng.normal(size=(n, inner))
        turned = np.eye(d) if inner == d else rng.normal(size=(inner, d))
        return (some @ turned + 0.05 * rng.normal(size=(n, d))).astype(np.float32)

    n, d, graph = json.loads(sys.argv[1])
    X, few = made(n, d), made(2000, d)
    graphsoft.hierarchy(few, [30, 6])
    border, nearest.PRODUCT_WORK = nearest.PRODUCT_WORK, -1
    graphsoft.hierarchy(few, [30, 6])
    nearest.PRODUCT_WORK = border
    need = graphsoft.estimate(n, d, [100, 20])
    if graph:
        X = graphsoft.knn_graph(X).adjacency
        need = graphsoft.estimate(n, d, [100, 20], edges=X.nnz // 2)
    getattr(ctypes.CDLL(None), "malloc_trim", int)(0)  # what is free is given back
    Path("/proc/self/clear_refs").write_text("5")
    before = held("VmRSS")
    h = graphsoft.hierarchy(X, [100, 20])
    print(json.dumps([need.peak, held("VmHWM") - before]))
"""


@pytest.mark.skipif(not PROC.exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("case", [(150_000, 3, False), (25_000, 700, False), (400_000, 3, True)])
def test_what_is_taken_is_what_was_predicted(case):
    command = [sys.executable, "-c", MEASURED, json.dumps(case)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    need, taken = json.loads(done.stdout)
    assert taken > 80e6
    # what was freed before may be used again, and small arrays are kept
    assert abs(need - taken) < UNCERTAINTY * taken + 20e6


def test_the_result_holds_what_was_predicted():
    h = graphsoft.hierarchy(cloud(20_000, centers=50, d=3), [50, 10])
    matrices = [h.graph.adjacency, *(level.memberships for level in h)]
    held = sum(part.nbytes for each in matrices for part in (each.data, each.indices, each.indptr))
    assert graphsoft.estimate(20_000, 3, [50, 10]).result == pytest.approx(held, rel=UNCERTAINTY)


sizes = st.integers(min_value=50, max_value=10**9)


@given(sizes, st.integers(1, 5000), st.integers(1, 50), st.sampled_from(sorted(METRICS)))
def test_more_points_need_more(n, d, k, metric):
    few, many = (graphsoft.estimate(count, d, [20, 5], n_neighbors=k, metric=metric) for count in (n, 10 * n))
    assert 0 < few.peak < many.peak
    assert 0 < few.result < many.result
    assert few.result <= few.peak


@given(sizes, st.integers(0, 10**10))
def test_more_edges_need_more(n, edges):
    few, many = (graphsoft.estimate(n, None, [20, 5], edges=each) for each in (edges, 2 * edges + 1))
    assert few.stages.keys() == {"clustering"}
    assert few.peak <= many.peak


def test_what_it_says():
    need = graphsoft.estimate(10**8, 32, [100, 20, 10])
    assert set(need.stages) == {"neighbors", "joining", "clustering"}
    assert (need.stage, need.peak) == ("neighbors", need.stages["neighbors"])
    assert str(need) == "89 GB at the peak, which is in neighbors; 26 GB in the result"
    assert memory_text(1.26e12) == "1,300 GB"


def test_features_of_another_type_are_copied():
    as_is = [graphsoft.estimate(10**5, 500, 10, dtype=kind).peak for kind in (np.float32, "float64", float)]
    assert len(set(as_is)) == 1
    assert graphsoft.estimate(10**5, 500, 10, dtype=np.float16).peak - as_is[0] == 4 * 500 * 10**5
    assert graphsoft.estimate(10**5, 500, 10, dtype=int).peak - as_is[0] == 8 * 500 * 10**5
    same, other = (graphsoft.estimate(10**5, 500, 10, nnz=10**7, dtype=kind).peak for kind in (float, "f4"))
    assert other - same == 8 * 10**7


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((0, 3, 4), {}, "n: got 0"),
        ((10, 0, 4), {}, "d: got 0"),
        ((10, None, 4), {}, "d: got None, and no edges"),
        ((10, 3, [4, 5]), {}, "levels: got .*does not fall"),
        ((10, 3, 11), {}, "levels: .*at most|levels: .*10 points"),
        ((10, 3, "auto"), {}, "levels: got 'auto'.*list falling sizes"),
        ((10, 3, 4), {"edges": -1}, "edges: got -1"),
        ((10, 3, 4), {"nnz": 1.5}, "nnz: got 1.5"),
        ((10, 3, 4), {"nnz": 5, "edges": 5}, "nnz: got 5 .*leave out"),
        ((10, 3, 4), {"metric": "cosin"}, "metric: got 'cosin'"),
        ((10, 3, 4), {"n_neighbors": 0}, "n_neighbors: got 0"),
        ((10, 3, 4), {"dtype": "floaty"}, "dtype: got 'floaty'"),
    ],
)
def test_arguments_that_are_no_sizes_are_refused(arguments, options, words):
    with pytest.raises(InputError, match=words):
        graphsoft.estimate(*arguments, **options)


# What is available


def files(root, **texts):
    """Write files below a folder; in their names __ stands for a slash."""
    for name, text in texts.items():
        path = root / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


MEMINFO = "MemTotal: 16000000 kB\nMemAvailable: 8000000 kB\nSwapFree: {} kB\nHugePages_Total: 0\n"


def test_without_proc_nothing_is_known(tmp_path):
    assert available_memory(tmp_path) == float("inf")
    files(tmp_path, proc__meminfo="MemTotal: 16000000 kB\n", proc__self__cgroup="\n1:name=systemd:/\nodd\n")
    assert available_memory(tmp_path) == float("inf")


def test_the_memory_of_the_system(tmp_path):
    files(tmp_path, proc__meminfo=MEMINFO.format(0))
    assert available_memory(tmp_path) == 8_000_000 * 1024
    files(tmp_path, proc__meminfo=MEMINFO.format(1000))
    assert available_memory(tmp_path) == 8_001_000 * 1024


def test_limits_of_cgroups_of_version_2(tmp_path):
    group = "sys__fs__cgroup__user__job__"
    files(tmp_path, proc__meminfo=MEMINFO.format(0), proc__self__cgroup="0::/user/job\n")
    limit = {f"{group}memory_DOT_max": "max\n", f"{group}memory_DOT_current": "900000\n"}
    files(tmp_path, **limit)
    assert available_memory(tmp_path) == 8_000_000 * 1024
    files(tmp_path, **{f"{group}memory_DOT_max": "1000000\n"})
    assert available_memory(tmp_path) == 100_000
    stat = "anon 1\nfile 250000\nactive_file 50000\ninactive_file 150000\nslab_reclaimable 7\n"
    files(tmp_path, **{f"{group}memory_DOT_stat": stat})
    assert available_memory(tmp_path) == 300_007
    above = "sys__fs__cgroup__user__"
    files(tmp_path, **{f"{above}memory_DOT_max": "500", f"{above}memory_DOT_current": "300"})
    assert available_memory(tmp_path) == 200
    files(tmp_path, **{f"{above}memory_DOT_current": "700"})  # for a moment it may be above the limit
    assert available_memory(tmp_path) == 0


def test_limits_of_cgroups_of_version_1_in_a_container(tmp_path):
    cgroups = "4:memory:/docker/0a1b\n3:cpu,cpuacct:/docker/0a1b\n0::/\n"
    mount = "sys__fs__cgroup__memory__memory_DOT_"
    files(tmp_path, proc__meminfo=MEMINFO.format(0), proc__self__cgroup=cgroups)
    files(tmp_path, **{f"{mount}limit_in_bytes": "9223372036854771712", f"{mount}usage_in_bytes": "600"})
    assert available_memory(tmp_path) == 8_000_000 * 1024
    files(tmp_path, **{f"{mount}limit_in_bytes": "1000", f"{mount}stat": "total_inactive_file 100\n"})
    assert available_memory(tmp_path) == 500


def test_here_some_memory_is_available():
    assert available_memory() > 10e6


# The check


@pytest.fixture
def leave(monkeypatch):
    """Let the check find so many bytes."""
    return lambda size: monkeypatch.setattr(memory, "available_memory", lambda: float(size))


def given_data():
    graph = graphsoft.as_graph(cloud_graph(60), affinity="precomputed")
    return {"points": cloud(), "graph": graph, "texts": sp.random_array((90, 30), density=0.3, rng=0)}


@pytest.mark.parametrize("name", given_data())
def test_too_little_memory_is_refused_before_long_work(leave, name):
    steps = []
    leave(1e6)
    for find in (graphsoft.hierarchy, graphsoft.cluster):
        with pytest.raises(
            NotEnoughMemory, match=r"X: \d+ (points|nodes) need about \d+ MB more, for .*Remedy: use"
        ) as caught:
            find(given_data()[name], 4, progress=lambda *step: steps.append(step))
        assert isinstance(caught.value, MemoryError)
        assert isinstance(caught.value, GraphsoftError)
        assert "1.0 MB are available" in str(caught.value)
    assert steps == []


def test_what_may_fit_is_not_refused(leave):
    X = cloud()
    peak = needed(Extent(80, 3), [9, 3]).peak
    leave(peak)
    whole = graphsoft.hierarchy(X, [9, 3])
    leave(peak / (1 + UNCERTAINTY) + 1)
    with pytest.warns(GraphsoftWarning, match="X: 80 points need .*if that is too little, use"):
        tight = graphsoft.hierarchy(X, [9, 3])
    assert (tight[0].memberships != whole[0].memberships).nnz == 0
    leave(peak / (1 + UNCERTAINTY) - 1)
    with pytest.raises(NotEnoughMemory):
        graphsoft.hierarchy(X, [9, 3])


def test_dense_support_is_counted_and_refused_before_long_work(leave):
    X, steps = cloud(2000), []
    adaptive = needed(Extent(2000, 3), [500]).peak
    leave(adaptive)
    with pytest.raises(NotEnoughMemory, match=r"more, for clustering, .*Remedy: use adaptive support, fewer"):
        graphsoft.hierarchy(
            X, [500], method=graphsoft.Relation(support="dense"), progress=lambda *step: steps.append(step)
        )
    assert steps == []
    assert needed(Extent(2000, 3, dense=True), [500]).peak >= 3 * 8 * 2000 * 500
    assert len(graphsoft.hierarchy(X, [500])[0].mass) == 500


def test_methods_that_need_no_graph_are_not_checked(leave):
    leave(0)
    assert len(graphsoft.cluster(cloud(), 4, "k-means").labels) == 80
    assert len(graphsoft.cluster(given_data()["graph"], 4, "spectral").labels) == 60  # it has one already
    with pytest.raises(NotEnoughMemory, match=r"need about .* more, for (neighbors|joining)"):
        graphsoft.cluster(cloud(), 4, "spectral")


def test_features_in_a_file_need_less():
    inside, outside = (
        needed(Extent(10**6, 768, in_file=each), [10]).stages["neighbors"] for each in (False, True)
    )
    assert inside - outside > 2 * 4 * 768 * 10**6


def test_a_search_of_the_callers_own_is_not_counted():
    within, own = (needed(Extent(10**6, 768, own_search=each), [10]) for each in (False, True))
    assert within.stage == "neighbors"
    assert own.stage == "joining"
    assert own.stages["clustering"] == within.stages["clustering"]


def test_the_smallest_input_needs_something():
    for arguments in ((1, 1, 1), (2, 1, [2, 1]), (1, None, 1)):
        assert graphsoft.estimate(*arguments, edges=0 if arguments[1] is None else None).peak > 0


def test_a_real_limit_is_refused_by_the_command_line(tmp_path):
    pytest.importorskip("resource")
    np.save(tmp_path / "points.npy", np.random.default_rng(0).normal(size=(300_000, 16)).astype(np.float32))
    limited = f"""if True:
        import resource, sys
        import graphsoft.levels
        from pathlib import Path
        from graphsoft.cli.command import main
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + {150 * 10**6}, resource.RLIM_INFINITY))
        sys.exit(main(sys.argv[1:]))
    """
    if not Path("/proc/self/statm").exists():
        pytest.skip("the size of a process is read from /proc")
    arguments = ["hierarchy", str(tmp_path / "points.npy"), "--levels", "50,5", "--quiet"]
    command = [sys.executable, "-c", limited, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("graphsoft: input: 300,000 points need about ")


def test_the_command_line_shows_one_line(leave, capsys):
    leave(1e6)
    assert main(["hierarchy", "data/iris.csv", "--levels", "3", "--drop", "label"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("graphsoft: input: 150 points need about ")
    assert err.count("\n") == 1


def test_limits_are_unknown_where_there_is_no_resource_module(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "resource", None)
    assert available.available_memory(tmp_path) == float("inf")
