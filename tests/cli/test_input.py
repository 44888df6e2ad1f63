"""What the command line reads: columns, scales, the standard input, Parquet and h5ad."""

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import graphsoft
from graphsoft.cli import command
from graphsoft.cli.scaling import Scaling, warn_of_spreads

DATA = Path(__file__).parents[2] / "data"
IRIS = str(DATA / "iris.csv")
TABLES = [
    path
    for path in sorted(DATA.rglob("*.csv*"))
    if path.suffix in (".csv", ".gz") and path.name != "sentences.csv"  # which holds texts
]
WIDE = "a,b,c,kind\n" + "".join(
    f"{row % 3},{(row % 2) * 10**6 + row},{row % 5},{'xy'[row % 2]}\n" for row in range(30)
)


def run(*arguments):
    return command.main([*map(str, arguments)])


@pytest.fixture
def wide(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(WIDE)
    return path


def saved(tmp_path, *arguments):
    model = tmp_path / "model.graphsoft"
    assert run("hierarchy", *arguments, "--levels", "3", "--neighbors", "4", "--save", model, "--quiet") == 0
    return graphsoft.load(model)


def test_columns_are_chosen_and_dropped(wide, tmp_path, capsys):
    assert saved(tmp_path, wide, "--columns", "c,a").features.columns == ("c", "a")
    assert saved(tmp_path, wide, "--drop", "kind, b").features.columns == ("a", "c")
    assert saved(tmp_path, wide, "--labels", "kind", "--drop", "b").features.columns == ("a", "c")
    assert capsys.readouterr() == ("", "")
    for options, said in (
        (["--columns", "a", "--drop", "b"], "--drop: is given together with columns."),
        (["--columns", "d"], "--columns: there is no column 'd'. Remedy: choose a column, such as 'a'"),
        (["--columns", "a,a"], "--columns: names a column twice."),
        (["--columns", "kind", "--labels", "kind"], "--columns: 'kind' is the labels."),
        (["--drop", "a,b,c,kind"], "input: the columns are"),
        ([], "input: column 'kind' holds text"),
    ):
        assert run("hierarchy", wide, "--levels", "3", *options) == 1
        assert capsys.readouterr().err.startswith(f"graphsoft: {said}")


def test_titles_may_hold_commas(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('"a,b",c\n' + "".join(f"{row % 4},{row}.5\n" for row in range(20)))
    assert saved(tmp_path, path, "--columns", '"a,b"').features.columns == ("a,b",)


def test_titles_on_two_lines_are_refused(tmp_path, capsys):
    assert run("info", tmp_path / "a.csv", "--columns", "a\nb") == 2
    assert "holds a line break outside quotes" in capsys.readouterr().err


def test_columns_that_spread_very_differently_are_warned_of(wide, capsys):
    options = ["--labels", "kind", "--levels", "3", "--quiet"]
    assert run("hierarchy", wide, *options) == 0
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert err.startswith("graphsoft: warning: column 'b' spreads 6")
    assert "--scale standardize" in err
    for more in (["--scale", "none"], ["--scale", "standardize"], ["--drop", "b"], ["--metric", "hamming"]):
        assert run("hierarchy", wide, *options, *more) == 0
        assert "spreads" not in capsys.readouterr().err


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.name)
def test_bundled_tables_are_not_warned_of(path, capsys):
    label = "species" if path.name == "penguins.csv" else "label"
    assert run("graph", path, "--labels", label, "--quiet") == 2  # it has no labels to score
    assert run("graph", path, "--drop", label, "--quiet") == 0
    assert "spreads" not in capsys.readouterr().err


def test_constant_and_sparse_columns_are_not_warned_of():
    constant = np.full((30, 1), 0.1)
    table = np.hstack([np.arange(30.0)[:, None] ** 2, constant, constant * 3])
    warn_of_spreads(["a", "b", "c"], table)
    warn_of_spreads(["a", "b", "c"], csr_array(table))


def test_scaling():
    values = np.array([[1.0, 0.1, 7.0], [2.0, 0.1, 7.0], [6.0, 0.1, 8.0]] * 5)
    found = Scaling.of(values)
    scaled = found.applied(values)
    assert np.allclose(scaled.std(axis=0), [1, 0, 1])
    assert (scaled[:, 1] == 0).all() or np.allclose(scaled[:, 1], 0)
    assert (found.applied(values[:2]) == scaled[:2]).all()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("karate.graphml", "--scale: needs a dense table of points"),
        ("big.csv", "--scale: cannot be used with"),
    ],
)
def test_what_cannot_be_scaled(tmp_path, capsys, name, said):
    (tmp_path / "big.csv").write_text("a,b\n" + "".join(f"{2**60 + row},{row % 4}.5\n" for row in range(9)))
    path = DATA / name if name.endswith("ml") else tmp_path / name
    assert run("hierarchy", path, "--levels", "2", "--scale", "standardize") == 1
    assert capsys.readouterr().err.startswith(f"graphsoft: {said}")


