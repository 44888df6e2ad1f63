"""A hierarchy on disk answers as the one in memory that it was made of."""

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft import InputError, plots
from graphsoft.distributed.files import ArrayFile
from graphsoft.explorer.packing import unpacked
from graphsoft.result.stored import StoredHierarchy
from graphsoft.result.stored_files import StoredFiles
from shared.models import MODELS
from shared.shapes import cloud
from shared.stored_twin import stored_twin

# What a hierarchy on disk has not.
OF_A_SAMPLE = (
    "circles", "compare", "describe", "distinctive", "features", "graph", "layout", "partial_update",
    "to_graphrag",
)  # fmt: skip
LEVEL_OF_A_SAMPLE = ("degrees", "equivalent_adjacency", "margin")
KINDS = (
    "float64", "float32", "sparse", "data frame", "duplicates", "graph", "distances", "polish=False",
    "min_children", "mixed methods",
)  # fmt: skip


@pytest.fixture(scope="module", params=KINDS)
def pair(request, tmp_path_factory):
    """A hierarchy in memory, the same on disk, and new points."""
    h, new = MODELS[request.param]()
    return h, stored_twin(h, tmp_path_factory.mktemp("twin"), 3, 7, sections=4), new


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    h = graphsoft.hierarchy(cloud(60, centers=4), [6, 3], n_neighbors=5)
    return h, stored_twin(h, tmp_path_factory.mktemp("twin"), 4, 11, sections=3)


def apart(one, other):
    return abs(one - other).max() if one.shape == other.shape else np.inf


def test_what_is_small_is_the_same(pair):
    h, stored, _ = pair
    assert len(stored) == len(h)
    assert str(stored.tree) == str(h.tree)
    assert stored.tree == h.tree
    assert str(stored.report) == str(h.report)
    assert str(stored.settings) == str(h.settings)
    for one, other in zip(stored, h, strict=True):
        assert (one.mass == other.mass).all()
        assert (one.sizes == np.bincount(other.labels, minlength=len(other.mass))).all()
        assert apart(one.graph, other.graph) == 0
        assert one.parents is other.parents is None or apart(one.parents, other.parents) == 0
        assert one.report == other.report


def test_memberships_are_the_same_by_row_and_by_part(pair):
    h, stored, _ = pair
    random = np.random.default_rng(0)
    for one, other in zip(stored, h, strict=True):
        shares = one.memberships
        assert shares.shape == other.memberships.shape
        assert len(shares) == len(h.graph)
        ids = random.integers(0, len(shares), 30)
        assert apart(shares[ids], other.memberships[ids]) < 1e-12
        assert apart(shares[range(len(shares))], other.memberships) < 1e-12
        seen = []
        for part, (rows, block) in zip(shares.parts, shares.blocks(), strict=True):
            assert (rows == shares.row_numbers(part)).all()
            assert apart(shares.part(part), block) == 0
            assert not len(rows) or apart(block, other.memberships[rows]) < 1e-12
            seen += rows.tolist()
        assert sorted(seen) == [*range(len(shares))]


def test_labels_are_the_same(pair):
    h, stored, _ = pair
    for one, other in zip(stored, h, strict=True):
        found = np.asarray(one.labels)
        assert found.dtype == other.labels.dtype == one.labels.dtype
        assert (found == other.labels).all()
        assert [*one.labels] == other.labels.tolist()
        assert np.concatenate([labels for _, labels in one.labels.blocks()]).tolist() == found.tolist()
        assert one.labels[-1] == other.labels[-1]
        assert ((one.labels == 1) == (other.labels == 1)).all()
        assert ((one.labels != 1) == (other.labels != 1)).all()
        assert ((one.labels > 1) == (other.labels > 1)).all()
        assert ((one.labels < 1) == (other.labels < 1)).all()
        assert ((one.labels >= 1) == (other.labels >= 1)).all()
        assert ((one.labels <= 1) == (other.labels <= 1)).all()
        assert (one.labels == other.labels).all()


def test_how_sure_each_point_is_is_the_same(pair, tmp_path):
    h, stored, _ = pair
    for one, other in zip(stored, h, strict=True):
        most = other.memberships.toarray().max(axis=1)
        for found, expected in ((one.probability, most), (one.entropy, other.entropy)):
            assert np.asarray(found).dtype == found.dtype == found[[0]].dtype == np.float32
            assert (np.asarray(found) == expected.astype(np.float32)).all()
            assert (found[::-7] == expected[::-7].astype(np.float32)).all()
            assert (found.to_dask().compute() == np.asarray(found)).all()
            found.to_npy(tmp_path / "column.npy")
            assert (np.load(tmp_path / "column.npy") == found).all()


