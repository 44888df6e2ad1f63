"""Features that set clusters apart, against their definitions, in sparse and in dense tables."""

import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import graphsoft
from graphsoft.errors import InputError
from graphsoft.result.distinctive import distinctive
from graphsoft.result.feature_scores import MEANINGS, statistic_for
from naive import description as naive
from shared.shapes import cloud
from shared.strategies import memberships

WORD_SCORES = {"rates": naive.rate_ratio, "c-tf-idf": naive.class_tf_idf}


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def in_every_form(X):
    return X, X.astype(np.float32), sp.csr_array(X), sp.csr_array(X.astype(np.float32))


@st.composite
def tables(draw, min_size=-3):
    """A table, and memberships of its rows."""
    n, d, m = draw(st.integers(1, 8)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    value = st.integers(min_size, 5).map(float)
    X = np.array([[draw(value) for _ in range(d)] for _ in range(n)])
    return X, draw(memberships(n, m))


@given(tables())
def test_columns_are_scored_by_differences_of_means(case):
    X, S = case
    names = [f"x{column}" for column in range(X.shape[1])]
    for values in in_every_form(X):
        scores, used = distinctive(values, sp.csr_array(S), 9, names, "difference")
        assert used == "difference"
        for q, found in enumerate(scores):
            expected = {name: naive.mean_difference(X[:, at], S[:, q]) for at, name in enumerate(names)}
            assert {name for name, value in expected.items() if abs(value) > 1e-6} <= {n for n, _ in found}
            for name, score in found:
                np.testing.assert_allclose(score, expected[name], rtol=1e-6, atol=1e-6)
            sizes = [abs(score) for _, score in found]
            assert sizes == sorted(sizes, reverse=True)


@given(tables(min_size=0), st.sampled_from([1.0, 0.25, 1e300, 1e-300]), st.sampled_from([*WORD_SCORES]))
def test_words_are_scored_by_the_formulas(case, unit, statistic):
    X, S = case
    score = WORD_SCORES[statistic]
    for values in (X * unit, sp.csr_array(X * unit)):
        scores, used = distinctive(values, sp.csr_array(S), 9, range(X.shape[1]), statistic)
        assert used == statistic
        for q, found in enumerate(scores):
            words = [word for word in range(X.shape[1]) if S[:, q] @ X[:, word] > 0]
            expected = {word: score(X, S, q, word) for word in words}
            assert {word for word, value in expected.items() if value > 1e-8} == {word for word, _ in found}
            close([score for _, score in found], [expected[word] for word, _ in found])


@given(tables(), st.integers(1, 4))
def test_the_best_features_are_the_first_of_all(case, count):
    X, S = case
    everything, _ = distinctive(X, sp.csr_array(S), X.shape[1], range(X.shape[1]), "difference")
    some, _ = distinctive(X, sp.csr_array(S), count, range(X.shape[1]), "difference")
    assert some == tuple(each[:count] for each in everything)


@given(tables())
def test_what_a_table_holds_decides_and_not_how_it_is_stored(case):
    X, _ = case
    words = (X >= 0).all() and 2 * np.count_nonzero(X) < X.size
    for values in in_every_form(X):
        assert statistic_for(values, "auto") == ("rates" if words else "difference")
        if (X < 0).any():
            for statistic in WORD_SCORES:
                with pytest.raises(InputError, match=r"but X has negative entries.*use 'difference'"):
                    statistic_for(values, statistic)


def test_entries_that_are_stored_as_0_are_0():
    stored = sp.csr_array((np.array([3.0, 0.0, 0.0, 1.0]), np.array([0, 1, 0, 1]), np.array([0, 2, 4])))
    S = sp.csr_array(np.eye(2))
    for statistic in MEANINGS:
        found, _ = distinctive(stored, S, 9, "ab", statistic)
        assert found == distinctive(sp.csr_array(stored.toarray()), S, 9, "ab", statistic)[0]


@pytest.mark.parametrize("statistic", MEANINGS)
def test_a_table_without_any_entry_sets_nothing_apart(statistic):
    for values in in_every_form(np.zeros((4, 3))):
        assert distinctive(values, sp.csr_array(np.eye(4)), 9, "abc", statistic)[0] == ((),) * 4


def test_scores_do_not_depend_on_the_unit_however_extreme():
    X = cloud(60, d=2)
    S = sp.csr_array(np.eye(5)[np.arange(60) // 12])
    once, _ = distinctive(X, S, 2, "ab", "difference")
    for unit in (1e-290, 1e290):
        again, _ = distinctive(X * unit, S, 2, "ab", "difference")
        for one, other in zip(once, again, strict=True):
            assert [name for name, _ in one] == [name for name, _ in other]
            close([score for _, score in one], [score for _, score in other])


@pytest.mark.parametrize("statistic", MEANINGS)
def test_a_table_read_in_blocks_gives_the_same_scores(monkeypatch, statistic):
    X, S = np.abs(cloud(200, d=4)), sp.csr_array(np.eye(5)[np.arange(200) // 40])
    whole, _ = distinctive(X, S, 4, range(4), statistic)
    monkeypatch.setattr("graphsoft.result.feature_scores.NUMBERS_AT_ONCE", 28)
    parts, _ = distinctive(X, S, 4, range(4), statistic)
    for one, other in zip(whole, parts, strict=True):
        assert [name for name, _ in one] == [name for name, _ in other]
        close([score for _, score in one], [score for _, score in other])


def test_words_may_come_from_another_table_of_the_same_points():
    h = graphsoft.hierarchy(cloud(40, centers=2), levels=[2])
    words = sp.csr_array(np.array([[3, 0, 1], [0, 2, 1]])[h[0].labels])
    found = h.distinctive(X=words, feature_names=np.array(["bat", "puck", "the"]), count=1)
    assert {each[0][0] for each in found} == {"bat", "puck"}
    assert found.ids == ("0-0", "0-1")
    assert "bat +" in str(found)
    assert repr(found).startswith("Distinctive(2 clusters")
    frame = pd.DataFrame(h.features.values, columns=list("xyz"))
    assert {name for name, _ in h.distinctive(feature_names=frame.columns)[0]} <= set("xyz")


def test_the_caller_chooses_the_statistic():
    h = graphsoft.hierarchy(cloud(40, centers=2), levels=[2])
    words = np.array([[3, 0, 0, 1], [0, 2, 0, 1]])[h[0].labels]
    names = ["bat", "puck", "never", "the"]
    found = {how: h.distinctive(X=words, feature_names=names, statistic=how) for how in ("auto", *MEANINGS)}
    assert found["auto"].statistic == "difference"
    for statistic in WORD_SCORES:
        assert {scores[0][0] for scores in found[statistic]} == {"bat", "puck"}
        assert all(name != "never" for scores in found[statistic] for name, _ in scores)
    assert "bat 0." in str(found["c-tf-idf"])
    assert "c-TF-IDF" in repr(found["c-tf-idf"])
    named = h.name_clusters(X=words, feature_names=names, count=1, statistic="rates")
    assert set(named.cluster_names.values()) == {"bat", "puck"}
    for wrong in ("tf-idf", None, 3):
        with pytest.raises(InputError, match="statistic: got"):
            h.distinctive(X=words, statistic=wrong)


def test_distinctive_features_as_a_data_frame(monkeypatch):
    found = graphsoft.hierarchy(cloud(40), levels=[4]).distinctive(count=2, feature_names=["x", "y", "z"])
    frame = found.to_frame()
    assert list(frame.columns) == ["cluster", "rank", "feature", "score"]
    for id, scores in zip(found.ids, found, strict=True):
        own = frame[frame["cluster"] == id]
        assert list(zip(own["feature"], own["score"], strict=True)) == list(scores)
        assert own["rank"].tolist() == list(range(len(scores)))
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"to_frame needs pandas: pip install"):
        found.to_frame()
