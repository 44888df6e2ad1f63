"""One clustering by a method of the caller's own, which may give back anything."""

import numpy as np
import pytest
import scipy.sparse as sp

import graphsoft
from graphsoft.errors import InputError
from graphsoft.methods import Clustering
from shared.shapes import graph_of, ring_of_cliques


class Gives:
    """A method that gives back what it was made with."""

    def __init__(self, memberships):
        self.memberships = memberships

    def reads(self, points, featured):
        return frozenset({"graph"})

    def cluster(self, sample, count, random, progress=None):
        return Clustering(self.memberships, (), "made by hand")


@pytest.mark.parametrize(
    ("memberships", "words"),
    [
        (sp.csr_array(np.ones((20, 1))), r"shape \(20, 1\) where \(20, 2\) is needed"),
        (sp.csr_array(np.ones((20, 2))), "row 0 sums to 2"),
        (sp.csr_array(np.tile([1.5, -0.5], (20, 1))), "a membership of -0.5"),
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
