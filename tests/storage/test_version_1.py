"""Files of the first version of the format, which stay here for good: later versions must read them alike.

Never make these files again. Whoever changes the format raises `VERSION`, and adds files of the new version.
"""

import hashlib
import json
import zipfile
from datetime import date
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import graphsoft
from graphsoft.graph.features import FeaturesLeftOut
from graphsoft.methods import METHODS
from graphsoft.methods.saving import UnknownMethod
from graphsoft.storage.container import VERSION

HERE = Path(__file__).parent
EXPECTED = json.loads((HERE / "version_1.json").read_text("utf-8"))
NAMES = (
    "a", "ä\ud800", 0, -7, 2**70, 0.5, float("inf"), None, True, b"\xff", ("a", (1, None)),
    frozenset({"x", 2}), date(2020, 2, 29), np.int8(3), np.float32(0.1), np.uint64(2**64 - 1),
)  # fmt: skip
LEVEL_REPORT = "clusters sweeps trace log_likelihood kkt_gap status seconds pairs_kept pairs_known"
REPORT = "nodes edges components notes seconds"
SETTINGS = "levels polish n_neighbors metric weights must_link cannot_link known min_children max_children"

# How graphsoft 0.1.0 made the files, in this folder. `Halves` is that of `shared.models`, `NAMES` and
# `answers` are those of this test.
SCRIPT = """
points = np.random.default_rng(0).normal(size=(36, 2)) * 10 + 200 * np.repeat(np.eye(3, 2), 12, axis=0)
table = np.vstack([points, points[:2]]).round().astype(np.int64) + np.array([0, 2**60])
known = {0: "a", 1: ("b", None), 16: np.float32(0.1)}
h = graphsoft.hierarchy(pd.DataFrame(table, columns=["x", "ü"]), [6, 3], n_neighbors=5, known=known)
h = h.partial_update(pd.DataFrame(table[:2] + 1, columns=["x", "ü"]))
h.save("version_1_points.graphsoft")
weights = np.triu(np.random.default_rng(0).integers(0, 3, (16, 16)), 1)
graph = graphsoft.Graph(sp.csr_array(weights + weights.T), NAMES, ("made by hand",))
novel = graphsoft.hierarchy(graph, [4, 2], method=["cp", Halves()], must_link=[("a", None)])
novel.save("version_1_names.graphsoft")
graphsoft.cluster(graph, 3, method="sof").save("version_1_clustering.graphsoft")
graphsoft.knn_graph([[0.0], [1.0], [1.0], [5.0]], 1).save("version_1_graph.graphsoft")
graphsoft.hierarchy([[0.0], [1.0], [5.0]], [2]).save("version_1_left_out.graphsoft", features=False)
Path("version_1.json").write_text(json.dumps(answers(Path()), indent=1), "utf-8")
"""


def digest(*values):
    """A digest of arrays and sparse matrices, the same on every machine."""
    hashed = hashlib.sha256()
    for value in values:
        for part in (value.data, value.indices, value.indptr) if sp.issparse(value) else (value,):
            hashed.update(str((part.dtype.name, part.shape)).encode())
            hashed.update(part.astype(part.dtype.newbyteorder("<")).tobytes())
    return hashed.hexdigest()


def told(record, fields):
    """The fields that records of version 1 have; later ones may have more."""
    return {name: repr(getattr(record, name)) for name in fields.split()}


def names(nodes):
    return [repr(sorted(map(repr, name)) if isinstance(name, frozenset) else name) for name in nodes]


def stored(h):
    """What a hierarchy holds: digests, and texts."""
    parts = [digest(level.memberships, level.mass, level.graph, level.degrees) for level in h]
    parents = [digest(level.parents) for level in h if level.parents is not None]
    reports = [told(level, LEVEL_REPORT) for level in h.report.levels]
    return {
        "levels": parts, "parents": parents, "graph": digest(h.graph.adjacency), "reports": reports,
        "report": told(h.report, REPORT), "settings": told(h.settings, SETTINGS), "nodes": names(h.nodes),
        "json": json.loads(h.to_json()),
    }  # fmt: skip


