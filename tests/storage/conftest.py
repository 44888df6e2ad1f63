"""Models that several tests of saving share."""

import tracemalloc
import warnings

import numpy as np
import pytest

import graphsoft
from shared.hostile import MEMORY
from shared.models import MODELS
from shared.saved import members_of


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", graphsoft.GraphsoftWarning)
        yield


@pytest.fixture(scope="session")
def made():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", graphsoft.GraphsoftWarning)
        return {name: make() for name, make in MODELS.items()}


@pytest.fixture(scope="session")
def members(tmp_path_factory):
    """The members of the file of a small model."""
    path = tmp_path_factory.mktemp("models") / "model"
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [9.0], [9.0], [9.1]])
    h = graphsoft.hierarchy(X, levels=[3, 2], n_neighbors=2, known={0: "a", 3: "b"})
    h.save(path)
    graphsoft.load(path)
    return members_of(path)


@pytest.fixture
def little_memory():
    """Fail where a test takes much memory."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MEMORY
