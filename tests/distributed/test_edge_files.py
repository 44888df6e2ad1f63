"""Files of edges: what is found in them, how they are read, and what is refused."""

import json
import pickle
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

import graphsoft
from graphsoft.distributed import edge_archives, edge_files, edge_parts, edge_text
from graphsoft.distributed.edge_files import partitioned_graph
from graphsoft.errors import InputError
from shared.dealt import KINDS, write_edges, write_parts

EDGES = [(0, 1, 0.5), (1, 2, 2.0), (5, 2, 1e-9), (3, 3, 7.25), (4, 0, 1e20)] * 5


def read(graph, edges=1 << 20):
    """All edges in the order of the files, and into how many slices they were cut."""
    slices = graph.slices(edges)
    found = [some for each in slices for some in graph.read(each)]
    weights = [np.ones(len(some.source)) if some.weight is None else some.weight for some in found]
    rows = zip(
        np.concatenate([some.source for some in found]).tolist(),
        np.concatenate([some.target for some in found]).tolist(),
        np.concatenate(weights).tolist(),
        strict=True,
    )
    return list(rows), len(slices)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 3, 4, 1000])
def test_slices_of_any_size_hold_all_edges(tmp_path, monkeypatch, kind, size):
    monkeypatch.setattr(edge_text, "BYTES", 20)
    for module in (edge_archives, edge_files, edge_parts):
        monkeypatch.setattr(module, "CHUNK", 4, raising=False)
    write_edges(tmp_path / "part", EDGES, kind, 6)
    graph = partitioned_graph(tmp_path)
    assert graph.nodes == 6
    found, slices = read(graph, size)
    assert found == EDGES
    assert (slices == 1) == (size == 1000)


def test_csr_matrices_with_empty_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(edge_archives, "CHUNK", 4)
    dense = sp.random_array((40, 40), density=0.05, rng=0).toarray()
    dense[7] = 1.0
    matrix = sp.csr_array(dense)
    sp.save_npz(tmp_path / "a.npz", matrix, compressed=False)
    graph = partitioned_graph(tmp_path / "a.npz")
    found = matrix.tocoo()
    expected = list(zip(found.row.tolist(), found.col.tolist(), found.data.tolist(), strict=True))
    assert (graph.nodes, graph.files[0].edges) == (40, len(expected))
    for size in (1, 7, 1000):
        assert read(graph, size)[0] == expected


@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_nodes_is_found(tmp_path, kind):
    folder = write_parts(tmp_path / "files", EDGES, kind, 9)
    assert partitioned_graph(folder).nodes == (9 if kind == "matrix" else 6)
    assert partitioned_graph(folder, nodes=9).nodes == 9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0,1\n1,2\n", [(0, 1, 1.0), (1, 2, 1.0)]),
        ("0;1;2.5\r\n1;2;3\r\n", [(0, 1, 2.5), (1, 2, 3.0)]),
        ("\ufeffsource,target\n0,1\n", [(0, 1, 1.0)]),
        ("weight,target,source\n2,1,0\n", [(0, 1, 2.0)]),
        ("src,dst,when\n0,1,yesterday\n", [(0, 1, 1.0)]),
        ("a,b,c,d\n0,1,2,x\n", [(0, 1, 2.0)]),
        ('"from","to"\n"0","1"\n', [(0, 1, 1.0)]),
        ("# made by hand\n\n0,1\n# the end\n1,2", [(0, 1, 1.0), (1, 2, 1.0)]),
        ("source,target\n0,1\n\n\n2,1\n", [(0, 1, 1.0), (2, 1, 1.0)]),
        ("0,1,1.5\n   \n1,2,1.5\r\n  \r\n", [(0, 1, 1.5), (1, 2, 1.5)]),
        ('source,target,weight,note\n0,1,2,"a ""b"", c"\n', [(0, 1, 2.0)]),
    ],
)
def test_text_in_many_ways(tmp_path, text, expected):
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    graph = partitioned_graph(tmp_path / "a.csv", nodes=3)
    assert read(graph)[0] == expected
    assert read(graph, 1)[0] == expected


def test_columns_by_name(tmp_path):
    import pandas as pd

    frame = pd.DataFrame({"id": [7, 8], "caller": [0, 1], "called": [1, 2], "calls": [3, 4]})
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_csv(tmp_path / "a.csv", index=False)
    for kind in ("parquet", "csv"):
        graph = partitioned_graph(tmp_path / f"a.{kind}", columns=["caller", "called", "calls"])
        assert read(graph)[0] == [(0, 1, 3.0), (1, 2, 4.0)]
        with pytest.raises(InputError, match="no column 'who'"):
            partitioned_graph(tmp_path / f"a.{kind}", columns=["who", "called"])


