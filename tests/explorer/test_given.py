"""What the caller says of points goes to those points, or is refused."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import graphsoft
from graphsoft.errors import InputError
from graphsoft.explorer.images import png
from graphsoft.explorer.packing import unpacked

POINTS = np.random.default_rng(0).normal(size=(12, 3))
NAMES = [f"p{row}" for row in range(12)]
PICTURE = png(np.zeros((1, 1, 1), dtype=np.uint8))


@pytest.fixture(scope="module")
def h():
    return graphsoft.hierarchy(pd.DataFrame(POINTS, index=NAMES, columns=[*"abc"]), [4, 2], n_neighbors=3)


def read(h, *members, **given):
    found = h.explore(**given).content.members
    return tuple(unpacked(found, name) for name in members)


@pytest.mark.parametrize("make", [dict, pd.Series])
@pytest.mark.parametrize("argument", ["names", "texts", "labels"])
def test_what_has_names_is_read_by_them(h, argument, make):
    values = make({name: f"of {name}" for name in reversed(NAMES)})
    (found,) = read(h, argument, **{argument: values})
    if argument == "labels":
        (numbers,) = read(h, "label", labels=values)
        found = [found[number] for number in numbers]
    assert found == [f"of {name}" for name in NAMES]


def test_pictures_and_coordinates_with_names_are_read_by_them(h):
    pictures = pd.Series([PICTURE] + [b""] * 11, index=NAMES[::-1])
    (sizes,) = read(h, "image_size", images=pictures)
    assert sizes.tolist() == [0] * 11 + [len(PICTURE)]
    places = pd.DataFrame(POINTS[:, :2], index=NAMES)
    given, turned = (read(h, "x", coordinates=each)[0].tolist() for each in (places, places.iloc[::-1]))
    assert given == turned


@pytest.mark.parametrize("argument", ["names", "texts", "labels", "images"])
def test_names_of_other_points_are_refused(h, argument):
    with pytest.raises(InputError, match=f"^{argument}: has rows of other points"):
        h.explore(**{argument: pd.Series("x", index=[*NAMES[1:], "other"])})
    with pytest.raises(InputError, match=f"^{argument}: has nothing for 'p11'"):
        h.explore(**{argument: dict.fromkeys(NAMES[:-1], "x")})


def test_labels_of_nodes_are_read_as_networkx_has_them():
    club = nx.karate_club_graph()
    labels, numbers = read(
        graphsoft.hierarchy(club, [4, 2]), "labels", "label", labels=nx.get_node_attributes(club, "club")
    )
    assert [labels[number] for number in numbers] == [club.nodes[node]["club"] for node in club]


@pytest.mark.parametrize(
    "values",
    [["a", None], ["a", float("nan")], pd.Series(["a", pd.NA]), np.ma.array(["a", "b"], mask=[0, 1])],
)
def test_what_is_missing_is_said_in_one_way(values):
    pair = graphsoft.hierarchy(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]), [1])
    assert read(pair, "names", "texts", "labels", names=values, texts=values, labels=values) == (
        ["a", ""],
        ["a", ""],
        ["a", "missing"],
    )


def test_columns_of_bytes_are_texts_and_pictures(h):
    (texts,) = read(h, "texts", texts=np.array([b"caf\xc3\xa9", b"\xff"] * 6, dtype=object))
    assert texts[:2] == ["caf\xe9", "\ufffd"]
    for images in (pd.Series([PICTURE, None] * 6), np.array([PICTURE, None] * 6, dtype=object)):
        (sizes,) = read(h, "image_size", images=images)
        assert sizes.tolist() == [len(PICTURE), 0] * 6


def test_a_generator_of_names_of_features_is_read_once(h):
    assert set(read(h, "features", features=iter("xyz"))[0]) == {*"xyz"}


class Unwritable:
    def __str__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize("value", [10**5000, Unwritable()], ids=["long", "failing"])
@pytest.mark.parametrize("argument", ["names", "texts", "labels", "features"])
def test_what_cannot_be_written_is_refused(h, argument, value):
    count = 3 if argument == "features" else 12
    with pytest.raises(InputError, match=f"^{argument}: holds .* at 0, which cannot be written"):
        h.explore(**{argument: [value] * count})


def test_columns_of_a_polars_frame_are_not_taken_for_points(h):
    pl = pytest.importorskip("polars")
    with pytest.raises(InputError, match=r"^texts: got .* one for each point"):
        h.explore(texts=pl.DataFrame({name: [1] for name in NAMES}))


def test_masked_pixels_are_refused(h):
    with pytest.raises(InputError, match="images: have masked pixels"):
        h.explore(images=np.ma.array(np.zeros((12, 2, 2)), mask=True))


def test_without_edges_areas_are_points():
    lonely = graphsoft.hierarchy(sp.csr_array((5, 5)), [2])
    mass, circles = read(lonely, "0/mass", "0/circle")
    assert mass.tolist() == lonely[0].memberships.sum(axis=0).tolist()
    assert (circles[2::3] > 0).all()


@pytest.mark.parametrize("path", [5, b"a.html", "a\0.html", "\ud800.html", ["a"]])
def test_paths_that_name_no_file_are_refused(h, path):
    with pytest.raises(InputError, match=r"^path: got"):
        h.explore(path)
