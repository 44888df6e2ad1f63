"""`checkpoint` of `graphsoft.hierarchy`: whatever ends a call, the next one ends with the same bits."""

import contextlib
import os
import shutil
import signal
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft import deadline
from graphsoft.distributed.locking import held
from graphsoft.errors import InputError
from graphsoft.methods import METHODS
from graphsoft.storage import checkpoint
from shared.clocks import Clock
from shared.models import Halves
from shared.shapes import bits, cloud, cloud_graph, texts
from shared.strategies import graphs

X = cloud(160, centers=8)
LEVELS = [20, 8, 3]
STOPS = 5  # moments at which each call is ended
STEPS = {"plan", "graph", "contraction", "division-3", "division-8", "division-20", "sweeps"}


class Stopped(Exception):
    """What ends a call."""


@pytest.fixture(autouse=True)
def everything_is_kept(monkeypatch):
    monkeypatch.setattr(checkpoint, "WORTH", 0.0)


def outcome(h):
    """All bits of the levels, and what was said of them but for the time it took."""
    said = [(level.status, level.sweeps, level.trace, level.log_likelihood) for level in h.report.levels]
    return bits(h), said, h.report.notes


def stages_of(*arguments, **options):
    """Call, and tell which stages were reported."""
    seen = []
    h = graphsoft.hierarchy(*arguments, progress=lambda stage, *_: seen.append(stage), **options)
    return h, set(seen)


def stop_at(number):
    """Report progress so many times, and then end the call."""
    calls = iter(range(number))

    def progress(*_):
        if next(calls, None) is None:
            raise Stopped

    return progress


def files(folder):
    return {path.stem for path in folder.glob("*.graphsoft")}


CALLS = {
    "points": (X, LEVELS, {}),
    "copies": (np.repeat(cloud(60), 3, axis=0), [12, 4], {}),
    "texts": (texts(100), [12, 4], {"metric": "cosine"}),
    "graph": (sp.csr_array(cloud_graph(120)), [12, 4], {}),
    "auto": (X, "auto", {"rng": 3}),
    "children": (X, [20, 8], {"min_children": 2, "max_children": 6}),
    "known": (X, [12, 4], {"must_link": [(0, 159)], "cannot_link": [(0, 1)], "known": {5: "a", 130: "b"}}),
    "dense": (X, [12, 4], {"method": graphsoft.Relation(support="dense")}),
    "rounds": (X, [12, 4], {"method": graphsoft.Relation(rounds=3)}),
    "one level": (X, 8, {}),
    "not polished": (X, LEVELS, {"polish": False}),
    "several methods": (X, [12, 5, 2], {"method": ["k-means", "relation", "ward"], "rng": 1}),
    "names": (X, [12, 4], {"names": [f"point {number}" for number in range(160)]}),
}


@pytest.mark.parametrize("name", CALLS)
def test_wherever_a_call_ends_the_next_goes_on(tmp_path, name):
    given, levels, options = CALLS[name]
    reports = []
    expected = outcome(graphsoft.hierarchy(given, levels, progress=lambda *_: reports.append(1), **options))
    for number in np.linspace(0, len(reports), STOPS).astype(int):
        folder = tmp_path / str(number)
        with contextlib.suppress(Stopped):
            graphsoft.hierarchy(given, levels, checkpoint=folder, progress=stop_at(number), **options)
        before = files(folder)
        h, stages = stages_of(given, levels, checkpoint=folder, **options)
        assert outcome(h) == expected
        assert not ("graph" in before and "neighbors" in stages)
        regrouped = "known" in options or "max_children" in options  # which is called coarsening too
        assert regrouped or not ("contraction" in before and "coarsening" in stages)
    assert not ({"neighbors"} if regrouped else {"neighbors", "coarsening"}) & stages  # all was done before


@pytest.mark.parametrize("method", METHODS)
def test_all_methods_go_on(tmp_path, method):
    given, options = np.abs(X[:80]), {"method": method, "rng": 5}
    expected = outcome(graphsoft.hierarchy(given, [9, 3], **options))
    assert outcome(graphsoft.hierarchy(given, [9, 3], checkpoint=tmp_path, **options)) == expected
    for step in ("clustering-3", "sweeps"):
        (tmp_path / f"{step}.graphsoft").unlink(missing_ok=True)
    assert outcome(graphsoft.hierarchy(given, [9, 3], checkpoint=tmp_path, **options)) == expected
    assert outcome(graphsoft.hierarchy(given, [9, 3], checkpoint=tmp_path, **options)) == expected