def test_what_a_graph_says_of_itself(tmp_path):
    folder = write_parts(tmp_path / "files", EDGES, "npz", 6)
    graph = graphsoft.partitioned_graph(folder)
    assert isinstance(graph, graphsoft.PartitionedGraph)
    assert repr(graph) == "PartitionedGraph(nodes=6, listed=25, files=3)"
    assert pickle.loads(pickle.dumps(graph)) == graph  # noqa: S301
    known = json.dumps(graph.identity())
    assert known == json.dumps(partitioned_graph(folder).identity())
    assert str(tmp_path) not in known
    write_edges(folder / "part-1", EDGES[:4], "npz", 6)
    assert known != json.dumps(partitioned_graph(folder, nodes=6).identity())


def test_files_of_a_folder_and_in_a_list(tmp_path):
    write_edges(tmp_path / "b", EDGES[:2], "csv", 6)
    write_edges(tmp_path / "a", EDGES[2:4], "parquet", 6)
    (tmp_path / "_SUCCESS.csv").write_text("")
    (tmp_path / "README.md").write_text("edges")
    assert [file.name for file in partitioned_graph(tmp_path).files] == ["a.parquet", "b.csv"]
    files = [tmp_path / "b.csv", str(tmp_path / "a.parquet")]
    assert [file.name for file in partitioned_graph(files).files] == ["b.csv", "a.parquet"]


REFUSED_TEXT = {
    "names": ("ann,bob\nbob,cid\n", "has 'bob' as a node on line 2", "numpy.unique"),
    "names without header": ("0,1\nann,2\n", "has 'ann' as a node on line 2", "numpy.unique"),
    "text": ("This is no list of edges.\nIt is a letter.\n", "columns", "two nodes"),
    "fields": ("0,1\n0,1,2\n", "has 3 fields on line 2, and 2 before", "same on every line"),
    "a gap": ("0,1\n0,\n", "has '' as a node on line 2", "numpy.unique"),
    "a fraction": ("0,1\n0,1.5\n", "has 1.5 as a node in line 2", "numpy.unique"),
    "below 0": ("0,1\n-1,1\n", "has the node -1 in line 2", "number them from 0"),
    "beyond n": ("source,target\n0,1\n# no\n0,9\n", "has the node 9 in line 4, outside 0..4", "from 0"),
    "huge": ("0,1\n0,1e300\n", r"has 1e\+300 as a node in line 2", "numpy.unique"),
    "negative": ("0,1,1\n0,2,-2\n", "has the weight -2 in line 2", "above 0"),
    "zero": ("0,1,1\n0,2,0\n", "has the weight 0 in line 2", "leave out"),
    "nan": ("0,1,1\n0,2,nan\n", "has the weight nan in line 2", "finite"),
    "infinite": ("0,1,1\n0,2,1e999\n", "has the weight inf in line 2", "finite"),
    "a text weight": ("0,1,1\n0,2,much\n", "has 'much' as a weight on line 2", "finite"),
    "a break in quotes": (
        '0,1,1,"a"\n1,2,1,"b\n0,2,1,c"\n',
        "has a quotation mark without .* line 2",
        "one line",
    ),
    "one column": ("node\n1\n", "columns", "two nodes"),
}


@pytest.mark.parametrize("case", REFUSED_TEXT)
@pytest.mark.parametrize("far", [False, True], ids=["at the beginning", "far behind"])
def test_refused_text(tmp_path, case, far):
    text, problem, remedy = REFUSED_TEXT[case]
    first, *lines = text.split("\n")
    if far and "line " in problem:
        before = 9000
        lines = [first.replace("ann", "0").replace("bob", "1")] * (before - 1) + lines
        at = int(problem.split("line ")[1].split(",")[0])
        problem = problem.replace(f"line {at}", f"line {at + before - 1}")
        if "source" in first:
            lines = [line.replace("source,target", "0,1") for line in lines]
        if case == "names":
            pytest.skip("without numbers at the beginning there is nothing far behind")
    (tmp_path / "a.csv").write_text("\n".join([first, *lines]))
    with pytest.raises(InputError, match=problem) as error:
        read(partitioned_graph(tmp_path / "a.csv", nodes=5), 1000)
    assert remedy in error.value.remedy
    assert "'a.csv'" in error.value.problem


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(edge_text, "BYTES", 1 << 12)
    (tmp_path / "a.csv").write_bytes(b"0,1\n" * 20000 + b"1" * 200_000)
    with pytest.raises(InputError, match="line of more than"):
        read(partitioned_graph(tmp_path / "a.csv", nodes=5))
    (tmp_path / "b.csv").write_bytes(bytes(1 << 20))
    with pytest.raises(InputError):
        partitioned_graph(tmp_path / "b.csv", nodes=5)


