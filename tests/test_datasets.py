import gzip
import os
import zipfile
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris

from graphsoft.datasets import Dataset, read
from graphsoft.errors import GraphsoftWarning, InputError
from graphsoft.patterns import PATTERNS, block_graph, make_pattern

DATA = Path(__file__).parent.parent / "data"


@pytest.fixture
def file(tmp_path):
    """Write text (or bytes) to a file of the given name."""

    def write(name, content):
        path = tmp_path / name
        if isinstance(content, str):
            content = content.encode("utf-8")
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


def same_graph(first, second):
    """Compare nodes, edges and their attributes, not those of the graph: GraphML adds some."""
    return first.adj == second.adj and first.nodes == second.nodes


# ------------------------------------------------------------------------------------------ carried files


def test_digits_are_those_of_scikit_learn():
    digits = read(DATA / "digits.csv.gz", labels="label")
    assert digits.data.dtype == np.float64
    assert (digits.data == load_digits().data).all()
    assert (digits.labels == load_digits().target).all()
    assert repr(digits) == "Dataset(1797 x 64, 10 classes)"
    assert len(digits) == 1797
    assert digits.affinity == "features"


def test_iris_is_that_of_scikit_learn():
    iris = read(DATA / "iris.csv", labels="label")
    assert (iris.data == load_iris().data).all()
    assert (iris.labels == load_iris().target_names[load_iris().target]).all()


def test_graphs_are_those_of_networkx():
    karate = read(DATA / "karate.graphml", labels="club")
    assert sorted(set(karate.labels)) == ["Mr. Hi", "Officer"]
    assert karate.data.number_of_edges() == nx.karate_club_graph().number_of_edges()
    assert karate.names == tuple(map(str, range(34)))
    assert repr(karate) == "Dataset(34 nodes, 78 edges, 2 classes)"
    novel = read(DATA / "les_miserables.graphml")
    assert novel.data["Valjean"]["Cosette"]["weight"] == 31
    assert len(novel) == 77


@pytest.mark.parametrize("name", PATTERNS)
def test_carried_patterns_are_the_drawn_ones(name):
    points, labels = make_pattern(name, rng=2026)
    carried = read(DATA / "patterns" / f"{name}.csv", labels="label")
    np.testing.assert_allclose(carried.data, points, atol=1e-4)
    assert (carried.labels == labels).all()


def test_carried_blocks_are_the_drawn_ones():
    carried = read(DATA / "patterns" / "blocks.graphml", labels="block")
    drawn = block_graph(2026)
    assert same_graph(nx.relabel_nodes(carried.data, int), drawn)
    assert carried.labels.tolist() == [drawn.nodes[node]["block"] for node in drawn]


def test_patterns_depend_on_the_seed_only():
    same = [make_pattern("rings", rng=7)[0] for _ in range(2)]
    assert (same[0] == same[1]).all()
    assert (same[0] != make_pattern("rings", rng=np.random.default_rng(8))[0]).any()
    with pytest.raises(InputError, match=r"^name: there is no pattern 'moons'.*bridge, donut"):
        make_pattern("moons")


# ------------------------------------------------------------------------------------------ tables


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "A.CSV"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_tables_with_header(file, name, separator, newline):
    rows = ["x y kind", "0.5 -1e3 b", "2 3 a", ""]
    dataset = read(file(name, newline.join(rows).replace(" ", separator)), labels="kind")
    assert dataset.data.tolist() == [[0.5, -1000.0], [2.0, 3.0]]
    assert dataset.labels.tolist() == ["b", "a"]
    assert dataset.names is None


def test_tables_without_header(file):
    path = file("a.csv", "5.1,3.5,setosa\n4.9,3.0,virginica\n")
    dataset = read(path, labels="2")
    assert dataset.data.tolist() == [[5.1, 3.5], [4.9, 3.0]]
    assert dataset.labels.tolist() == ["setosa", "virginica"]
    assert read(file("b.csv", "1,2\n3,4\n")).data.tolist() == [[1, 2], [3, 4]]
    assert read(file("c.csv", "7\n8\n")).data.tolist() == [[7], [8]]
    assert read(file("d.csv", "0,1,2\n3,4,5\n")).data.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("columns", [None, ["a", "b", "c", "d"]])