def test_tables_of_the_points_are_the_same(twins, tmp_path):
    h, stored = (each.name_clusters({"1-0": "fruit"}) for each in twins)
    stored.to_csv(tmp_path / "points.csv")
    stored.to_parquet(tmp_path / "points.parquet")
    expected = h.to_frame()
    columns = [
        "point", "level_0", "probability_0", "entropy_0", "level_1", "name_1", "probability_1", "entropy_1",
    ]  # fmt: skip
    assert list(expected.columns) == columns
    for found in (pd.read_csv(tmp_path / "points.csv"), pd.read_parquet(tmp_path / "points.parquet")):
        assert list(found.columns) == columns
        pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=1e-6)


def test_new_points_get_the_same_memberships(pair):
    h, stored, new = pair
    if h.features is None:
        with pytest.raises(InputError, match="is of a graph"):
            stored.predict(new)
        return
    old = h.features.values[:6]
    for level in range(len(h)):
        assert apart(stored.predict_proba(new, level), h.predict_proba(new, level)) < 1e-12
        assert (stored.predict(new, level) == h.predict(new, level)).all()
        found, expected = stored.predict_proba(old, level), h[level].memberships[:6]
        assert apart(found, expected) < (1e-15 if level == 0 else 1e-12)
    assert apart(stored.transform(new), h.transform(new)) < 1e-12
    assert stored.predict_proba(h.features.values[:0]).shape == (0, len(h[-1].mass))


def test_exports_of_the_tree_are_the_same(pair, tmp_path):
    h, stored, _ = pair
    assert stored.to_json() == h.to_json()
    assert stored.to_newick() == h.to_newick()
    assert (stored.to_linkage() == h.to_linkage()).all()
    for name in ("to_graphml", "to_gexf"):
        for each, path in ((h, tmp_path / "one"), (stored, tmp_path / "other")):
            getattr(each, name)(path)
        assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    assert dict(stored.to_networkx().nodes) == dict(h.to_networkx().nodes)
    with pytest.raises(InputError, match="take a sample"):
        stored.to_networkx("points")


def test_a_sample_of_all_points_is_the_hierarchy(pair):
    h, stored, _ = pair
    sample = stored.sample(10**6)
    assert [*sample.nodes] == [*range(len(h.graph))]
    for one, other in zip(sample, h, strict=True):
        assert apart(one.memberships, other.memberships) < 1e-12
    if h.graph.duplicates is None:
        assert apart(sample.graph.adjacency, h.graph.adjacency) < 1e-12
    if h.features is not None and h.settings.metric == "euclidean":  # copies may differ by a factor else
        assert apart(sample.features.values, h.features.values) == 0


def test_a_sample_answers_what_hierarchies_are_asked(pair):
    h, stored, _ = pair
    sample = stored.sample(25, rng=1)
    rows = np.array(sample.nodes)
    assert len(set(rows)) == 25
    assert (np.diff(rows) > 0).all()
    assert apart(sample[0].memberships, h[0].memberships[rows]) < 1e-12
    assert sample.report.notes[-1] == f"a sample of 25 of {len(h.graph)} points"
    assert str(sample.tree.names) == str(h.tree.names)
    assert [str(sample.describe(level)) for level in range(len(h))]
    assert sample.flow(0).shape[0] == len(h[0].mass)
    assert [*stored.sample(25).nodes] == [*stored.sample(25).nodes]
    assert [*stored.sample(25, rng=2).nodes] != [*rows]


def test_the_page_has_the_sizes_of_the_whole(pair):
    h, stored, _ = pair
    labels = [f"class {row % 3}" for row in range(len(h.graph))]
    page = stored.explore(title="on disk", labels=labels, max_points=20)
    head, table = page.content.head, page.content.members
    rows = unpacked(table, "row")
    assert head["points"] == len(h.graph)
    assert head["shown"] == len(rows) < len(h.graph)
    assert head["edges"] == h.report.edges
    assert "are of all" in head["limits"][0]
    for at, level in enumerate(h):
        assert (
            unpacked(table, f"{at}/size").tolist()
            == np.bincount(level.labels, minlength=len(level.mass)).tolist()
        )
        assert unpacked(table, f"{at}/mass").tolist() == level.mass.astype(np.float32).tolist()
    names = unpacked(table, "labels")
    assert [names[number] for number in unpacked(table, "label")] == [labels[row] for row in rows]


