"""Names of points and of clusters."""

import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphsoft
from graphsoft.errors import InputError
from graphsoft.input.names import checked_names, frame_index
from shared.shapes import bits, cloud

X = cloud(60)
NAMES = [f"p{row}" for row in range(60)]
FRAME = pd.DataFrame(X, columns=["a", "b", "c"], index=NAMES)


def test_texts_in_the_index_of_a_frame_are_names():
    h = graphsoft.hierarchy(FRAME, [6, 3])
    assert h.nodes == tuple(NAMES)
    assert bits(h) == bits(graphsoft.hierarchy(X, [6, 3]))
    assert graphsoft.knn_graph(FRAME).nodes == tuple(NAMES)
    assert graphsoft.cluster(FRAME, 3, "k-means").nodes == tuple(NAMES)
    assert set(h.describe()[0].exemplars) <= set(NAMES)
    assert set(h.between("0-0", "0-1").nodes) <= set(NAMES)


def test_an_index_of_numbers_or_of_repeated_texts_names_nothing():
    for index in (np.arange(60)[::-1], ["a"] * 60, [*NAMES[:59], 7]):
        assert frame_index(FRAME.set_axis(index)) is None
        assert graphsoft.hierarchy(FRAME.set_axis(index), [3]).nodes == range(60)


def test_names_may_be_given_for_points_and_for_graphs():
    other = [(name, 1) for name in NAMES]
    for data in (X, FRAME, graphsoft.knn_graph(X)):
        assert graphsoft.hierarchy(data, [3], names=other).nodes == tuple(other)
        assert graphsoft.cluster(data, 3, names=np.array(NAMES)).nodes == tuple(NAMES)


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (NAMES[:59], "got 59 names for 60 points"),
        ([*NAMES[:59], "p3"], "names points 3 and 59 both 'p3'"),
        ([*NAMES[:59], ["p3"]], "which cannot be looked up"),
        ("abc", "got 'abc'"),
        ({"a": 1}, "got {'a': 1}"),
        (5, "got 5"),
    ],
)
def test_names_that_cannot_be_are_refused(names, problem):
    with pytest.raises(InputError, match=problem) as caught:
        graphsoft.hierarchy(X, [3], names=names)
    assert caught.value.argument == "names"


@given(st.lists(st.one_of(st.text(), st.integers(), st.none(), st.tuples(st.integers())), unique=True))
def test_names_come_back_as_they_were(names):
    assert checked_names(names, len(names)) == tuple(names)


def test_known_labels_and_pairs_use_names():
    known = {"p0": "one", "p59": "two"}
    h = graphsoft.hierarchy(FRAME, [3], known=known, must_link=[("p1", "p2")])
    assert dict(h.settings.known) == known
    with pytest.raises(InputError, match="names no point"):
        graphsoft.hierarchy(FRAME, [3], must_link=[("p1", "elsewhere")])


def test_a_point_is_found_by_its_name():
    h = graphsoft.hierarchy(FRAME, [6, 3])
    found = h.point("p17")
    assert (found.name, found.row, len(found)) == ("p17", 17, 2)
    for place, level in zip(found, h, strict=True):
        row = level.memberships[[17]].toarray()[0]
        assert dict(place.clusters) == {f"{place.level}-{c}": row[c] for c in np.flatnonzero(row)}
        assert place.clusters[0][1] == row.max()
        assert place.margin == level.margin[17]
        assert place.entropy == level.entropy[17]
    assert str(found).splitlines()[0] == "p17 (row 17)"
    assert "p17" in repr(found)
    assert graphsoft.hierarchy(X, [3]).point(17).row == 17
    for wrong in ("p99", 17, None, [1], np.eye(2)):
        with pytest.raises(InputError, match="name: there is no point"):
            h.point(wrong)
    with pytest.raises(InputError, match=r"such as h\.nodes\[17\]"):
        h.point(17)


def test_whole_texts_as_names_are_cut_in_tables_only():
    texts = [f"text {row}\nof many words{' and more' * 40}" for row in range(60)]
    h = graphsoft.hierarchy(X, [6, 3], names=texts)
    for table in (h.between("1-0", "1-1"), h.describe()):
        lines = str(table).splitlines()
        assert len(lines) == len(table) + 1
        assert max(map(len, lines)) < 250
    assert set(h.describe()[0].exemplars) <= set(texts)


def test_new_points_bring_their_names():
    h = graphsoft.hierarchy(FRAME, [3])
    new = pd.DataFrame(X[:2] + 0.01, columns=["a", "b", "c"], index=["new", "newer"])
    assert h.partial_update(new).nodes == (*NAMES, "new", "newer")
    assert h.partial_update(X[:2] + 0.01).nodes == (*NAMES, 60, 61)
    assert h.partial_update(X[:1] + 0.01, names=["one"]).point("one").row == 60
    with pytest.raises(InputError, match="the same name"):
        h.partial_update(new.set_axis(["new", "p3"]))
    with pytest.raises(InputError, match="names: the points have no names"):
        graphsoft.hierarchy(X, [3]).partial_update(X[:1], names=["one"])
    assert graphsoft.hierarchy(X, [3]).partial_update(new).nodes == range(62)