def piped(data, *arguments):
    code = "from graphsoft.cli.command import main; raise SystemExit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], input=data, capture_output=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_the_standard_input(tmp_path):
    options = ["--levels", "3", "--labels", "label", "--json"]
    code, out, err = piped(Path(IRIS).read_bytes(), "hierarchy", "-", *options)
    assert (code, err) == (0, "")
    assert json.loads(out)["points"] == 150
    file = io.BytesIO()
    np.save(file, np.random.default_rng(0).normal(size=(30, 2)))
    code, out, _ = piped(file.getvalue(), "hierarchy", "-", "--format", "npy", "--levels", "3")
    assert (code, out.splitlines()[0]) == (0, "30 points -> 3 clusters")
    code, out, err = piped(b"", "hierarchy", "-", "--levels", "3")
    assert (code, out) == (1, "")
    assert err == "graphsoft: input: 'stdin.csv' is empty. Remedy: give at least one row of numbers.\n"


def test_the_format_is_only_for_the_standard_input(capsys):
    assert run("hierarchy", IRIS, "--levels", "3", "--format", "csv") == 1
    assert capsys.readouterr().err.startswith("graphsoft: --format: is for the standard input.")


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow reads Parquet")
    pd = pytest.importorskip("pandas")
    frame = pd.read_csv(IRIS)
    frame.index = [f"flower {row}" for row in range(len(frame))]
    frame.to_parquet(tmp_path / "iris.parquet")
    h = saved(tmp_path, tmp_path / "iris.parquet", "--labels", "label")
    assert h.nodes[:2] == ("flower 0", "flower 1")
    assert h.features.columns == tuple(frame.columns[:4])
    again = saved(tmp_path, IRIS, "--labels", "label")
    assert (h[0].labels == again[0].labels).all()


def test_h5ad(tmp_path, capsys):
    ad = pytest.importorskip("anndata", reason="anndata reads h5ad")
    pd = pytest.importorskip("pandas")
    sparse = pytest.importorskip("scipy.sparse")
    values = np.random.default_rng(0).normal(size=(40, 3))
    cells = pd.DataFrame({"type": ["a", "b"] * 20}, index=[f"cell {row}" for row in range(40)])
    data = ad.AnnData(values.astype(np.float32), obs=cells)
    data.X = csr_array(data.X)  # counts of cells are often sparse
    data.obsm["X_pca"] = values[:, :2]
    data.obsp["connectivities"] = sparse.csr_matrix(graphsoft.knn_graph(values, 5).adjacency)
    data.write_h5ad(tmp_path / "a.h5ad")
    shapes = [
        saved(tmp_path, tmp_path / "a.h5ad", *options).features
        for options in ([], ["--obsm", "X_pca"], ["--obsp", "connectivities"], ["--columns", "0,2"])
    ]
    assert [None if found is None else found.values.shape[1] for found in shapes] == [3, 2, None, 2]
    h = saved(tmp_path, tmp_path / "a.h5ad", "--obsp", "connectivities", "--labels", "type")
    assert h.nodes[0] == "cell 0"
    assert run("hierarchy", tmp_path / "a.h5ad", "--levels", "3", "--obsm", "X_umap") == 1
    assert (
        capsys.readouterr()
        .err.splitlines()[-1]
        .startswith("graphsoft: --obsm: there is no 'X_umap'. Remedy: choose one of those in the file:")
    )


