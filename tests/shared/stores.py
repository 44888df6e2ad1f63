"""Rows in stores of one file or folder."""

import numpy as np


def h5ad(path, values):
    import anndata

    anndata.AnnData(values).write_h5ad(path)
    return path


def zarr_array(path, values):
    import zarr

    zarr.save_array(str(path), values)
    return path


def memmap(path, values):
    np.save(path, values)
    return np.load(path, mmap_mode="r")
