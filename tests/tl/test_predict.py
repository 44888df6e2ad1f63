"""Clusters of new cells: in which space they are compared, and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft.errors import GraphsoftWarning, InputError
from shared.cells import add_neighbors, cells, read_again, without_results
from shared.new_points import close, same

pytest.importorskip("anndata")

LEVELS = [12, 5, 2]


def split(adata, **options):
    """Cluster three of four cells, and leave the others new."""
    new = np.arange(adata.n_obs) % 4 == 0
    reference = adata[~new].copy()
    graph = reference.obsp["connectivities"]
    graphsoft.tl.hierarchy(reference, LEVELS, **options)
    assert graph.shape == (reference.n_obs, reference.n_obs)
    return reference, adata[new].copy()


def expected(reference, old, new, metric="euclidean", n_neighbors=9):
    """Compute the memberships of new cells by the hierarchy of the same graph, with features beside it."""
    graph = reference.obsp["connectivities"]
    h = graphsoft.hierarchy(graph, LEVELS, features=old, metric=metric, n_neighbors=n_neighbors)
    return [h.predict_proba(new, level) for level in range(len(h))]


@given(st.integers(0, 50), st.booleans(), st.sampled_from([None, 4]))
@settings(max_examples=20)
def test_new_cells_are_placed_in_the_components_of_the_reference(seed, sparse, n_pcs):
    reference, new = split(cells(80, seed, sparse=sparse, n_pcs=n_pcs))
    components = new.obsm.pop("X_pca")[:, :n_pcs]  # they are projected from X
    graphsoft.tl.predict(new, reference)
    found = expected(reference, reference.obsm["X_pca"][:, :n_pcs], components)
    for level, memberships in enumerate(found):
        name = f"graphsoft_level_{level}"
        np.testing.assert_allclose(new.obsm[name].toarray(), memberships.toarray(), atol=1e-3)
        assert new.obs[name].cat.categories.tolist() == reference.obs[name].cat.categories.tolist()
        assert new.obs[name].notna().all()
        assert (new.obs[f"{name}_entropy"] >= 0).all()


def test_components_of_their_own_are_not_used():
    reference, new = split(cells(80))
    other = new.copy()
    other.obsm["X_pca"] = -other.obsm["X_pca"][:, ::-1]
    for each in (new, other):
        graphsoft.tl.predict(each, reference)
    assert (new.obsm["graphsoft_level_0"] != other.obsm["graphsoft_level_0"]).nnz == 0


def test_components_may_have_the_name_that_newer_scanpy_gives_them():
    adata = cells(80)
    reference, new = split(adata)
    graphsoft.tl.predict(new, reference)
    adata.obsm["pca"], adata.varm["pca"] = adata.obsm.pop("X_pca"), adata.varm.pop("PCs")
    renamed, again = split(adata)
    assert renamed.uns["graphsoft"]["params"]["use_rep"] == "pca"
    del again.obsm["pca"]  # they are projected from X
    graphsoft.tl.predict(again, renamed)
    for level in range(len(LEVELS)):
        name = f"graphsoft_level_{level}"
        assert (again.obsm[name] != new.obsm[name]).nnz == 0


def test_of_two_kinds_of_components_none_is_chosen():
    """Scanpy 1.12 takes one of them, and other versions the other."""
    adata = cells(80)
    adata.obsm["pca"] = adata.X[:, :3]
    reference, new = split(adata)
    assert "use_rep" not in reference.uns["graphsoft"]["params"]
    with pytest.raises(InputError, match=r"use_rep: .* not known of what reference.obsp\['connectivities'\]"):
        graphsoft.tl.predict(new, reference)
    graphsoft.tl.predict(new, reference, use_rep="X_pca")


@pytest.mark.parametrize("use_rep", ["X_pca", "X"])
def test_known_cells_keep_their_memberships_to_the_last_bit(use_rep):
    reference, _ = split(cells(80))
    again = without_results(reference)
    graphsoft.tl.predict(again, reference, use_rep=use_rep)
    for level in range(3):
        name = f"graphsoft_level_{level}"
        assert (again.obsm[name] != reference.obsm[name]).nnz == 0
        assert again.obs[name].tolist() == reference.obs[name].tolist()


def test_the_metric_of_the_neighbors_counts():
    reference, new = split(cells(80, other=True), neighbors_key="other")
    graphsoft.tl.predict(new, reference)
    graph = reference.obsp["other_connectivities"]
    h = graphsoft.hierarchy(graph, LEVELS, features=reference.X, metric="manhattan", n_neighbors=9)
    assert same(sp.csr_array(new.obsm["graphsoft_level_0"]), h.predict_proba(new.X, 0))


def test_a_representation_without_loadings_is_taken_as_it_is():
    adata = cells(80)
    adata.obsm["X_scVI"] = adata.obsm["X_pca"][:, :5]
    reference, new = split(adata, use_rep="X_scVI")
    graphsoft.tl.predict(new, reference)
    h = graphsoft.hierarchy(reference.obsm["X_scVI"], LEVELS)
    close(sp.csr_array(new.obsm["graphsoft_level_1"]), h.predict_proba(new.obsm["X_scVI"], 1).toarray())


@pytest.mark.parametrize(("variables", "n_pcs"), [(12, None), (12, 4), (55, 0)])
def test_few_variables_are_compared_as_they_are(variables, n_pcs):
    """This is what scanpy does too, also if there is a PCA; without components it does so with any number."""
    adata = cells(80, variables=variables)
    add_neighbors(adata, None, adata.X, n_pcs)
    reference, new = split(adata)
    assert reference.uns["graphsoft"]["params"]["use_rep"] == "X"
    graphsoft.tl.predict(new, reference)
    found = expected(reference, reference.X, new.X)
    assert same(sp.csr_array(new.obsm["graphsoft_level_0"]), found[0])


def test_old_files_say_less():
    """Older versions of scanpy wrote numbers into arrays, and NaN as loadings of variables left out."""
    reference, new = split(cells(80))
    reference.uns["neighbors"] = {"params": {"n_neighbors": np.array([9]), "method": "umap"}}
    graphsoft.tl.hierarchy(reference, LEVELS)
    params = reference.uns["graphsoft"]["params"]
    assert (params["n_neighbors"], params["metric"], params["use_rep"]) == (9, "euclidean", "X_pca")
    reference.X[:, 3] = new.X[:, 3] = 0.0
    reference.varm["PCs"][3] = 0.0
    reference.obsm["X_pca"] = reference.X @ reference.varm["PCs"]
    graphsoft.tl.predict(new, reference)
    marked, other = reference.copy(), without_results(new)
    marked.varm["PCs"][3] = np.nan
    graphsoft.tl.predict(other, marked)
    assert (new.obsm["graphsoft_level_0"] != other.obsm["graphsoft_level_0"]).nnz == 0


@pytest.mark.parametrize("kind", ["h5ad", "zarr", "backed"])
def test_a_reference_may_have_been_saved(kind, tmp_path):
    reference, new = split(cells(80))
    other = new.copy()
    graphsoft.tl.predict(new, reference)
    graphsoft.tl.predict(other, read_again(reference, tmp_path, kind))
    for level in range(3):
        name = f"graphsoft_level_{level}"
        assert (new.obsm[name] != other.obsm[name]).nnz == 0


def test_new_cells_may_be_on_disk_or_none_or_a_copy(tmp_path):
    reference, new = split(cells(80))
    copied = graphsoft.tl.predict(new, reference, copy=True)
    assert "graphsoft_level_0" not in new.obs
    backed = read_again(new, tmp_path, "backed")
    graphsoft.tl.predict(backed, reference)
    assert (copied.obsm["graphsoft_level_0"] != backed.obsm["graphsoft_level_0"]).nnz == 0
    none = new[:0].copy()
    graphsoft.tl.predict(none, reference)
    assert none.obsm["graphsoft_level_0"].shape == (0, LEVELS[0])


def test_what_cannot_be_written_to_is_refused_at_once(tmp_path):
    reference, new = split(cells(80))
    backed = read_again(new, tmp_path, "backed")
    for adata, copy in ((backed[:5], False), (backed, True)):
        with pytest.raises(InputError, match="to_memory"):
            graphsoft.tl.predict(adata, reference, copy=copy)
        with pytest.raises(InputError, match="to_memory"):
            graphsoft.tl.hierarchy(adata, [2], copy=copy)


def test_colors_are_taken_over():
    reference, new = split(cells(80))
    reference.uns["graphsoft_level_2_colors"] = ["#000000", "#ffffff"]
    graphsoft.tl.predict(new, reference)
    assert list(new.uns["graphsoft_level_2_colors"]) == ["#000000", "#ffffff"]


def test_part_of_a_reference_is_a_reference():
    reference, new = split(cells(120))
    graphsoft.tl.predict(new, reference[10:].copy())
    assert new.obs["graphsoft_level_0"].notna().all()


def test_cells_without_neighbors_get_a_warning():
    reference, new = split(cells(80), use_rep="X")
    reference.uns["graphsoft"]["params"]["metric"] = "cosine"
    new.X[0] = 0.0
    with pytest.warns(GraphsoftWarning, match="have no neighbors"):
        graphsoft.tl.predict(new, reference)


def set_nan(reference, new):
    new.X[0, 0] = np.nan


def log_x(reference, new):
    reference.X = np.log1p(np.abs(reference.X))


def spoil(reference, new):
    reference.obsm["graphsoft_level_1"] = 2 * reference.obsm["graphsoft_level_1"]


def lose_memberships(reference, new):
    del reference.obsm["graphsoft_level_1"]


def lose_params(reference, new):
    reference.uns["graphsoft"]["params"].pop("use_rep")


def lose_components(reference, new):
    del reference.obsm["X_pca"]


def other_metric(reference, new):
    reference.uns["graphsoft"]["params"]["metric"] = "hellinger"


def forget_all(reference, new):
    del reference.uns["graphsoft"]


@pytest.mark.parametrize(
    ("change", "options", "argument", "problem"),
    [
        (set_nan, {}, "adata.obsm['X_pca']", "NaN"),
        (log_x, {}, "reference", "which was changed since"),
        (spoil, {}, "reference", "sums to 2"),
        (lose_memberships, {}, "reference", "has no obsm"),
        (lose_params, {}, "use_rep", "it is not known of what"),
        (lose_components, {}, "use_rep", "in reference"),
        (other_metric, {}, "reference", "hellinger"),
        (forget_all, {}, "key_added", "there is no hierarchy"),
        (None, {"key_added": "other"}, "key_added", "there is no hierarchy"),
        (None, {"use_rep": "X_scVI"}, "use_rep", "there is no obsm"),
    ],
)
def test_what_cannot_be_used_is_refused(change, options, argument, problem):
    reference, new = split(cells(80))
    if change is not None:
        change(reference, new)
    with pytest.raises(InputError, match=problem) as caught:
        graphsoft.tl.predict(new, reference, **options)
    assert caught.value.argument == argument
    assert "graphsoft_level_0" not in new.obs


def test_other_variables_are_refused():
    reference, new = split(cells(80))
    for use_rep in (None, "X"):
        with pytest.raises(InputError, match="does not have the variables of the reference"):
            graphsoft.tl.predict(new[:, ::-1].copy(), reference, use_rep=use_rep)
    with pytest.raises(InputError, match="pass an AnnData object"):
        graphsoft.tl.predict(new.X, reference)
