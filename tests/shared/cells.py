"""AnnData objects as scanpy leaves them after a PCA and a search for neighbors, made without scanpy."""

import numpy as np
import scipy.sparse as sp

import graphsoft
from shared.shapes import cloud


def cells(n=60, seed=0, *, sparse=False, other=False, n_pcs=None, variables=55):
    """Cells with X, components, loadings and one or two graphs."""
    from anndata import AnnData

    rng = np.random.default_rng(seed)
    n -= n % 5
    low = cloud(n, seed, d=8)
    X = (low @ rng.normal(size=(8, variables)) + 0.1 * rng.normal(size=(n, variables))).astype(np.float32)
    X = X * (rng.random(X.shape) < 0.9) if sparse else X
    _, _, loadings = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    adata = AnnData(sp.csr_matrix(X) if sparse else X)
    adata.varm["PCs"] = loadings[:10].T
    adata.obsm["X_pca"] = (X - X.mean(axis=0)) @ loadings[:10].T
    add_neighbors(adata, None, adata.obsm["X_pca"][:, :n_pcs], n_pcs)
    if other:
        add_neighbors(adata, "other", X, None, use_rep="X", metric="manhattan")
    return adata


def add_neighbors(adata, key, X, n_pcs, **params):
    """Write a graph and its parameters as ``sc.pp.neighbors`` does."""
    before = "" if key is None else f"{key}_"
    metric = params.get("metric", "euclidean")
    adata.obsp[f"{before}connectivities"] = sp.csr_matrix(
        graphsoft.knn_graph(X, 9, metric).adjacency.astype(np.float32)
    )
    params |= {"n_neighbors": 9, "metric": metric} | ({} if n_pcs is None else {"n_pcs": n_pcs})
    adata.uns[key or "neighbors"] = {
        "connectivities_key": f"{before}connectivities",
        "distances_key": f"{before}distances",
        "params": params,
    }


def read_again(adata, folder, kind):
    """Write an object to a file, and read it."""
    import anndata

    path = folder / f"cells.{kind}"
    if kind == "zarr":
        adata.write_zarr(path)
        return anndata.read_zarr(path)
    adata.write_h5ad(path)
    return anndata.read_h5ad(path, backed="r" if kind == "backed" else None)


def same_result(one, other, key="graphsoft"):
    """Compare everything that belongs to a key."""
    names = [name for name in one.obs if name.startswith(f"{key}_level")]
    assert names
    assert names == [name for name in other.obs if name.startswith(f"{key}_level")]
    for name in names:
        assert one.obs[name].tolist() == other.obs[name].tolist()
    for name in (name for name in names if name in one.obsm):
        assert (one.obsm[name] != other.obsm[name]).nnz == 0
        assert one.obs[name].cat.categories.tolist() == other.obs[name].cat.categories.tolist()
        dendrogram = f"dendrogram_{name}"
        assert np.array_equal(one.uns[dendrogram]["linkage"], other.uns[dendrogram]["linkage"])
    assert one.uns[key]["tree"].astype(str).equals(other.uns[key]["tree"].astype(str))
    assert {name: str(value) for name, value in one.uns[key]["params"].items()} == {
        name: str(value) for name, value in other.uns[key]["params"].items()
    }


def without_results(adata, key="graphsoft"):
    """Copy the cells without what was found for them."""
    bare = adata.copy()
    for held in (bare.obs, bare.obsm):
        for name in [name for name in held if name.startswith(f"{key}_level")]:
            del held[name]
    bare.uns.pop(key, None)
    return bare
