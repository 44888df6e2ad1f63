"""One clustering by a method of the caller's own, which may give back anything."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import graphsoft
from graphsoft.errors import InputError
from graphsoft.methods import Clustering
from shared.shapes import graph_of, ring_of_cliques


class Gives:
    """A method that gives back memberships that it was made with, or any other object."""

    def __init__(self, found, looks_at=frozenset({"graph"})):
        self.found = found
        self.looks_at = looks_at

    def reads(self, points, featured):
        return self.looks_at

    def cluster(self, sample, count, random, progress=None):
        return Clustering(self.found, (), "made by hand") if sp.issparse(self.found) else self.found


def by_turns(points=20, count=2):
    """Sound memberships: each point in one cluster."""
    parts = np.ones(points), np.arange(points) % count, np.arange(points + 1)
    return sp.csr_array(parts, shape=(points, count))


def refused(words, method):
    """Both functions that take a method refuse it."""
    with pytest.raises(InputError, match=f"^method: .*{words}.*Remedy: "):
        graphsoft.cluster(graph_of(ring_of_cliques()), 2, method=method)
    with pytest.raises(InputError, match=f"^method: .*{words}.*Remedy: "):
        graphsoft.hierarchy(graph_of(ring_of_cliques()), [2], method=method)


@pytest.mark.parametrize(
    ("memberships", "words"),
    [
        (sp.csr_array(np.ones((20, 1))), r"shape \(20, 1\) where \(20, 2\) is needed"),
        (sp.csr_array(np.ones((20, 2))), "row 0 sums to 2"),
        (sp.csr_array(np.tile([1.5, -0.5], (20, 1))), "a membership of -0.5"),
        (sp.csr_array(np.tile([np.nan, 0.5], (20, 1))), "row 0 sums to nan"),
    ],
)
def test_what_a_method_must_give_back_is_in_the_remedy(memberships, words):
    with pytest.raises(InputError, match=f"method: has .*{words}.*Remedy: return a row for each point"):
        graphsoft.cluster(graph_of(ring_of_cliques()), 2, method=Gives(memberships))


def test_a_cluster_may_stay_empty():
    memberships = sp.csr_array(np.tile([1.0, 0.0], (20, 1)))
    found = graphsoft.cluster(graph_of(ring_of_cliques()), 2, method=Gives(memberships))
    assert found.memberships.shape == (20, 2)
    assert (found.labels == 0).all()
    assert found.status == "made by hand; 1 of 2 clusters are the likeliest of no point"
    h = graphsoft.hierarchy(graph_of(ring_of_cliques()), [2], method=Gives(memberships))
    assert h.report.levels[0].status == found.status


@pytest.mark.parametrize("part", ["indices", "indptr"])
@pytest.mark.parametrize("number", [2**30, -7])
def test_indices_outside_the_memberships_are_refused(part, number):
    memberships = by_turns()
    getattr(memberships, part)[3] = number
    refused("malformed", Gives(memberships))


@pytest.mark.parametrize("found", [None, np.arange(20) % 2, by_turns().toarray(), "relation"])
def test_what_is_no_clustering_is_refused(found):
    refused("gave .* back", Gives(found))


@pytest.mark.parametrize("kind", [sp.csc_array, sp.csr_matrix, sp.coo_array, sp.lil_array, np.asarray])
def test_memberships_of_another_kind_are_refused(kind):
    values = by_turns()
    memberships = values.toarray() if kind is np.asarray else kind(values)
    refused("gave memberships back as ", Gives(Clustering(memberships, (), "made by hand")))


@pytest.mark.parametrize(
    ("field", "value"), [("status", None), ("trace", ("a",)), ("trace", None), ("sweeps", "many")]
)
def test_fields_that_could_not_be_saved_are_refused(field, value):
    found = Clustering(by_turns(), **{"trace": (), "status": "made by hand", field: value})
    refused(f"back as {field}", Gives(found))


@pytest.mark.parametrize("looks_at", [None, 7, "graph", frozenset(), {"graph", "edges"}, [["graph"]]])
def test_what_a_method_looks_at_is_checked(looks_at):
    refused("Gives.reads gave", Gives(by_turns(), looks_at))


def test_a_method_that_changes_the_graph_it_is_shown_ends_no_process():
    class Spoils(Gives):
        def cluster(self, sample, count, random, progress=None):
            sample.graph.adjacency.indices = np.full_like(sample.graph.adjacency.indices, 2**30)
            return super().cluster(sample, count, random)

    refused("malformed", Spoils(by_turns()))


@given(
    rows=st.integers(0, 30), columns=st.integers(0, 4), values=st.lists(st.floats(width=64), max_size=40),
    indices=st.lists(st.integers(-(2**31), 2**31 - 1), max_size=40),
    pointers=st.lists(st.integers(-(2**31), 2**31 - 1), max_size=32),
)  # fmt: skip
def test_any_arrays_as_memberships_are_refused(rows, columns, values, indices, pointers):
    memberships = by_turns()
    memberships._shape = (rows, columns)
    memberships.data = np.array(values)
    memberships.indices, memberships.indptr = (
        np.array(indices, dtype=np.int32),
        np.array(pointers, dtype=np.int32),
    )
    refused("", Gives(memberships))