def test_saved_pickled_and_named(pair, tmp_path):
    h, stored, _ = pair
    named = stored.name_clusters({"0-1": "one", "1-0": "top"})
    assert named.cluster_names == {"0-1": "one", "1-0": "top"}
    assert named.name_clusters({"0-1": None}).cluster_names == {"1-0": "top"}
    assert "top" in str(named.tree)
    assert stored.cluster_names == h.cluster_names
    named.save(tmp_path / "copy")
    found = graphsoft.load(tmp_path / "copy")
    assert type(found) is StoredHierarchy
    assert found.cluster_names == named.cluster_names
    assert not [path for path in tmp_path.iterdir() if path.name != "copy"]
    kept = {path.parent.name for path in (tmp_path / "copy" / "parts").glob("*/*")}
    assert kept <= {"rows", "points", "graph", "cells", "memberships", "homes"}
    for each in (found, pickle.loads(pickle.dumps(named))):  # noqa: S301
        assert each.to_json() == named.to_json()
        assert (np.asarray(each[0].labels) == h[0].labels).all()
        assert each.sample(10)[0].memberships.shape == (10, len(h[0].mass))
    with pytest.raises(InputError, match="is there already"):
        named.save(tmp_path / "copy")


def test_points_flows_and_torn_points_are_the_same(pair):
    h, stored, _ = pair
    for row in (0, 7):
        one, other = stored.point(row), h.point(h.nodes[row])
        for place, expected in zip(one, other, strict=True):
            assert dict(place.clusters) == pytest.approx(dict(expected.clusters), abs=1e-12)
            assert (place.margin, place.entropy) == pytest.approx((expected.margin, expected.entropy))
    for level in range(len(h) - 1):
        assert apart(stored.flow(level), h.flow(level)) < 1e-12
    found, expected = stored.between("0-0", "0-1", 4), h.between("0-0", "0-1", 4)
    assert np.allclose(found.shares, expected.shares)
    assert found.points.tolist() == expected.points.tolist()
    with pytest.raises(InputError, match="the top level"):
        stored.flow(-1)
    with pytest.raises(InputError, match="there is no point"):
        stored.point(10**6)


def test_clusters_without_a_point_in_both(tmp_path):
    h = graphsoft.hierarchy(np.repeat([[0.0], [9.0]], 20, axis=0) + np.arange(40)[:, None] / 100, [4, 2])
    for each in (h, stored_twin(h, tmp_path)):
        assert len(each.between("1-0", "1-1")) == 0
        assert str(each.between("1-0", "1-1")) == "no point has a share of both 1-0 and 1-1"


def test_tables_of_the_clusters_are_the_same(pair, tmp_path):
    h, stored, _ = pair
    found, expected = stored.to_frame("clusters"), h.to_frame("clusters")
    columns = ["id", "name", "level", "number", "parent", "probability", "size", "mass", "share", "height"]
    assert [*found.columns] == columns
    pd.testing.assert_frame_equal(found, expected[columns])
    named = {"0-0": "a name"}
    stored.to_csv(tmp_path / "clusters.csv", "clusters", names=named)
    stored.to_parquet(tmp_path / "clusters.parquet", "clusters", names=named)
    for table in (pd.read_csv(tmp_path / "clusters.csv"), pd.read_parquet(tmp_path / "clusters.parquet")):
        assert table.name[0] == "a name"
        assert table["size"].tolist() == expected["size"].tolist()
    with pytest.raises(InputError, match=r"write the points: h\.to_parquet"):
        stored.to_frame()


def test_all_that_a_hierarchy_has_is_there_or_says_what_to_do(twins):
    h, stored = twins
    for whole, on_disk, refused in ((h, stored, OF_A_SAMPLE), (h[0], stored[0], LEVEL_OF_A_SAMPLE)):
        for name in (name for name in dir(whole) if not name.startswith("_") and name != "of"):
            if name not in refused:
                getattr(on_disk, name)
                continue
            with pytest.raises(InputError, match=rf"^{name}: needs all points .* h\.(sample\(10_000\)|t)"):
                getattr(on_disk, name)
    for ask in (
        lambda: plots.flow(stored),
        lambda: graphsoft.stability(stored),
        lambda: graphsoft.propagate(stored, {0: 1}),
        lambda: graphsoft.communities(stored),
        lambda: h.compare(stored),
    ):
        with pytest.raises(InputError, match=r"h\.sample\(10_000\)"):
            ask()