def rounded(matrix):
    return np.round(matrix.toarray(), 9).tolist()


def answers(folder):
    """What the models in the files answer, as JSON can hold it."""
    points, novel, clustering, graph, left_out = (
        graphsoft.load(folder / f"version_1_{name}.graphsoft")
        for name in ("points", "names", "clustering", "graph", "left_out")
    )
    new = np.array([[5, 5], [190, 3], [7, 210]]) + np.array([0, 2**60])
    nodes = np.eye(16)[:3] * 2 + 1
    features = points.features
    return {
        "points": stored(points),
        "features": [digest(features.values), repr(features.origin), repr(features.columns), features.metric],
        "duplicates": points.graph.duplicates.tolist(),
        "labels": [points.predict(new, level).tolist() for level in (0, 1)],
        "probabilities": rounded(points.transform(new)),
        "grown": points.partial_update(new)[1].labels.tolist(),
        "clusters": [row.size for row in points.describe(0)],
        "novel": stored(novel),
        "labels of nodes": novel.predict(nodes).tolist(),
        "grown novel": novel.partial_update(nodes, names=["x", "y", "z"])[0].labels.tolist(),
        "clustering": [digest(clustering.memberships), names(clustering.nodes), clustering.status],
        "trace": repr(clustering.trace),
        "graph": [digest(graph.adjacency, graph.duplicates), repr(graph.nodes), repr(graph.notes)],
        "left out": stored(left_out),
    }


def test_files_of_version_1_answer_as_they_did():
    found = json.loads(json.dumps(answers(HERE)))
    np.testing.assert_allclose(found.pop("probabilities"), EXPECTED["probabilities"], atol=2e-9)
    assert found == {name: value for name, value in EXPECTED.items() if name != "probabilities"}


def test_files_of_version_1_hold_every_kind_of_value():
    novel = graphsoft.load(HERE / "version_1_names.graphsoft")
    assert names(novel.nodes) == names(NAMES)
    assert list(map(type, novel.nodes)) == list(map(type, NAMES))
    assert novel.settings.methods == (METHODS["cp"], UnknownMethod("Halves"))
    points = graphsoft.load(HERE / "version_1_points.graphsoft")
    assert points.settings.methods == (METHODS["relation"],) * 2
    assert points.settings.known == ((0, "a"), (1, ("b", None)), (16, np.float32(0.1)))
    assert points.features.origin[1] > 2**59
    assert points.features.fitted == 36
    assert graphsoft.load(HERE / "version_1_left_out.graphsoft").features == FeaturesLeftOut()


@pytest.mark.skipif(VERSION != 1, reason="newer versions write other files")
@pytest.mark.parametrize("name", ["points", "names", "clustering", "graph", "left_out"])
def test_files_of_version_1_are_written_alike(tmp_path, name):
    path = HERE / f"version_1_{name}.graphsoft"
    graphsoft.load(path).save(tmp_path / "again")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "again") as new:
        assert new.namelist() == old.namelist()
        arrays = [member for member in old.namelist() if member.endswith(".npy")]
        assert [new.read(member) for member in arrays] == [old.read(member) for member in arrays]
        before, after = (json.loads(file.read("manifest.json"))["content"] for file in (old, new))
    # fields that came later have the values that stand for their absence
    if "report" in before:
        assert after["report"].pop("scaling") == {"tuple": []}
        assert after["report"].pop("part") == ""
        assert not any(level.pop("stopped") for level in after["report"]["levels"])
    if "values" in (before.get("features") or {}):
        assert after["features"].pop("beside") is False
    assert after == before


def test_files_are_few_and_small():
    sizes = [path.stat().st_size for path in HERE.glob("version_1*") if path.suffix != ".py"]
    assert len(sizes) == 6
    assert sum(sizes) < 60_000
