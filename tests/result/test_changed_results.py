"""Results that a user copied, pickled, changed or made by hand: no public function crashes on them."""

import contextlib
import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import graphsoft
from graphsoft import Clustering, InputError
from graphsoft.graph.features import Features
from graphsoft.result.walks import EquivalentAdjacency
from shared.awkward import LEVELS, A, X, same_partition
from shared.shapes import bits

FAR = 2**30  # further away than any row, so that a loop that follows it reads foreign memory
TABLE = sp.csr_array(np.abs(X) * (np.abs(X) > 1))
NEW = {"points": X[:4] + 0.1, "graph": A[:4], "texts": TABLE[:4] * 2}


@pytest.fixture(scope="module")
def found():
    return {
        "points": graphsoft.hierarchy(X, LEVELS),
        "graph": graphsoft.hierarchy(A, LEVELS),
        "texts": graphsoft.hierarchy(TABLE, LEVELS, metric="cosine", affinity="features"),
    }


def questions(h, kind):
    """Everything that a hierarchy can be asked, by name."""
    new = NEW[kind]
    asked = {
        "tree": lambda: h.tree,
        "json": h.to_json,
        "between": lambda: h.between("0-0", "0-1"),
        "flow": lambda: h.flow(0),
        "describe": lambda: h.describe(0),
        "compare": lambda: h.compare(h),
        "predict_proba": lambda: h.predict_proba(new, 0),
        "transform": lambda: h.transform(new),
        "partial_update": lambda: h.partial_update(new),
        "stability": lambda: graphsoft.stability(h, 1),
        "propagate": lambda: graphsoft.propagate(h, {0: 1, 40: 2}, level=0, steps=2),
        "labels": lambda: h[0].labels,
        "entropy": lambda: h[0].entropy,
        "margin": lambda: h[0].margin,
        "walk": lambda: h[0].equivalent_adjacency,
    }
    if h.features is not None:
        asked["distinctive"] = lambda: h.distinctive(0)
    return asked


def refused_by(h, kind, names):
    asked = questions(h, kind)
    for name in names:
        with pytest.raises(InputError):
            asked[name]()


def write(array, place, value):
    array.flags.writeable = True
    array[place] = value


@pytest.mark.parametrize("kind", NEW)
def test_copies_answer_alike(found, kind):
    h = found[kind]
    expected = h.predict_proba(NEW[kind], 0).toarray()
    for twin in (copy.deepcopy(h), pickle.loads(pickle.dumps(h))):  # noqa: S301
        assert set(vars(twin)) == {"levels", "graph", "report", "settings", "features", "cluster_names"}
        assert not {"labels", "entropy"} & set(vars(twin[0]))
        assert bits(twin) == bits(h)
        np.testing.assert_array_equal(twin.predict_proba(NEW[kind], 0).toarray(), expected)


@pytest.mark.parametrize("asked_before", [False, True])
@pytest.mark.parametrize("value", [FAR, -1])
@pytest.mark.parametrize("part", ["indices", "indptr"])
@pytest.mark.parametrize("kind", NEW)
def test_changed_memberships_are_refused(found, kind, part, value, asked_before):
    h = copy.deepcopy(found[kind])
    if asked_before:
        walk = h[0].equivalent_adjacency
        h.predict_proba(NEW[kind], 0)
    write(getattr(h[0].memberships, part), 5, value)
    asked = set(questions(h, kind))
    refused_by(h, kind, asked - {"walk"} if asked_before else asked)
    if asked_before:
        with pytest.raises(InputError):
            walk.clusters.degrees.sum()


@pytest.mark.parametrize("value", [np.nan, -1.0, 7.0])
def test_memberships_that_are_none_are_refused(found, value):
    h = copy.deepcopy(found["points"])
    write(h[0].memberships.data, 5, value)
    refused_by(h, "points", questions(h, "points"))


def test_memberships_with_a_cluster_twice_are_refused(found):
    h = copy.deepcopy(found["points"])
    shares = h[0].memberships
    row = int(np.argmax(np.diff(shares.indptr) > 1))
    write(shares.indices, shares.indptr[row] + 1, shares.indices[shares.indptr[row]])
    refused_by(h, "points", questions(h, "points"))


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble])
def test_memberships_of_other_floats_are_refused(found, dtype):
    if np.dtype(dtype) == np.float64:
        pytest.skip("longdouble is float64 by another name")
    h = copy.deepcopy(found["points"])
    h[0].memberships.data = h[0].memberships.data.astype(dtype)
    refused_by(h, "points", questions(h, "points"))