def test_a_number_of_clusters_is_sought_in_a_sample(twins):
    _, stored = twins
    with pytest.raises(InputError, match=r"or of h\.sample\(10_000\) if it is on disk"):
        graphsoft.suggest_levels(stored)
    assert graphsoft.suggest_levels(stored.sample(10_000).graph).clusters >= 2


def test_dask_arrays(twins):
    h, stored = twins
    for one, other in zip(stored, h, strict=True):
        shares, labels = one.memberships.to_dask(), one.labels.to_dask()
        assert shares.chunks[0] == labels.chunks[0] == (11, 11, 11, 11, 11, 5)
        assert isinstance(shares.blocks[1].compute(), sp.csr_array)
        assert apart(shares.compute(), other.memberships) < 1e-12
        dense = shares.map_blocks(lambda block: block.toarray(), meta=np.zeros((0, 0)))
        whole = other.memberships.toarray()
        assert np.allclose(dense.sum(axis=1).compute(), 1.0)
        assert np.allclose(dense.sum(axis=0).compute(), whole.sum(axis=0))
        assert np.allclose(dense.mean(axis=0).compute(), whole.mean(axis=0))
        assert np.isclose(dense.sum().compute(), 60)
        assert (dense.argmax(axis=1).compute() == other.labels).all()
        assert np.allclose((dense @ np.arange(whole.shape[1])).compute(), whole @ np.arange(whole.shape[1]))
        assert np.allclose((dense.T @ dense).compute(), whole.T @ whole)
        assert labels.dtype == np.int32
        assert (labels[7:40].compute() == other.labels[7:40]).all()


def test_files_for_others(twins, tmp_path):
    h, stored = twins
    for one, other in zip(stored, h, strict=True):
        one.labels.to_npy(tmp_path / "labels.npy")
        assert (np.load(tmp_path / "labels.npy") == other.labels).all()
        folder = tmp_path / f"memberships-{len(other.mass)}"
        one.memberships.to_parquet(folder)
        assert len(list(folder.iterdir())) == len(one.memberships.parts)
        table = pd.read_parquet(folder)
        assert [*table.columns] == ["row", "cluster", "probability"]
        found = sp.csr_array((table.probability, (table.row, table.cluster)), shape=other.memberships.shape)
        assert apart(found, other.memberships) < 1e-12
        with pytest.raises(InputError, match="is there already"):
            one.memberships.to_parquet(folder)


def test_nothing_is_left_of_a_folder_that_could_not_be_written(twins, tmp_path, monkeypatch):
    _, stored = twins
    monkeypatch.setattr(StoredFiles, "rows", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        stored[0].memberships.to_parquet(tmp_path / "new")
    assert not list(tmp_path.iterdir())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    ids=st.lists(st.integers(0, 59), max_size=20),
    cut=st.slices(60),
    one=st.integers(-60, 59),
)
def test_any_index_means_what_it_means_in_memory(twins, ids, cut, one):
    h, stored = twins
    labels, expected = stored[0].labels, h[0].labels
    assert labels[one] == expected[one]
    assert (labels[cut] == expected[cut]).all()
    assert labels[cut].shape == expected[cut].shape
    assert labels[ids].tolist() == expected[np.array(ids, dtype=int)].tolist()
    found = stored[1].memberships[ids]
    assert found.shape == (len(ids), 3)
    assert not ids or apart(found, h[1].memberships[np.array(ids)]) < 1e-12


def test_a_mask_takes_its_rows(twins):
    h, stored = twins
    for mask in (h[0].labels == 1, np.zeros(60, dtype=bool), (h[0].labels == 2).tolist()):
        rows = np.flatnonzero(mask)
        assert stored[0].memberships[mask].shape == (len(rows), 6)
        assert not len(rows) or apart(stored[0].memberships[mask], h[0].memberships[rows]) < 1e-12
        assert stored[1].labels[mask].tolist() == h[1].labels[rows].tolist()
    for rows in (stored[0].memberships, stored[0].labels):
        with pytest.raises(InputError, match="got a mask of 59 entries, and there are 60 rows"):
            rows[np.ones(59, dtype=bool)]
        with pytest.raises(InputError, match=r"got \(1, 2\)"):
            rows[1, 2]
        for one in (True, np.True_):
            with pytest.raises(InputError, match="rows: got"):
                rows[one]


