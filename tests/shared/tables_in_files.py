"""The same table in files of every format, cut in any way."""

from itertools import pairwise

import numpy as np
import scipy.sparse as sp

DENSE = ("npy", "npy by column", "parquet", "lists", "h5ad", "obsm", "zarr", "zarr 2", "zarr anndata")
SPARSE = ("h5ad sparse", "zarr sparse")
FORMATS = DENSE + SPARSE


def slices(table, cuts):
    edges = [0, *sorted(cuts), table.shape[0]]
    return [table[a:b] for a, b in pairwise(edges)]


def write_parts(folder, table, form, cuts=()):
    """Write a table into a new folder; returns it, and the part of its files that holds the table."""
    folder.mkdir()
    for number, part in enumerate(slices(table, cuts)):
        write_part(folder, f"part {number}", part, form)
    return folder, "obsm/X_pca" if form == "obsm" else None


def write_part(folder, name, table, form):
    if form.startswith("npy"):
        np.save(folder / f"{name}.npy", np.asfortranarray(table) if form == "npy by column" else table)
    elif form in ("parquet", "lists"):
        write_parquet(folder / f"{name}.parquet", table, form == "lists")
    elif form in ("h5ad", "obsm", "h5ad sparse"):
        anndata_of(table, form).write_h5ad(folder / f"{name}.h5ad", compression="gzip")
    elif form in ("zarr", "zarr 2"):
        import zarr

        chunks = (min(3, max(1, len(table))), max(1, table.shape[1] - 1))
        version = 2 if form == "zarr 2" else 3
        zarr.create_array(str(folder / f"{name}.zarr"), data=table, chunks=chunks, zarr_format=version)
    else:
        anndata_of(table, form).write_zarr(folder / f"{name}.zarr")


def write_parquet(path, table, lists=False, rows=4):
    import pyarrow as pa
    import pyarrow.parquet as pq

    if lists:
        flat = pa.array(np.ascontiguousarray(table).ravel())
        columns = {"vector": pa.FixedSizeListArray.from_arrays(flat, table.shape[1])}
    else:
        columns = {f"column {k}": table[:, k] for k in range(table.shape[1])}
    pq.write_table(pa.table(columns), path, row_group_size=rows)


def anndata_of(table, form):
    import anndata

    if form == "obsm":
        return anndata.AnnData(shape=(len(table), 0), obsm={"X_pca": table})
    return anndata.AnnData(sp.csr_matrix(table) if "sparse" in form else table)