@pytest.fixture
def cells(tmp_path):
    """Old and new points with the same names in X, obsm and obsp, but with other values."""
    ad = pytest.importorskip("anndata", reason="anndata reads h5ad")
    rng = np.random.default_rng(0)
    for name, count in (("old", 40), ("new", 9)):
        data = ad.AnnData(rng.normal(size=(count, 2)))
        data.obs_names = [f"cell {row}" for row in range(count)]
        data.obsm["X_pca"], data.obsm["X_umap"] = rng.normal(size=(2, count, 2))
        data.obsp["near"] = csr_array(np.exp(-(np.subtract.outer(*[data.X[:, 0]] * 2) ** 2)))
        data.write_h5ad(tmp_path / f"{name}.h5ad")
    return ad.read_h5ad(tmp_path / "new.h5ad")


def test_new_cells_are_read_from_where_the_old_ones_were(cells, tmp_path, capsys, monkeypatch):
    h = saved(tmp_path, tmp_path / "old.h5ad", "--obsm", "X_pca", "--scale", "standardize")
    assert h.report.part == "obsm/X_pca"
    predict = ["predict", tmp_path / "model.graphsoft"]

    def labels(*arguments):
        assert run(*predict, *arguments, "-o", tmp_path / "new.csv", "--quiet") == 0
        return np.loadtxt(tmp_path / "new.csv", delimiter=",", skiprows=1, usecols=1).astype(int).tolist()

    expected = h.predict(cells.obsm["X_pca"]).tolist()
    assert labels(tmp_path / "new.h5ad") == expected
    assert labels(tmp_path / "new.h5ad", "--obsm", "X_pca") == expected
    assert labels(tmp_path / "new.h5ad", "--obsm", "X_umap") == h.predict(cells.obsm["X_umap"]).tolist()
    with open(tmp_path / "new.h5ad", "rb") as file:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file))
        assert labels("-", "--format", "h5ad") == expected
    np.savetxt(tmp_path / "new.tsv", cells.obsm["X_pca"], delimiter="\t")
    assert labels(tmp_path / "new.tsv", "--no-header") == expected
    del cells.obsm["X_pca"]
    cells.write_h5ad(tmp_path / "new.h5ad")
    assert run(*predict, tmp_path / "new.h5ad") == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        "graphsoft: --obsm: there is no 'X_pca', which the model was made with. "
        "Remedy: choose one of those in the file: 'X_umap'."
    )


def test_a_graph_of_cells_is_read_from_where_the_old_one_was(cells, tmp_path):
    h = saved(tmp_path, tmp_path / "old.h5ad", "--obsp", "near")
    assert h.report.part == "obsp/near"
    assert run("predict", tmp_path / "model.graphsoft", tmp_path / "old.h5ad", "-o", tmp_path / "a.csv") == 0
    assert (tmp_path / "a.csv").read_text().count("cell") == 40
    assert saved(tmp_path, tmp_path / "old.h5ad").report.part == ""


@pytest.mark.parametrize(("module", "name"), [("pyarrow", "a.parquet"), ("anndata", "a.h5ad")])
def test_what_is_missing_is_named(tmp_path, capsys, monkeypatch, module, name):
    for loaded in [each for each in sys.modules if each.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setattr(sys, "meta_path", [Without(module), *sys.meta_path])
    (tmp_path / name).write_bytes(b"")
    assert run("hierarchy", tmp_path / name, "--levels", "3") == 1
    kind, extra = ("Parquet", "frames") if module == "pyarrow" else ("h5ad", "anndata")
    expected = f"graphsoft: {kind} needs {module}: pip install 'graphsoft[{extra}]'\n"
    assert capsys.readouterr().err == expected


class Without:
    """Finds no package of one name, as where it is not installed."""

    def __init__(self, name):
        self.name = name

    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] == self.name:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=self.name)