def test_tables_as_pandas_writes_them(tmp_path, index, columns):
    values = np.random.default_rng(0).normal(size=(5, 4))
    frame = pd.DataFrame(values, columns=columns)
    frame.to_csv(tmp_path / "a.csv", index=index)
    dataset = read(tmp_path / "a.csv")
    assert (dataset.data == values).all()
    assert dataset.names == (("0", "1", "2", "3", "4") if index else None)


def test_classes_among_the_features_are_warned_of(file):
    path = file("a.csv", "x,Class\n1,2\n")
    with pytest.warns(GraphsoftWarning, match=r"column 'Class' is used as a feature") as caught:
        assert read(path).data.tolist() == [[1, 2]]
    assert caught[0].filename == __file__
    assert read(path, labels="Class").data.tolist() == [[1]]


def test_first_column_can_name_the_points(file):
    text = "ID,x,kind\np,1,a\n7,2,b\n"
    dataset = read(file("a.csv", text), labels="kind")
    assert dataset.names == ("p", "7")
    assert dataset.data.tolist() == [[1], [2]]
    assert read(file("a.csv", "x,id\n1,2\n")).names is None  # only the first
    assert read(file("a.csv", "id,x\n1,2\n"), labels="id").names is None


def test_quotes_byte_order_mark_blank_lines_and_spaces(file):
    text = '\ufeff"x, in cm", kind \n"1", "a ""b"""\n\n 2 ,c\n'
    dataset = read(file("a.csv", text), labels="kind")
    assert dataset.data.tolist() == [[1], [2]]
    assert dataset.labels.tolist() == ['a "b"', "c"]


def test_labels_are_integers_only_where_nothing_is_lost(file):
    for column, expected in {
        "1 2 10": [1, 2, 10],
        "01 2 3": ["01", "2", "3"],
        "1 2.0 3": ["1", "2.0", "3"],
    }.items():
        rows = "\n".join(f"0.5,{label}" for label in column.split())
        assert read(file("a.csv", "x,label\n" + rows), labels="label").labels.tolist() == expected
    huge = "9" * 30
    assert read(file("a.csv", f"x,label\n0.5,{huge}"), labels="label").labels.tolist() == [huge]


def test_a_hundred_thousand_rows(file):
    values = np.arange(1, 800_001).reshape(100_000, 8)
    text = "\n".join(",".join(map(str, row)) for row in values.tolist())
    dataset = read(file("a.csv.gz", text))
    assert (dataset.data == values).all()


@pytest.mark.parametrize(
    ("text", "labels", "message"),
    [
        ("", None, r"^path: 'a.csv' is empty"),
        ("\n\n", None, r"^path: 'a.csv' is empty"),
        ("x,y\n", None, r"^path: 'a.csv' holds no points"),
        ("x,y\n1,2\n3\n", None, r"^path: line 3 has 1 fields, the first has 2"),
        ("x,y\n1,2\n3,abc\n", None, r"^path: column 'y' holds text \('abc' on line 3\).*labels"),
        ("x,kind\n1,a\n3,b\n", None, r"^path: column 'kind' holds text \('a' on line 2\)"),
        ("1,2\n\n3,\n", None, r"^path: column '1' has a gap \(''\) on line 3"),
        ("1,NA\n3,4\n", None, r"^path: column '1' has a gap \('NA'\) on line 1"),
        ("x,y\n1,nan\n3,4\n", None, r"^path: column 'y' has a gap \('nan'\) on line 2"),
        (
            "x,y\n1,-inf\n3,4\n",
            None,
            r"^path: column 'y' holds a number that is not finite",
        ),
        ("x,y,label\n1,2,a\n", "lable", r"^labels: there is no column 'lable'.*'label'"),
        ("x,y,kind\n1,2,a\n", "zzz", r"^labels: there is no column 'zzz'.*'x', 'y', 'kind'"),
        ("1,2,a\n", "7", r"^labels: there is no column '7'.*'0', '1', '2'"),
        ("label\na\nb\n", "label", r"^path: the columns are \['label'\], none of them a feature"),
        ('x,y\n1,"' + "a" * 200_000 + '"\n', None, r"^path: 'a.csv' cannot be read as csv: field larger"),
        (b"x,y\n1,\xff\n", None, r"^path: 'a.csv' cannot be read as csv: 'utf-8'"),
    ],
)
def test_wrong_tables_are_explained(file, text, labels, message):
    with pytest.raises(InputError, match=message):
        read(file("a.csv", text), labels=labels)


