"""What tests of reading and checking input share."""

import hashlib

import numpy as np
import pytest
import scipy.sparse as sp

from graphsoft.errors import InputError
from graphsoft.graph.reading import as_graph

FORMATS = ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"]


def weighted(n=12, seed=0, density=0.4):
    """A symmetric matrix of whole weights, as a dense float array with an empty diagonal."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.integers(1, 200, size=(n, n)) * (rng.random((n, n)) < density), 1)
    return (upper + upper.T).astype(float)


def digest(graph):
    matrix = graph.adjacency
    parts = (matrix.data, matrix.indices, matrix.indptr)
    return hashlib.sha256(b"".join(part.tobytes() + str(part.dtype).encode() for part in parts)).hexdigest()


def check_canonical(graph):
    matrix = graph.adjacency
    assert isinstance(matrix, sp.csr_array)
    assert matrix.dtype == np.float64
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
    assert not any(part.flags.writeable for part in (matrix.data, matrix.indices, matrix.indptr))
    assert (matrix.data > 0).all()
    assert np.isfinite(matrix.data).all()
    again = sp.csr_array((matrix.data.copy(), matrix.indices.copy(), matrix.indptr.copy()), matrix.shape)
    assert again.has_canonical_format
    turned = matrix.T.tocsr()
    assert np.array_equal(turned.indices, matrix.indices)
    assert np.array_equal(turned.data, matrix.data)
    assert len(graph.nodes) == len(graph) == matrix.shape[0]


def raises(words, data, **options):
    with pytest.raises(InputError, match=words) as caught:
        as_graph(data, **options)
    assert isinstance(caught.value, ValueError)
    assert "Remedy: " in str(caught.value)