def test_stored_zeros_and_unsorted_columns_change_nothing(found):
    level = found["points"][0]
    dense = level.memberships.toarray()[:, ::-1]
    columns = np.tile(np.arange(dense.shape[1])[::-1], len(dense))
    full = sp.csr_array((dense.ravel(), columns, np.arange(0, dense.size + 1, dense.shape[1])))
    other = replace(level, memberships=full)
    assert (other.labels == level.labels).all()
    np.testing.assert_allclose(other.entropy, level.entropy, atol=1e-15)
    np.testing.assert_allclose(other.margin, level.margin, atol=1e-15)


def test_changed_parents_are_refused(found):
    h = copy.deepcopy(found["points"])
    write(h[0].parents.indices, 1, FAR)
    refused_by(h, "points", ["tree", "json", "between", "flow", "partial_update", "stability"])


@pytest.mark.parametrize("asked_before", [False, True])
@pytest.mark.parametrize("kind", NEW)
def test_a_changed_graph_is_refused(found, kind, asked_before):
    h = copy.deepcopy(found[kind])
    if asked_before:
        h.predict_proba(NEW[kind], 0)
    write(h.graph.adjacency.indices, 5, FAR)
    refused_by(h, kind, ["describe", "partial_update", "stability", "propagate"])
    if not asked_before or kind == "graph":
        refused_by(h, kind, ["predict_proba", "transform"])


@pytest.mark.parametrize("asked_before", [False, True])
def test_changed_sparse_features_are_refused(found, asked_before):
    h = copy.deepcopy(found["texts"])
    if asked_before:
        h.predict_proba(NEW["texts"], 0)
    write(h.features.values.indices, 5, FAR)
    refused_by(h, "texts", ["distinctive", "describe", "partial_update"])
    if not asked_before:  # else new points meet a copy that was made then, without duplicates
        refused_by(h, "texts", ["predict_proba", "transform"])


@pytest.mark.parametrize("asked_before", [False, True])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("kind", ["points", "texts"])
def test_features_that_are_no_longer_finite_are_refused(found, kind, value, asked_before):
    h = copy.deepcopy(found[kind])
    if asked_before:
        h.predict_proba(NEW[kind], 0)
    values = h.features.values
    write(values if kind == "points" else values.data, 5, value)
    refused_by(h, kind, ["distinctive", "describe", "partial_update"])
    if not asked_before:
        refused_by(h, kind, ["predict_proba", "transform"])


def test_the_callers_own_table_can_change():
    table, points = TABLE.copy(), X.copy()
    for given_table in (table, points):
        h = graphsoft.hierarchy(given_table, LEVELS, affinity="features")
        h.predict_proba(given_table[:4] * 1.01)
        if sp.issparse(given_table):
            given_table.indices[5] = FAR
            refused_by(h, "texts", ["distinctive", "partial_update"])
        else:
            given_table[5] = np.nan
            assert h.predict_proba(X[:4] * 1.01).shape == (4, LEVELS[-1])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("memberships", sp.csr_array((60, 5))),
        ("memberships", sp.csr_array(np.eye(3))),
        ("memberships", np.eye(60, 5)),
        ("memberships", None),
        ("parents", None),
        ("parents", sp.csr_array(np.eye(3))),
        ("mass", np.ones(3)),
        ("mass", np.full(5, np.nan)),
        ("degrees", np.ones(3)),
        ("degrees", None),
    ],
)
def test_levels_made_by_hand(found, field, value):
    h = found["points"]
    odd = replace(h, levels=(replace(h[0], **{field: value}), h[1]))
    refused_by(odd, "points", ["tree", "partial_update", "stability"])


def test_hierarchies_made_by_hand(found):
    h = found["points"]
    small = graphsoft.hierarchy(X[:20], [3])
    for odd in (
        replace(h, levels=()),
        replace(h, levels=h.levels[::-1]),
        replace(h, levels=h.levels[:1]),
        replace(h, graph=small.graph),
        replace(h, graph=None),
        replace(h, features=small.features),
        replace(h, features=X),
        replace(h, features=replace(h.features, metric="none")),
        replace(h, features=replace(h.features, values=X[:, 0])),
        replace(h, features=replace(h.features, values=None)),
        replace(h, features=replace(h.features, fitted=FAR)),
    ):
        refused_by(odd, "points", ["partial_update"])
    for name, value in (("n_neighbors", -1), ("weights", "none")):
        odd = copy.deepcopy(h)
        object.__setattr__(odd.settings, name, value)
        refused_by(odd, "points", ["partial_update", "predict_proba"])


def test_levels_that_compute_their_fields_are_refused(found):
    class Lazy(type(found["points"][0])):
        @property
        def degrees(self):
            return np.ones(1)

    h = found["points"]
    lazy = object.__new__(Lazy)
    vars(lazy).update(vars(h[0]))
    refused_by(replace(h, levels=(lazy, h[1])), "points", ["tree", "stability", "propagate"])


