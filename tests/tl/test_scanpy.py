"""With scanpy itself and the cells that come with it: its graphs, its plots, its ingest."""

import numpy as np
import pytest

import graphsoft
from shared.cells import read_again, without_results

sc = pytest.importorskip("scanpy")
pytestmark = pytest.mark.filterwarnings("ignore")  # scanpy and what it stands on warn a lot

LEVELS = [20, 8, 4]
TOP = "graphsoft_level_2"


@pytest.fixture(scope="module")
def blood():
    adata = sc.datasets.pbmc68k_reduced()
    sc.pp.pca(adata, random_state=0)
    sc.pp.neighbors(adata)
    graphsoft.tl.hierarchy(adata, LEVELS)
    return adata


def test_neighbors_of_scanpy_say_what_they_were_made_of(blood):
    params = dict(blood.uns["graphsoft"]["params"])
    assert params.pop("levels").tolist() == LEVELS
    assert params == {"graph": "connectivities", "use_rep": "X_pca", "n_neighbors": 15, "metric": "euclidean"}
    adata = blood.copy()
    sc.pp.neighbors(adata, 12, n_pcs=20, metric="cosine", key_added="cosine")
    graphsoft.tl.hierarchy(adata, [4], neighbors_key="cosine", key_added="other")
    params = dict(adata.uns["other"]["params"])
    assert params["graph"] == "cosine_connectivities"
    assert (params["n_pcs"], params["n_neighbors"], params["metric"]) == (20, 12, "cosine")
    graphsoft.tl.predict(adata, adata, key_added="other")


@pytest.mark.parametrize("key", ["X_pca", "pca"])
def test_the_components_are_those_that_scanpy_took(blood, key):
    adata = without_results(blood)
    del adata.obsm["X_pca"]
    sc.pp.pca(adata, n_comps=12, random_state=0, key_added=None if key == "X_pca" else key)
    sc.pp.neighbors(adata)
    distances = adata.obsp["distances"].tocoo()
    points = adata.obsm[key]
    np.testing.assert_allclose(
        distances.data, np.linalg.norm(points[distances.row] - points[distances.col], axis=1), rtol=1e-4
    )
    graphsoft.tl.hierarchy(adata, LEVELS)
    assert adata.uns["graphsoft"]["params"]["use_rep"] == key
    new = adata[:50].copy()
    del new.obsm[key]
    graphsoft.tl.predict(new, adata)
    assert (new.obs[TOP].to_numpy() == adata.obs[TOP].to_numpy()[:50]).mean() > 0.95


def test_clusters_are_cell_types(blood):
    types = blood.obs["bulk_labels"].cat.codes.to_numpy()
    assert graphsoft.metrics.adjusted_rand(types, blood.obs["graphsoft_level_1"].cat.codes.to_numpy()) > 0.45


@pytest.mark.parametrize("kind", ["h5ad", "zarr", "backed"])
def test_scanpy_draws_the_hierarchy(blood, kind, tmp_path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    adata = read_again(blood, tmp_path, kind)
    for level, count in enumerate(LEVELS):
        axes = sc.pl.dendrogram(adata, f"graphsoft_level_{level}", show=False)
        labels = [text.get_text() for text in axes.get_xticklabels()]
        assert len(axes.lines) == count - 1
        assert labels == list(adata.uns[f"dendrogram_graphsoft_level_{level}"]["categories_ordered"])
    sc.pl.correlation_matrix(adata, TOP, show=False)
    if kind != "backed":
        genes = ["CD79A", "CST3", "NKG7"]
        drawn = sc.pl.dotplot(adata, genes, groupby="graphsoft_level_1", dendrogram=True, show=False)
        assert "group_extra_ax" in drawn
        sc.pl.umap(adata, color=[TOP, f"{TOP}_entropy"], show=False)
    plt.close("all")


def test_other_tools_of_scanpy_take_the_clusters(blood):
    adata = blood.copy()
    sc.tl.rank_genes_groups(adata, TOP, method="t-test")
    assert set(adata.uns["rank_genes_groups"]["names"].dtype.names) == {f"2-{q}" for q in range(4)}
    table = sc.get.obs_df(adata, [TOP], obsm_keys=[(TOP, 1)])
    assert np.array_equal(table[f"{TOP}-1"], adata.obsm[TOP].toarray()[:, 1])
    sc.tl.paga(adata, groups=TOP)


def test_held_out_cells_go_to_their_types(blood):
    held = np.arange(blood.n_obs) % 4 == 0
    reference = without_results(blood[~held])
    for name in ("X_pca", "X_umap"):
        del reference.obsm[name]
    new = without_results(blood[held])
    sc.pp.pca(reference, random_state=0)
    sc.pp.neighbors(reference)
    graphsoft.tl.hierarchy(reference, LEVELS)
    graphsoft.tl.predict(new, reference)
    agreement = graphsoft.metrics.adjusted_rand(
        blood.obs[TOP][held].cat.codes.to_numpy(), new.obs[TOP].cat.codes.to_numpy()
    )
    assert agreement > 0.7
    # the space of scanpy's ingest
    projected = new.copy()
    projected.obsm["X_pca"] = (new.X - reference.X.mean(axis=0)) @ reference.varm["PCs"]
    graphsoft.tl.predict(projected, reference, use_rep="X_pca")
    assert (projected.obs[TOP] == new.obs[TOP]).all()