@pytest.mark.parametrize("bits_of", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64])
def test_random_generators_are_left_as_the_call_leaves_them(tmp_path, bits_of):
    def call(**options):
        rng = np.random.Generator(bits_of(1))
        return outcome(graphsoft.hierarchy(X, [12, 4], method="k-means", rng=rng, **options)), rng.random(9)

    found, after = call()
    for _ in range(2):
        again, drawn = call(checkpoint=tmp_path)
        assert again == found
        assert drawn.tolist() == after.tolist()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graph=graphs(), number=st.integers(0, 40))
def test_any_graph_goes_on(tmp_path_factory, graph, number):
    folder = tmp_path_factory.mktemp("steps")
    levels = sorted({max(1, len(graph) // 2), max(1, len(graph) // 4)}, reverse=True)
    expected = outcome(graphsoft.hierarchy(graph, levels))
    with contextlib.suppress(Stopped):
        graphsoft.hierarchy(graph, levels, checkpoint=folder, progress=stop_at(number))
    assert outcome(graphsoft.hierarchy(graph, levels, checkpoint=folder)) == expected
    shutil.rmtree(folder)


# kept files


def test_files_that_are_damaged_are_made_again(tmp_path):
    expected = outcome(graphsoft.hierarchy(X, LEVELS, checkpoint=tmp_path))
    assert files(tmp_path) == STEPS
    whole = {path: path.read_bytes() for path in tmp_path.glob("*.graphsoft")}
    rng = np.random.default_rng(0)
    for path, data in whole.items():
        flipped = bytearray(data)
        flipped[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
        others = [whole[other] for other in whole if other != path]
        for damaged in (flipped, data[: len(data) // 2], b"", others[0], others[-1]):
            path.write_bytes(damaged)
            assert outcome(graphsoft.hierarchy(X, LEVELS, checkpoint=tmp_path)) == expected
            # the contraction is only made again where a division needs it
            assert path.read_bytes() == (damaged if path.stem == "contraction" else data)


def test_steps_of_another_call_are_not_taken(tmp_path):
    graphsoft.hierarchy(X + 1e-9, LEVELS, checkpoint=tmp_path)
    (tmp_path / "plan.graphsoft").unlink()
    found = graphsoft.hierarchy(X, LEVELS, checkpoint=tmp_path)
    assert outcome(found) == outcome(graphsoft.hierarchy(X, LEVELS))


def test_what_killed_processes_left_is_swept(tmp_path):
    (tmp_path / ".sweeps.graphsoft.0123abcd.tmp").write_bytes(b"half")
    graphsoft.hierarchy(X, LEVELS, checkpoint=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"lock", *(f"{name}.graphsoft" for name in STEPS)}


def test_little_work_is_not_worth_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "WORTH", 1e9)
    graphsoft.hierarchy(X, LEVELS, checkpoint=tmp_path)
    assert files(tmp_path) == {"plan"}


@pytest.mark.parametrize("left_out", sorted(STEPS))
def test_steps_that_were_not_worth_a_file_are_taken_again(tmp_path, left_out):
    expected = outcome(graphsoft.hierarchy(X, LEVELS, checkpoint=tmp_path))
    for also in sorted(STEPS):
        for name in {left_out, also}:
            # the contraction is only made again where a division needs it
            (tmp_path / f"{name}.graphsoft").unlink(missing_ok=name == "contraction")
        assert outcome(graphsoft.hierarchy(X, LEVELS, checkpoint=tmp_path)) == expected


# refusals

CHANGED = {
    "data": (X * 2.0, LEVELS, {}),
    "points": (X[:-1], LEVELS, {}),
    "levels": (X, [20, 8], {}),
    "method": (X, LEVELS, {"method": graphsoft.Relation(sweeps=4)}),
    "n_neighbors": (X, LEVELS, {"n_neighbors": 11}),
    "weights": (X, LEVELS, {"weights": "gaussian"}),
    "metric": (X, LEVELS, {"metric": "cosine"}),
    "known pairs": (X, LEVELS, {"must_link": [(0, 1)]}),
    "rng": (X, LEVELS, {"rng": 1}),
    "polish": (X, LEVELS, {"polish": False}),
    "max_children": (X, LEVELS, {"max_children": 9}),
}


@pytest.mark.parametrize("name", CHANGED)
def test_steps_of_other_data_or_settings_are_refused(tmp_path, name):
    given, levels, options = CHANGED[name]
    graphsoft.hierarchy(X, LEVELS, checkpoint=tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(InputError, match=r"^checkpoint: .*holds the steps of another call: ") as caught:
        graphsoft.hierarchy(given, levels, checkpoint=tmp_path, **options)
    assert "methods" if name == "method" else name in caught.value.problem
    assert "give another directory" in caught.value.remedy
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_same_data_in_another_form_go_on(tmp_path):
    expected = outcome(graphsoft.hierarchy(X, LEVELS, checkpoint=tmp_path))
    for same in (np.asfortranarray(X), X.tolist(), X[::-1][::-1]):
        h, stages = stages_of(same, LEVELS, checkpoint=tmp_path)
        assert outcome(h) == expected
        assert "neighbors" not in stages


def test_what_cannot_be_compared_is_refused(tmp_path):
    from sklearn.neighbors import KNeighborsTransformer

    search = KNeighborsTransformer(n_neighbors=12, mode="distance")
    with pytest.raises(InputError, match="checkpoint: holds no search for neighbors of your own"):
        graphsoft.hierarchy(X, LEVELS, neighbors=search, checkpoint=tmp_path)
    with pytest.raises(InputError, match="checkpoint: holds no method of your own, such as Halves"):
        graphsoft.hierarchy(X, LEVELS, method=Halves(), checkpoint=tmp_path)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("value", [3, "", "a\0b", b"steps", ["steps"]])
def test_what_names_no_directory_is_refused(value):
    with pytest.raises(InputError, match=r"checkpoint: got .*name a directory"):
        graphsoft.hierarchy(X, LEVELS, checkpoint=value)


def test_directories_that_cannot_be_used_are_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"checkpoint: .*is a file"):
        graphsoft.hierarchy(X, LEVELS, checkpoint=tmp_path / "file")
    with pytest.raises(InputError, match=r"checkpoint: .*cannot be written to"):
        graphsoft.hierarchy(X, LEVELS, checkpoint=tmp_path / "file" / "below")
    with pytest.raises(InputError, match=r"checkpoint: got .*not possible with a directory"):
        graphsoft.hierarchy(X, LEVELS, checkpoint=tmp_path / "a", directory=tmp_path / "b")
    if sys.platform != "win32":
        with (
            held(tmp_path),
            pytest.raises(InputError, match=r"checkpoint: another run is at work in .*process"),
        ):
            graphsoft.hierarchy(X, LEVELS, checkpoint=tmp_path)


# time limits


@pytest.mark.parametrize(
    "method", ["relation", graphsoft.Relation(rounds=3), graphsoft.Relation(support="dense")]
)
@pytest.mark.parametrize("looks", [1, 30])
def test_calls_that_time_ended_go_on(tmp_path, monkeypatch, method, looks):
    expected = outcome(graphsoft.hierarchy(X, LEVELS, method=method))
    sweeps = []
    for _ in range(3 if looks == 1 else 15):
        monkeypatch.setattr(deadline, "time", Clock())
        h = graphsoft.hierarchy(X, LEVELS, method=method, time_limit=looks, checkpoint=tmp_path)
        sweeps.append(sum(level.sweeps for level in h.report.levels))
        if not any(level.stopped for level in h.report.levels):
            break
    assert sweeps == sorted(sweeps)
    if looks > 1:
        assert outcome(h) == expected
    monkeypatch.setattr(deadline, "time", time)
    assert outcome(graphsoft.hierarchy(X, LEVELS, method=method, checkpoint=tmp_path)) == expected


# processes that are killed

KILLS = int(os.environ.get("KILLS", "5"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks processes that are killed")
@pytest.mark.parametrize("name", ["points", "auto", "several methods", "known"])
def test_killed_at_any_moment_the_same_call_goes_on(tmp_path, name):
    given, levels, options = CALLS[name]
    began = time.perf_counter()
    expected = outcome(graphsoft.hierarchy(given, levels, **options))
    usual = time.perf_counter() - began
    rng, killed, folder = np.random.default_rng(0), 0, tmp_path / "steps"
    while killed < KILLS:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = outcome(graphsoft.hierarchy(given, levels, checkpoint=folder, **options)) != expected
            finally:
                os._exit(code)
        time.sleep(usual * rng.random())
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            killed += 1
            continue
        assert os.WEXITSTATUS(status) == 0
        assert not [*folder.glob(".*")]
        shutil.rmtree(folder)
    assert outcome(graphsoft.hierarchy(given, levels, checkpoint=folder, **options)) == expected
    assert not [*folder.glob(".*")]