def test_huge_finite_numbers_are_no_gap(file):
    assert read(file("a.csv", "x,y\n1e308,1e308\n")).data.tolist() == [[1e308, 1e308]]


# ------------------------------------------------------------------------------------------ arrays


def test_npy(tmp_path):
    values = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.save(tmp_path / "a.npy", values)
    dataset = read(tmp_path / "a.npy")
    assert (dataset.data == values).all()
    assert dataset.affinity == "auto"
    (tmp_path / "a.npz").write_bytes((tmp_path / "a.npy").read_bytes())
    with pytest.raises(InputError, match="no archive"):
        read(tmp_path / "a.npz")
    with pytest.raises(InputError, match=r"^labels: \.npy files hold no labels"):
        read(tmp_path / "a.npy", labels="y")


def test_npy_that_promises_too_much_costs_no_memory(tmp_path):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 8), }".ljust(117) + "\n"
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
    with pytest.raises(InputError, match=r"^path: 'a.npy' cannot be read as npy"):
        read(path)


def test_objects_are_never_unpickled(tmp_path):
    marker = tmp_path / "marker"

    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(marker),)

    trap = np.array([Trap()], dtype=object)
    np.save(tmp_path / "a.npy", trap, allow_pickle=True)
    np.savez(tmp_path / "a.npz", X=trap)
    np.savez(tmp_path / "b.npz", format=trap, data=trap)
    for name in ("a.npy", "a.npz", "b.npz"):
        with pytest.raises(InputError, match=r"^path: "):
            read(tmp_path / name)
    assert not marker.exists()


def test_npz_with_dense_features(tmp_path):
    values, known = np.eye(3), np.array(["a", "b", "a"])
    np.savez(tmp_path / "a.npz", X=values, y=known, train=np.ones(3))
    dataset = read(tmp_path / "a.npz", labels="y")
    assert (dataset.data == values).all()
    assert (dataset.labels == known).all()
    assert read(tmp_path / "a.npz").labels is None
    np.savez(tmp_path / "b.npz", values)
    assert (read(tmp_path / "b.npz").data == values).all()


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia"])
def test_npz_as_scipy_saves_it(tmp_path, format):
    matrix = scipy.sparse.random_array((6, 6), density=0.4, rng=0, format=format)
    scipy.sparse.save_npz(tmp_path / "a.npz", matrix)
    assert (read(tmp_path / "a.npz").data.toarray() == matrix.toarray()).all()


def test_npz_with_csr_parts(tmp_path):
    matrix = scipy.sparse.random_array((5, 7), density=0.4, rng=0, format="csr")
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": matrix.shape}
    np.savez(tmp_path / "a.npz", **parts, y=np.arange(5))
    dataset = read(tmp_path / "a.npz", labels="y")
    assert (dataset.data != matrix).nnz == 0
    assert len(dataset) == 5
    assert repr(dataset) == "Dataset(5 x 7, 5 classes)"


