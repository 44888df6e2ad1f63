"""Plots of how a hierarchy agrees with others draw the numbers that they are given."""

import networkx as nx
import numpy as np
import pytest

import graphsoft
from graphsoft import plots
from graphsoft.plots import agreement
from plots.test_plots import as_stable, new_axes, note_of, written

pytest.importorskip("matplotlib", reason="plots need matplotlib")


@pytest.fixture(scope="module")
def h():
    return graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])


def test_stability_has_a_dot_for_each_cluster(h):
    found = as_stable(h)
    ax = plots.stability(found, new_axes())
    top, finest = ax.collections
    np.testing.assert_allclose(np.asarray(finest.get_offsets())[:, 1], found.clusters[0])
    np.testing.assert_allclose(np.asarray(top.get_offsets())[:, 0], found.sizes[1])
    assert "0-0" in written(ax)


def test_compare_shows_scores_and_overlaps(h):
    other = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[9, 5, 3])
    found = h.compare(other)
    ax = plots.compare(found, ax=new_axes())
    assert written(ax) == [f"{score:.2f}" for row in found.adjusted_rand[::-1] for score in row]
    assert [patch.get_x() + 0.46 for patch in ax.patches] == pytest.approx(found.nearest[::-1])
    ax = plots.compare(found, 0, new_axes())
    overlaps = [match.overlap for match in sorted(found.matches[0], key=lambda match: -match.expected_size)]
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(overlaps)


def test_of_many_clusters_the_heaviest_are_compared(h, monkeypatch):
    monkeypatch.setattr(agreement, "MOST", 5)
    ax = plots.compare(h.compare(h), 0, new_axes())
    assert [label.get_text().split(" ")[0] for label in ax.get_yticklabels()] == [
        f"0-{cluster}" for cluster in np.argsort(-h[0].memberships.sum(axis=0), kind="stable")[:5]
    ]
    assert "of 12 clusters the 5 heaviest" in note_of(ax)