@pytest.mark.parametrize("of", ["memberships", "labels", "entropy"])
def test_chunks_are_numbered(twins, of):
    column = getattr(twins[1][0], of)
    last = column.chunk(-1)
    assert apart(last, column[55:60]) == 0
    with pytest.raises(IndexError, match="there is no chunk 9: there are 6, from 0 to 5"):
        column.chunk(9)
    for wrong in (True, "a", 1.5):
        with pytest.raises(InputError, match=rf"chunk: got {wrong!r}"):
            column.chunk(wrong)


def test_only_what_is_needed_is_read(twins, monkeypatch):
    _, stored = twins
    read = []
    read_section, read_array = ArrayFile.section, ArrayFile.array
    monkeypatch.setattr(
        ArrayFile, "section", lambda *given: read.append(found := read_section(*given)) or found
    )
    monkeypatch.setattr(ArrayFile, "array", lambda *given: read.append(found := read_array(*given)) or found)
    assert stored[0].labels[5] >= 0
    assert sum(len(each) for each in read) == 11  # one chunk
    del read[:]
    stored[0].memberships[[5]]
    names = sum(each.size for each in read)
    assert names < 80  # of 60 points; places of a chunk, and one section of the memberships of one partition


def test_dense_arrays_are_refused(twins):
    _, stored = twins
    with pytest.raises(InputError, match="to_dask"):
        np.asarray(stored[0].memberships)
    with pytest.raises(ValueError, match="without a copy"):
        np.array(stored[0].labels, copy=False)


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda h: h[2], IndexError),
        (lambda h: h[0].labels[60], IndexError),
        (lambda h: h[0].labels[[0, 60]], IndexError),
        (lambda h: h[0].labels["a"], InputError),
        (lambda h: h[0].labels[[0.5]], InputError),
        (lambda h: h[0].memberships.part(4), IndexError),
        (lambda h: h[0].memberships["a"], InputError),
        (lambda h: h[0].memberships.part("a"), InputError),
        (lambda h: h[0].memberships[[60]], IndexError),
        (lambda h: h[0].memberships[-61], IndexError),
        (lambda h: h[0].memberships[[0.5]], InputError),
        (lambda h: h.predict([[1.0]]), InputError),
        (lambda h: h.predict([[1.0, np.nan, 1.0]]), InputError),
        (lambda h: h.predict_proba([[1.0, 2.0, 3.0]], 2), InputError),
        (lambda h: h.sample(0), InputError),
        (lambda h: h.name_clusters({"7-7": "a"}), InputError),
        (lambda h: h.name_clusters(None), InputError),
        (lambda h: h.explore(texts=["a"]), InputError),
        (lambda h: h.explore(texts=5), InputError),
        (lambda h: h.save("/nowhere/at/all"), InputError),
        (lambda h: StoredHierarchy.open(5), InputError),
    ],
)
def test_questions_without_an_answer(twins, ask, error):
    with pytest.raises(error) as caught:
        ask(twins[1])
    assert str(caught.value)


def test_how_it_is_shown(twins):
    _, stored = twins
    assert repr(stored).startswith("StoredHierarchy(60 points: 6 -> 3 clusters, in '")
    assert repr(stored[0]) == "StoredLevel(60 points in 6 clusters)"
    assert repr(stored[0].memberships) == "StoredMemberships(60 points in 6 clusters, in 4 parts)"
    assert repr(stored[0].labels) == "StoredLabels(60 points in 6 clusters)"
    assert stored._repr_html_().startswith("<")


def test_linkage_by_way_of_points_where_steps_are_not_known(tmp_path):
    h = graphsoft.hierarchy(cloud(60, centers=4), [6, 3], n_neighbors=5)
    stored = stored_twin(h, tmp_path, steps=False)
    assert stored.to_linkage().shape == h.to_linkage().shape
    assert stored[0].mass.sum() == pytest.approx(h[0].mass.sum())


def test_directories_without_a_result(tmp_path):
    with pytest.raises(InputError, match=r"has no hierarchy\.gs"):
        graphsoft.load(tmp_path)
    with pytest.raises(InputError, match=r"has no hierarchy\.gs"):
        StoredHierarchy.open(Path(tmp_path, "nowhere"))
    h = graphsoft.hierarchy(cloud(20), [2], n_neighbors=3)
    h.save(tmp_path / "hierarchy.gs")
    with pytest.raises(InputError, match="holds a 'hierarchy'"):
        graphsoft.load(tmp_path)
    with pytest.raises(InputError, match="neighbors"):
        graphsoft.load(tmp_path, neighbors=object())