@pytest.mark.parametrize(
    ("arrays", "labels", "message"),
    [
        ({"X": np.eye(3), "y": np.arange(2)}, "y", r"^labels: array 'y' has shape \(2,\), the data \(3, 3\)"),
        ({"X": np.eye(3), "y": np.arange(3)}, "z", r"^labels: there is no array 'z'.*X, y"),
        ({"A": np.eye(3), "B": np.eye(3)}, None, r"^path: 'a.npz' holds A, B.*call the data X"),
        ({"data": [1.0], "indices": [0], "indptr": [0, 9], "shape": [1, 1]}, None, r"^path: "),
    ],
)
def test_wrong_npz_are_explained(tmp_path, arrays, labels, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(InputError, match=message):
        read(tmp_path / "a.npz", labels=labels)


@pytest.mark.parametrize(
    "name", ["a.npy", "a.npz", "a.mtx", "a.graphml", "a.csv.gz", "a.edges.gz", "a.graphml.gz"]
)
@given(content=st.binary(max_size=200))
def test_noise_is_an_input_error(tmp_path_factory, name, content):
    path = tmp_path_factory.mktemp("noise") / name
    path.write_bytes(content)
    with pytest.raises(InputError):
        read(path)


def test_truncated_files_are_input_errors(tmp_path):
    whole = (DATA / "digits.csv.gz").read_bytes()
    (tmp_path / "a.csv.gz").write_bytes(whole[: len(whole) // 2])
    np.savez(tmp_path / "a.npz", X=np.eye(30))
    whole = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(whole[: len(whole) // 2])
    for name, labels in (("a.csv.gz", "label"), ("a.npz", None)):
        with pytest.raises(InputError, match=r"check that the file is whole"):
            read(tmp_path / name, labels)


def test_flipped_bits_in_npz_are_input_errors(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.arange(100.0).reshape(10, 10))
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        start = archive.getinfo("X.npy").header_offset + 300
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[start] ^= 1
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(InputError, match="CRC"):
        read(tmp_path / "a.npz")


@pytest.mark.parametrize("name", ["a.mtx", "a.mtx.gz"])
def test_matrix_market(tmp_path, file, name):
    matrix = scipy.sparse.random_array((5, 5), density=0.4, rng=0, format="csr")
    scipy.io.mmwrite(tmp_path / "plain.mtx", matrix)
    path = file(name, (tmp_path / "plain.mtx").read_bytes())
    dataset = read(path)
    assert dataset.data.format == "csr"
    assert abs(dataset.data - matrix).max() < 1e-12
    with pytest.raises(InputError, match=r"^labels"):
        read(path, labels="y")
    scipy.io.mmwrite(tmp_path / "dense.mtx", np.eye(3))
    assert isinstance(read(tmp_path / "dense.mtx").data, np.ndarray)


# ------------------------------------------------------------------------------------------ graphs


@pytest.mark.parametrize("name", ["a.edges", "a.edgelist", "a.txt", "a.txt.gz"])
def test_edge_lists(file, name):
    dataset = read(file(name, "# who whom\nann bob 2\n\nbob  名 0.5 # twice\nbob ann 2\nbob bob 3\n"))
    assert dataset.names == ("ann", "bob", "名")
    assert dataset.data.toarray().tolist() == [[0, 2, 0], [2, 3, 0.5], [0, 0.5, 0]]
    assert dataset.affinity == "precomputed"
    assert repr(dataset) == "Dataset(3 nodes, 5 stored weights)"


def test_edge_lists_without_weights(file):
    dataset = read(file("a.edges", "0 1\n1 2\n2 1\n1\t2"))
    assert dataset.data.toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert dataset.names == ("0", "1", "2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"holds no edges"),
        ("a b\nc\n", r"^path: line 2 has 1 fields"),
        ("a b c d\n", r"^path: line 1 has 4 fields"),
        ("a b 1\nc d\n", r"^path: line 2 has 2 fields"),
        ("a b x\n", r"^path: the weight on line 1 is 'x'"),
        ("a b nan\n", r"^path: the weight on line 1 is 'nan'"),
        ("a b 1\na c -1\n", r"^path: the weight on line 2 is '-1'"),
        ("a b 1\nb a 2\n", r"^path: edge b a weighs 1.0 on line 1 and 2.0 on line 2"),
    ],
)
def test_wrong_edge_lists_are_explained(file, text, message):
    with pytest.raises(InputError, match=message):
        read(file("a.edges", text))


def test_graphml(tmp_path):
    graph = nx.Graph()
    graph.add_node("é", kind=3)
    graph.add_node("</node>", kind=10)
    graph.add_edge("é", "</node>", weight=2.5)
    nx.write_graphml_xml(graph, tmp_path / "a.graphml")
    dataset = read(tmp_path / "a.graphml", labels="kind")
    assert dataset.names == ("é", "</node>")
    assert dataset.labels.tolist() == [3, 10]
    assert dataset.data["é"]["</node>"]["weight"] == 2.5
    (tmp_path / "b.graphml.gz").write_bytes(gzip.compress((tmp_path / "a.graphml").read_bytes()))
    assert same_graph(read(tmp_path / "b.graphml.gz").data, graph)
    with pytest.raises(
        InputError, match=r"^labels: node 'é' and 1 others have no attribute 'club'.*\['kind'\]"
    ):
        read(tmp_path / "a.graphml", labels="club")


LAUGHS = '<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><graphml>&b;</graphml>'


@pytest.mark.parametrize(
    "content",
    [
        LAUGHS.encode(),
        LAUGHS.encode("utf-16"),
        b'<?xml version="1.0" encoding="cp037"?>' + LAUGHS.encode("cp037"),
        b'<!DOCTYPE graphml SYSTEM "file:///etc/passwd"><graphml/>',
    ],
)
def test_document_types_are_refused(file, content):
    with pytest.raises(InputError, match=r"document type declaration|cannot be read as graphml"):
        read(file("a.graphml", content))


def test_other_xml_is_an_input_error(file):
    for content in ("<graphml>", "<html/>"):
        with pytest.raises(InputError, match=r"^path: 'a.graphml' cannot be read as graphml"):
            read(file("a.graphml", content))


# ------------------------------------------------------------------------------------------ names of files


def test_unknown_endings_and_missing_files(tmp_path):
    for name in ("a.xlsx", "a", "a.gz", "a.npy.gz", "a.npz.gz", "a.pkl"):
        with pytest.raises(InputError, match=r"^path: .*use one of \.csv, "):
            read(tmp_path / name)
    with pytest.raises(InputError, match=r"^path: there is no file"):
        read(tmp_path / "a.csv")
    (tmp_path / "b.csv").mkdir()
    with pytest.raises(InputError, match=r"^path: .*b.csv' is no file"):
        read(str(tmp_path / "b.csv"))


def test_dataset_is_frozen():
    dataset = Dataset(np.eye(2))
    with pytest.raises(AttributeError):
        dataset.labels = np.arange(2)


@pytest.mark.parametrize("title", ["id", "Name", "index", "doc_id", ""])
def test_a_first_column_may_name_the_points(file, title):
    found = read(file("named.csv", f"{title},x,y\n7,1.0,2.0\n8,2.0,1.0\n"))
    assert found.data.tolist() == [[1.0, 2.0], [2.0, 1.0]]
    assert found.names == ("7", "8")


def test_a_column_that_counts_the_rows_is_warned_of(file):
    rows = "".join(f"{row},{row % 3},{row + 5}\n" for row in range(9))
    with pytest.warns(GraphsoftWarning, match="column 'no' counts the rows"):
        read(file("counted.csv", "x,y,no\n" + rows.replace("0,0", "3,0", 1)))
    read(file("nameless.csv", rows))


def test_names_that_repeat_are_warned_of(file):
    with pytest.warns(GraphsoftWarning, match="column 'site_id' is taken as names of the points, and some"):
        read(file("repeated.csv", "site_id,x\n7,1.0\n7,2.0\n"))
    assert read(file("classes.csv", "class_id,x\n7,1.0\n7,2.5\n")).names is None