def test_clusterings_made_by_hand(found):
    bad = sp.csr_array(np.eye(60, 5) + np.eye(60, 5)[:, ::-1])
    bad.indices[0] = FAR
    clustering = Clustering(bad, (), "made by hand")
    for action in (
        lambda: clustering.labels,
        lambda: clustering.entropy,
        lambda: found["points"].compare(clustering),
        lambda: graphsoft.metrics.accuracy(clustering, clustering),
        lambda: EquivalentAdjacency(bad, np.ones(60)),
    ):
        with pytest.raises(InputError):
            action()


def test_a_method_of_ones_own_is_checked():
    class Careless:
        def reads(self, points, featured):
            return frozenset({"graph"})

        def cluster(self, sample, count, random, progress=None):
            shares = sp.csr_array(np.repeat(np.eye(1, count), len(sample), axis=0))
            shares.indices[3] = FAR
            return Clustering(shares, (), "careless")

    for call in (graphsoft.cluster, lambda X, k, method: graphsoft.hierarchy(X, [k, 2], method=method)):
        with pytest.raises(InputError, match=r"^method: "):
            call(X, 5, method=Careless())


def test_samples_made_by_hand():
    graph = copy.deepcopy(graphsoft.as_graph(A))
    write(graph.adjacency.indices, 5, FAR)
    features = Features(TABLE.copy(), "cosine")
    write(features.values.indices, 5, FAR)
    for parts in ((graph, None), (None, features), (graphsoft.as_graph(A), Features(X[:7]))):
        with pytest.raises(InputError, match=r"^sample: "):
            graphsoft.methods.Sample(*parts)


def test_operators_of_walks():
    matrix = A.copy()
    walk = graphsoft.multistep(matrix, 3)
    twin = pickle.loads(pickle.dumps(walk))  # noqa: S301
    np.testing.assert_array_equal(twin @ np.ones(60), walk @ np.ones(60))
    level_walk = graphsoft.hierarchy(A, [5])[0].equivalent_adjacency
    twin = copy.deepcopy(level_walk)
    np.testing.assert_array_equal(twin.row(3), level_walk.row(3))
    matrix.indices[5] = FAR
    for action in (lambda: walk @ np.ones(60), lambda: walk.row(0), lambda: walk.sparse_rows([0])):
        with pytest.raises(InputError, match=r"^adjacency: is a malformed sparse matrix"):
            action()
    level_walk.shape = (5, 5)
    with pytest.raises(ValueError, match="60 columns cannot be multiplied with 5 rows"):
        level_walk @ np.ones(5)


@pytest.mark.parametrize("steps", [3, 3000])
def test_walks_on_a_graph_that_changed_are_refused(steps):
    for change in (1.5, -1.0, np.nan):
        matrix = A.copy()
        walk = graphsoft.multistep(matrix, steps)
        matrix.data *= change
        asymmetric = A.copy()
        other = graphsoft.multistep(asymmetric, steps)
        asymmetric.indices[0] = asymmetric.indices[1]
        for changed in (walk, other):
            for action in (
                lambda walk: walk @ np.ones(60),
                lambda walk: walk.row(0),
                lambda walk: walk.sparse_rows([0]),
            ):
                with pytest.raises(InputError, match=r"^adjacency: has changed .* make the walk again"):
                    action(changed)
    walk.adjacency = A[:10][:, :10].tocsr()
    with pytest.raises(InputError, match=r"^adjacency: has changed"):
        walk.row(0)


def test_names_that_do_not_fit_are_refused(found):
    h = copy.deepcopy(found["graph"])
    object.__setattr__(h.graph, "nodes", ["a", "b"])
    refused_by(h, "graph", ["between", "describe", "partial_update", "stability"])
    odd = graphsoft.Graph(A, [[row] for row in range(60)])
    with pytest.raises(InputError, match=r"^X: has a name that cannot be hashed"):
        graphsoft.hierarchy(odd, LEVELS)


@pytest.mark.parametrize("seed", range(60))
def test_pickles_with_a_flipped_bit(found, seed):
    rng = np.random.default_rng(seed)
    raw = bytearray(pickle.dumps(found["points"]))
    raw[int(rng.integers(len(raw)))] ^= 1 << int(rng.integers(8))
    try:
        h = pickle.loads(bytes(raw))  # noqa: S301
        asked = questions(h, "points")
    except Exception:  # whatever pickle, NumPy, SciPy or a constructor finds wrong
        return
    for action in asked.values():
        with contextlib.suppress(Exception):  # of any kind: what counts is that the process goes on
            action()


def test_changed_weights_are_used_as_they_are_now():
    matrix = A.copy()
    h = graphsoft.hierarchy(matrix, LEVELS)
    before = h.describe()[0].mass
    matrix.data *= 2
    assert h.describe()[0].mass == 2 * before
    assert same_partition(graphsoft.hierarchy(h.graph, LEVELS)[-1].labels, h[-1].labels)