def archive(path, **arrays):
    np.savez(path, **arrays)
    return path


def lying(path, shape):
    """An archive whose array says that it is of another shape."""
    import io

    raw = io.BytesIO()
    np.lib.format.write_array_header_1_0(raw, {"descr": "<i8", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(path, "w") as file:
        for name in ("row.npy", "col.npy"):
            file.writestr(name, raw.getvalue() + bytes(80))
    return path


def cut_off(path):
    archive(path, row=np.arange(1000), col=np.arange(1000))
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) // 2])
    return path


def bomb(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file, file.open("row.npy", "w") as member:
        np.lib.format.write_array_header_1_0(
            member, {"descr": "<i8", "fortran_order": False, "shape": (1 << 25,)}
        )
        for _ in range(257):
            member.write(bytes(1 << 20))
    return path


def pickled(path):
    np.savez(path, row=np.array([None, "a"], dtype=object), col=np.arange(2))
    return path


ONE = np.array([1.0])
CSR = {"indices": np.array([1, 0]), "data": np.ones(2), "shape": np.array([2, 2])}
HOSTILE = {
    "too long": (lambda path: lying(path, (10**12,)), "does not hold the 1000000000000 numbers"),
    "negative": (lambda path: lying(path, (-10,)), "does not hold"),
    "two dimensions": (lambda path: lying(path, (2, 5)), "of shape"),
    "cut off": (cut_off, "no archive"),
    "a bomb": (bomb, "would become"),
    "a pickle": (pickled, "dtype object"),
    "no edges": (lambda path: archive(path, X=ONE), "holds the arrays X"),
    "lengths": (lambda path: archive(path, row=[0, 1], col=[1]), "different lengths"),
    "fractions": (lambda path: archive(path, row=ONE, col=ONE), "float64 in 'row'"),
    "complex": (lambda path: archive(path, row=[0], col=[1], data=[1j]), "complex128"),
    "pointers that fall": (lambda path: archive(path, indptr=[0, 3, 2], **CSR), "pointers"),
    "few pointers": (lambda path: archive(path, indptr=[0, 2], **CSR), "pointers"),
    "pointers of another end": (lambda path: archive(path, indptr=[0, 1, 1], **CSR), "pointers"),
    "not square": (lambda path: archive(path, row=[0], col=[1], shape=[2, 3]), "square"),
    "a csc matrix": (lambda path: sp.save_npz(path, sp.csc_array(np.eye(2))) or path, "format 'csc'"),
    "text": (lambda path: path.write_text("0 1\n1 2\n") and path, "no archive"),
    "nothing": (lambda path: path.write_bytes(b"") or path, "no archive"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_archives_that_lie_are_refused_when_they_are_looked_at(tmp_path, case):
    make, problem = HOSTILE[case]
    with pytest.raises(InputError, match=problem):
        partitioned_graph(make(tmp_path / "a.npz"))


def test_a_damaged_archive_is_refused_when_it_is_read(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, row=np.random.default_rng(0).integers(50, size=5000), col=np.arange(5000) % 50)
    raw = bytearray(path.read_bytes())
    raw[1000:1100] = bytes(100)
    path.write_bytes(raw)
    with pytest.raises(InputError, match=r"'a.npz'"):
        read(partitioned_graph(path, nodes=50))


@pytest.mark.parametrize("text", [b"0,1\r1,2\r", b"source,target\r0,1\n", bytes(range(14, 256)) + b"\r,"])
def test_text_that_is_no_table(tmp_path, text):
    (tmp_path / "a.csv").write_bytes(text)
    with pytest.raises(InputError, match=r"path: 'a\.csv' has"):
        partitioned_graph(tmp_path)


def test_refused_tables(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    def table(**columns):
        parquet.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=2)
        return tmp_path / "a.parquet"

    with pytest.raises(InputError, match="has string in column 'u', not numbers of nodes") as error:
        partitioned_graph(table(u=["a"], v=["b"]))
    assert "numpy.unique" in error.value.remedy
    with pytest.raises(InputError, match="has string in column 'w', not weights"):
        partitioned_graph(table(u=[0], v=[1], w=["a"]))
    with pytest.raises(InputError, match=r"a node 9, outside 0..4"):
        partitioned_graph(table(u=[0, 1, 2], v=[1, 2, 9]), nodes=5)
    with pytest.raises(InputError, match="has a gap in row 2"):
        read(partitioned_graph(table(u=[0, 1, None], v=[1, 2, 3])))
    with pytest.raises(InputError, match="has the node -1 in row 2"):
        read(partitioned_graph(table(u=[0, 1, -1], v=[1, 2, 3])))
    with pytest.raises(InputError, match="has the weight nan in row 2"):
        read(partitioned_graph(table(u=[0, 1, 2], v=[1, 2, 3], w=[1.0, 1.0, np.nan])))
    path = table(u=np.arange(5000), v=np.arange(5000))
    raw = path.read_bytes()
    for damaged in (raw[: len(raw) // 2], b"0,1\n", b""):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="no file of Parquet"):
            partitioned_graph(path)
    path.write_bytes(raw[:200] + bytes(20000) + raw[20200:])
    with pytest.raises(InputError):
        read(partitioned_graph(path))


def test_refused_arguments(tmp_path):
    write_edges(tmp_path / "a", EDGES, "csv", 6)
    (tmp_path / "empty").mkdir()
    (tmp_path / "b.xyz").write_text("")
    refused = [
        ({"path": tmp_path / "empty"}, "there are no edges"),
        ({"path": tmp_path / "none.csv"}, "there is no file"),
        ({"path": tmp_path / "b.xyz"}, "cannot read 'b.xyz'"),
        ({"path": 7}, "got 7"),
        ({"path": []}, "the list of files is empty"),
        ({"nodes": 0}, "got 0"),
        ({"nodes": 2**31}, "got 2147483648"),
        ({"directed": "yes"}, "got 'yes'"),
        ({"columns": "source"}, "got 'source'"),
        ({"columns": ["source"]}, "got"),
        ({"nodes": 4}, "the node 5 in line 4"),
    ]
    for arguments, problem in refused:
        with pytest.raises(InputError, match=problem):
            partitioned_graph(**{"path": tmp_path / "a.csv"} | arguments)


def test_parts_that_do_not_fit_each_other(tmp_path):
    write_edges(tmp_path / "a", EDGES, "csv", 6)
    (tmp_path / "b.csv").write_text("0,1\n")
    with pytest.raises(InputError, match=r"'b.csv' has no weights"):
        partitioned_graph(tmp_path)
    for name, side in (("c", 6), ("d", 7)):
        sp.save_npz(tmp_path / f"{name}.npz", sp.eye_array(side).tocsr())
    with pytest.raises(InputError, match="is of 6 nodes, not 7"):
        partitioned_graph([tmp_path / "c.npz", tmp_path / "d.npz"])
    with pytest.raises(InputError, match="is of 6 nodes, not 8"):
        partitioned_graph(tmp_path / "c.npz", nodes=8)


def test_without_edges(tmp_path):
    (tmp_path / "a.csv").write_text("source,target\n")
    (tmp_path / "b.edges").write_text("")
    for name in ("a.csv", "b.edges"):
        with pytest.raises(InputError, match="there are no edges"):
            partitioned_graph(tmp_path / name)
        assert partitioned_graph(tmp_path / name, nodes=4).slices(10) == []


def test_files_that_change_are_refused(tmp_path):
    for kind in ("csv", "npz", "parquet"):
        write_edges(tmp_path / "a", EDGES, kind, 6)
        graph = partitioned_graph(tmp_path / f"a.{kind}")
        write_edges(tmp_path / "a", EDGES[:3], kind, 6)
        with pytest.raises(InputError, match="has changed"):
            read(graph)
        (tmp_path / f"a.{kind}").unlink()
        with pytest.raises(InputError, match="not there any more"):
            read(graph)


def test_names_of_no_files_and_columns(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("u,v\n0,1\n")
    monkeypatch.chdir(tmp_path)
    for path in ("", [""], ["a.csv", ""]):
        with pytest.raises(InputError, match=r"path: got .*, which names no file"):
            partitioned_graph(path)
    with pytest.raises(InputError, match="path: the list of files is empty"):
        partitioned_graph([])
    with pytest.raises(InputError, match=r"columns: got .*'u', 'u'.*each column once"):
        partitioned_graph("a.csv", columns=["u", "u"])