def test_clusters_are_named_by_their_features():
    h = graphsoft.hierarchy(FRAME, [6, 3]).name_clusters(count=1)
    assert sorted(h.cluster_names) == sorted(
        f"{level}-{q}" for level, m in enumerate((6, 3)) for q in range(m)
    )
    for level in (0, 1):
        for id, ((name, score),) in zip(h.distinctive(level, 1).ids, h.distinctive(level, 1), strict=True):
            assert h.cluster_names[id] == f"{'high' if score > 0 else 'low'} {name}"


def test_clusters_keep_the_names_that_the_caller_gives(tmp_path):
    h = graphsoft.hierarchy(nx.les_miserables_graph(), [12, 4])
    assert h.cluster_names == {}
    named = h.name_clusters({"1-0": "revolt"}).name_clusters({"0-3": "court", "1-0": "revolt!"})
    assert named.cluster_names == {"1-0": "revolt!", "0-3": "court"}
    assert h.cluster_names == {}
    assert "1-0 revolt!" in str(named.describe())
    assert named.describe()[0].name == "revolt!"
    assert "1-0 (39) revolt!" in str(named.tree)
    assert json.loads(named.to_json())["children"][0]["name"] == "revolt!"
    assert "1-0 revolt!" in str(named.point("Enjolras"))
    named.save(tmp_path / "model.graphsoft")
    assert graphsoft.load(tmp_path / "model.graphsoft").cluster_names == named.cluster_names
    row = h.graph.adjacency[[0]].tolil()
    assert named.partial_update(row.tocsr(), names=["new"]).cluster_names == named.cluster_names


def test_none_takes_a_name_away():
    h = graphsoft.hierarchy(nx.les_miserables_graph(), [12, 4]).name_clusters({"1-0": "a", "1-1": "b"})
    assert h.name_clusters({"1-0": None, "1-2": None, "1-3": "c"}).cluster_names == {"1-1": "b", "1-3": "c"}


@pytest.mark.parametrize("names", [{"2-0": "x"}, {"1-4": "x"}, {0: "x"}, {"1-0": ""}, {"1-0": 5}, ["x"], "x"])
def test_names_of_clusters_that_cannot_be_are_refused(names):
    h = graphsoft.hierarchy(nx.les_miserables_graph(), [12, 4])
    with pytest.raises(InputError, match="names: "):
        h.name_clusters(names)


def test_a_graph_has_no_features_to_name_clusters_by():
    with pytest.raises(InputError, match="X: is not there"):
        graphsoft.hierarchy(nx.les_miserables_graph(), [4]).name_clusters()


def test_what_is_said_by_names_goes_to_the_rows_of_these():
    G = nx.les_miserables_graph()
    h = graphsoft.hierarchy(G, [6])
    places = nx.circular_layout(G)
    listed = [places[name] for name in h.nodes]
    kinds = {name: len(name) for name in sorted(h.nodes)}
    rows = [kinds[name] for name in h.nodes]
    page = h.explore(labels=rows, coordinates=listed, texts=list(map(str, rows))).html
    texts = {name: str(kind) for name, kind in kinds.items()}
    assert h.explore(labels=kinds, coordinates=places, texts=texts).html == page
    series, frame = pd.Series(kinds), pd.DataFrame(places).T.sort_index()
    assert h.explore(labels=series, coordinates=frame, texts=pd.Series(texts)).html == page
    for one, other in zip(h.circles(places), h.circles(listed), strict=True):
        assert (one.centers == other.centers).all()
    one, other = h.compare(kinds), h.compare(rows)
    assert one.matches == other.matches
    shares = pd.DataFrame(h[0].memberships.toarray(), index=h.nodes)
    assert h.compare(shares.sort_index()).adjusted_rand[0, 0] == 1.0
    del kinds["Javert"], places["Valjean"]
    with pytest.raises(InputError, match=r"labels: has nothing for 'Javert'.*by its name"):
        h.explore(labels=kinds)
    with pytest.raises(InputError, match="coordinates: has nothing for 'Valjean'"):
        h.circles(places)


def test_tables_have_the_names_of_clusters():
    h = graphsoft.hierarchy(X, [6, 3])
    assert not [title for title in h.to_frame() if title.startswith("name")]
    names = {"1-0": "one", "1-1": "two", "1-2": "three"}
    frame = h.name_clusters(names).to_frame()
    assert "name_0" not in frame
    assert frame["name_1"].tolist() == [names[f"1-{label}"] for label in h[1].labels]
    pd.testing.assert_frame_equal(h.to_frame(names=names), frame)
    assert h.to_networkx("points", names=names).nodes[0]["name_1"] == frame["name_1"][0]


def test_graphs_of_points_have_the_names_of_clusters_or_refuse_them(tmp_path):
    h = graphsoft.hierarchy(X, [3])
    for write, read in ((h.to_graphml, nx.read_graphml), (h.to_gexf, nx.read_gexf)):
        write(tmp_path / "points", "points", names={"0-0": "a & <b>"})
        assert {read(tmp_path / "points").nodes[str(row)]["name_0"] for row in range(60)} == {
            "a & <b>", "0-1", "0-2",
        }  # fmt: skip
        with pytest.raises(InputError, match=r"names: .*XML cannot hold"):
            write(tmp_path / "unfit", "points", names={"0-0": "a\0b"})
        assert not (tmp_path / "unfit").exists()
