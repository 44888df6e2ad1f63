"""Clusters of the cells of AnnData objects: what is written, from which graph, and what is refused."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import is_valid_linkage, leaves_list

import graphsoft
from graphsoft.errors import InputError
from shared.cells import cells, read_again, same_result
from shared.new_points import same
from shared.shapes import cloud

pytest.importorskip("anndata")

LEVELS = [12, 5, 2]


@given(st.integers(20, 60), st.integers(0, 100))
@settings(max_examples=20)
def test_everything_is_written_as_it_was_found(n, seed):
    adata = cells(n, seed)
    graphsoft.tl.hierarchy(adata, LEVELS)
    h = graphsoft.hierarchy(adata.obsp["connectivities"], LEVELS)
    for at, level in enumerate(h):
        name = f"graphsoft_level_{at}"
        assert adata.obs[name].tolist() == [f"{at}-{label}" for label in level.labels]
        assert adata.obs[name].cat.categories.tolist() == [f"{at}-{q}" for q in range(LEVELS[at])]
        assert same(sp.csr_array(adata.obsm[name]), level.memberships)
        assert np.array_equal(adata.obs[f"{name}_entropy"], level.entropy)
    found = adata.uns["graphsoft"]
    assert found["params"]["levels"].tolist() == LEVELS
    for at in range(2):
        assert same(sp.csr_array(found["parents"][f"level_{at}"]), h[at].parents)
    assert found["tree"].index.tolist() == [node.id for node in h.tree.nodes[:-1]]
    assert found["tree"]["parent"].tolist() == [node.parent for node in h.tree.nodes[:-3]] + ["", ""]
    assert found["tree"].groupby("level")["size"].sum().tolist() == [adata.n_obs] * 3


def test_every_level_has_a_dendrogram_of_its_own():
    adata = cells()
    graphsoft.tl.hierarchy(adata, LEVELS)
    for at, count in enumerate(LEVELS):
        found = adata.uns[f"dendrogram_graphsoft_level_{at}"]
        assert is_valid_linkage(found["linkage"])
        assert len(found["linkage"]) == count - 1
        leaves = leaves_list(found["linkage"])
        assert list(found["categories_idx_ordered"]) == list(leaves)
        assert list(found["categories_ordered"]) == [f"{at}-{leaf}" for leaf in leaves]
        assert np.allclose(
            found["correlation_matrix"], np.corrcoef(adata.obsm[f"graphsoft_level_{at}"].toarray().T)
        )


def test_clusters_of_one_parent_stand_together():
    adata = cells()
    graphsoft.tl.hierarchy(adata, LEVELS)
    order = adata.uns["dendrogram_graphsoft_level_0"]["categories_ordered"]
    parents = adata.uns["graphsoft"]["tree"].loc[list(order), "parent"].tolist()
    assert sum(a != b for a, b in pairwise(parents)) == LEVELS[1] - 1


def test_a_level_with_one_cluster_has_no_dendrogram():
    adata = cells()
    graphsoft.tl.hierarchy(adata, [3, 1])
    assert "dendrogram_graphsoft_level_0" in adata.uns
    assert "dendrogram_graphsoft_level_1" not in adata.uns
    assert adata.uns["graphsoft"]["tree"]["parent"].tolist() == ["1-0"] * 3 + [""]


def test_thousands_of_clusters_get_no_dendrogram():
    adata = cells(900)
    graphsoft.tl.hierarchy(adata, [400, 20])
    assert "dendrogram_graphsoft_level_0" not in adata.uns
    assert "dendrogram_graphsoft_level_1" in adata.uns


def test_the_graph_can_be_chosen():
    adata = cells(other=True)
    X, key = adata.obsm["X_pca"], "other_connectivities"
    for options, given_graph in (
        ({}, adata.obsp["connectivities"]),
        ({"neighbors_key": "other"}, adata.obsp[key]),
        ({"obsp": key}, adata.obsp[key]),
        ({"use_rep": "X_pca"}, X),
        ({"use_rep": "X"}, adata.X),
    ):
        graphsoft.tl.hierarchy(adata, LEVELS, **options)
        h = graphsoft.hierarchy(given_graph, LEVELS)
        assert same(sp.csr_array(adata.obsm["graphsoft_level_0"]), h[0].memberships)


def test_a_copy_is_changed_in_place_of_the_original():
    adata = cells()
    changed = graphsoft.tl.hierarchy(adata, LEVELS, copy=True)
    assert "graphsoft" not in adata.uns
    assert graphsoft.tl.hierarchy(adata, LEVELS) is None
    same_result(adata, changed)


def test_another_run_replaces_the_first_and_spares_others():
    adata = cells()
    graphsoft.tl.hierarchy(adata, LEVELS, key_added="mine")
    before = adata.copy()
    graphsoft.tl.hierarchy(adata, LEVELS)
    graphsoft.tl.hierarchy(adata, [3])
    assert [name for name in adata.obs if "graphsoft" in name] == [
        "graphsoft_level_0",
        "graphsoft_level_0_entropy",
    ]
    assert [name for name in adata.uns if "graphsoft" in name] == [
        "dendrogram_graphsoft_level_0",
        "graphsoft",
    ]
    same_result(adata, before, "mine")


def test_levels_can_be_found_too():
    adata = cells()
    graphsoft.tl.hierarchy(adata, "auto")
    assert adata.uns["graphsoft"]["params"]["levels"][-1] >= 1


@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
def test_saved_and_read_again(kind, tmp_path):
    adata = cells()
    graphsoft.tl.hierarchy(adata, LEVELS)
    same_result(adata, read_again(adata, tmp_path, kind))


def test_a_file_on_disk_is_clustered_as_it_is(tmp_path):
    adata = cells()
    backed = read_again(adata, tmp_path, "backed")
    for options in ({}, {"use_rep": "X"}, {"use_rep": "X_pca"}):
        for each in (adata, backed):
            graphsoft.tl.hierarchy(each, LEVELS, **options)
        assert backed.isbacked
        same_result(adata, backed)


@pytest.mark.filterwarnings("ignore:.*view.*")
def test_a_view_becomes_an_object_of_its_own():
    adata = cells()
    view = adata[20:]
    graphsoft.tl.hierarchy(view, [4])
    assert view.obs["graphsoft_level_0"].nunique() == 4
    assert "graphsoft" not in adata.uns


@pytest.mark.parametrize(
    ("options", "argument", "problem"),
    [
        ({"obsp": "no"}, "obsp", "there is no adata.obsp"),
        ({"neighbors_key": "no"}, "neighbors_key", "there is no adata.uns"),
        ({"use_rep": "no"}, "use_rep", "there is no obsm"),
        ({"obsp": "distances", "neighbors_key": "other"}, "obsp", "together with neighbors_key"),
        ({"use_rep": "X", "obsp": "distances"}, "use_rep", "together with obsp"),
        ({"use_rep": "X", "neighbors_key": "other"}, "use_rep", "together with neighbors_key"),
        ({"obsp": "bad"}, "adata.obsp['bad']", "negative"),
        ({"use_rep": "X_bad"}, "adata.obsm['X_bad']", "NaN"),
        ({"key_added": "a/b"}, "key_added", "a/b"),
        ({"key_added": "neighbors"}, "key_added", "holds something else"),
        ({"levels": [3, 5]}, "levels", "does not fall"),
    ],
)
def test_what_cannot_be_used_is_refused(options, argument, problem):
    adata = cells()
    adata.obsp["bad"] = -adata.obsp["connectivities"]
    adata.obsm["X_bad"] = np.full((adata.n_obs, 2), np.nan)
    with pytest.raises(InputError, match=problem) as caught:
        graphsoft.tl.hierarchy(adata, **({"levels": LEVELS} | options))
    assert caught.value.argument == argument
    assert "graphsoft" not in adata.uns


def test_cells_without_a_graph_are_refused():
    import anndata

    with pytest.raises(InputError, match=r"run sc\.pp\.neighbors"):
        graphsoft.tl.hierarchy(anndata.AnnData(cloud()), [2])
    with pytest.raises(InputError, match="pass an AnnData object"):
        graphsoft.tl.hierarchy(cloud(), [2])


def test_a_missing_anndata_is_named():
    code = """if True:
        import sys
        sys.modules["anndata"] = None
        import graphsoft
        try:
            graphsoft.tl.hierarchy(None, [2])
        except ImportError as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'graphsoft[anndata]'" in done.stdout
