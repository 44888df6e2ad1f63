import dataclasses

import numpy as np
import pytest

import graphsoft
from distributed import Client as DaskClient
from distributed import LocalCluster
from graphsoft import InputError
from graphsoft.distributed.joining import (
    MOST_NUMBERED,
    MOST_PARTITIONS,
    PART_BITS,
    first_row,
    partition_of,
)
from graphsoft.distributed.plan import PROCESS, settled
from graphsoft.distributed.planning import ENOUGH, USED, memory_of, partitions_of, plan_of, row_bytes_of
from graphsoft.distributed.sources import source_of
from graphsoft.fitting.settings import Settings
from graphsoft.methods import METHODS
from shared.made_rows import MadeRows

X = np.random.default_rng(0).normal(size=(500, 5))


def settings(levels=(10, 3), metric="euclidean"):
    methods = (METHODS["relation"],) * len(levels)
    return Settings(tuple(levels), methods, True, 10, metric, "local-scaling")


class Client:
    """Only what is asked of a client: the workers."""

    def __init__(self, *limits):
        self.limits = limits

    def scheduler_info(self, n_workers):
        assert n_workers == -1  # or it tells of five only
        return {"workers": {str(i): {"memory_limit": size} for i, size in enumerate(self.limits)}}


def test_memory_is_that_of_the_smallest_worker():
    assert memory_of(None, Client(3 * 10**9, 2 * 10**9)) == 2 * 10**9
    assert memory_of("2GB", Client(3 * 10**9)) == 2 * 10**9
    with pytest.raises(InputError, match=r"max_memory: got 4\.0 GB, and a worker may take 3\.0 GB"):
        memory_of("4GB", Client(3 * 10**9))


def test_memory_is_not_guessed_where_no_worker_is_there_yet(tmp_path):
    with (
        LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster,
        DaskClient(cluster, set_as_default=False) as client,
    ):
        with pytest.raises(InputError, match=r"max_memory: no worker is there yet.*wait_for_workers\(1\)"):
            graphsoft.hierarchy(X, (10, 3), directory=tmp_path, client=client)
        assert memory_of("2GB", client) == 2 * 10**9


def test_without_limits_workers_share_what_there_is():
    assert memory_of(None, Client(0, 0)) <= memory_of(None, None) / 1.9


@pytest.mark.parametrize("given", ["", "2 PB", "1e9", -1, 0, True, 2.5, "nan", "100MB", 10**8])
def test_memory_that_is_none_is_refused(given):
    with pytest.raises(InputError, match="max_memory"):
        memory_of(given, None)


@pytest.mark.parametrize("memory", [4 * 10**8, 10**9, 10**10])
@pytest.mark.parametrize("each", [10.0, 1e3, 1e5])
def test_the_least_number_of_partitions_fits_and_one_less_does_not(memory, each):
    rows = 100_000

    def needed(count):
        return {"sweep": each * rows / count, "read-edges": 10.0}

    found = partitions_of(rows, None, memory, needed)
    assert needed(found)["sweep"] <= USED * memory
    assert partitions_of(rows, found, memory, needed) == found
    if found > 1:
        with pytest.raises(InputError, match=f"at least {found}"):
            partitions_of(rows, found - 1, memory, needed)


def test_more_partitions_than_have_numbers_are_refused():
    def needed(count):
        return {"sweep": 1e15 / count}

    assert partitions_of(10**12, MOST_PARTITIONS, 2 * 10**9, needed) == MOST_PARTITIONS
    with pytest.raises(InputError, match=f"partitions: got {MOST_PARTITIONS + 1}.* at most"):
        partitions_of(10**12, MOST_PARTITIONS + 1, 2 * 10**9, needed)
    with pytest.raises(InputError, match="whatever the partitions are"):
        partitions_of(10**12, None, 10**9, lambda count: {"sweep": 1e16 / count})
    rows, parts = np.array([0, MOST_NUMBERED - 1]), np.array([MOST_PARTITIONS - 1, 5])
    keys = (rows << PART_BITS) | parts
    assert (first_row(keys) == rows).all()
    assert (partition_of(keys) == parts).all()


def test_more_rows_than_have_numbers_are_refused(tmp_path):
    source = MadeRows(MOST_NUMBERED + 1, 3)
    with pytest.raises(InputError, match=f"X: has {MOST_NUMBERED + 1} rows"):
        plan_of(source, settings(), tmp_path, None, "1GB")


def test_there_are_no_more_partitions_than_enough_unless_memory_asks_for_them():
    assert partitions_of(10**9, None, 10**10, lambda count: {"sweep": 1e12 / count}) == ENOUGH
    assert partitions_of(10**9, None, 10**10, lambda count: {"sweep": 3e13 / count}) == 4000


def test_what_fits_in_no_partition_is_refused():
    with pytest.raises(InputError, match=r"max_memory: may need 2\.0 GB in the stage 'read-edges'"):
        partitions_of(1000, None, 10**9, lambda count: {"read-edges": 2e9})


@pytest.mark.parametrize(
    ("columns", "levels", "memory"),
    [(3, (10, 3), "360MB"), (20_000, (10, 3), "400MB"), (3, (9000, 3), "1GB")],
)
def test_memory_that_is_said_to_be_enough_is_enough_and_no_more(tmp_path, columns, levels, memory):
    rows = MadeRows(3_000_000, columns)
    with pytest.raises(InputError, match=r"max_memory: .*Remedy: allow at least \d+ MB\.") as caught:
        plan_of(rows, settings(levels), tmp_path, None, memory)
    enough = int(caught.value.remedy.split()[3])
    plan_of(rows, settings(levels), tmp_path, None, f"{enough} MB")
    with pytest.raises(InputError, match=f"allow at least {enough} MB"):
        plan_of(rows, settings(levels), tmp_path, None, f"{enough - 1} MB")


def test_very_little_memory_is_told_in_bytes():
    with pytest.raises(InputError, match="a process may take 2 bytes"):
        memory_of(2, None)


def test_no_more_neighbors_are_planned_than_there_are_points(tmp_path):
    source = source_of(X, tmp_path)
    given = dataclasses.replace(settings(), n_neighbors=10**7)
    assert plan_of(source, given, tmp_path, None, "1GB").n_neighbors == 10**7


def test_what_grows_with_partitions_does_not_hide_those_that_fit():
    def needed(count):
        return {"sweep": 1e10 / count, "cells": 1e6 * count}

    assert partitions_of(10**6, None, 10**9, needed) == 14
    with pytest.raises(InputError, match="max_memory"):
        partitions_of(10**6, None, 10**9, lambda count: {"sweep": 1e12 / count, "cells": 1e6 * count})


def test_a_plan_does_not_depend_on_how_it_was_come_by(tmp_path):
    source = source_of(X, tmp_path)
    first = settled(tmp_path, plan_of(source, settings(), tmp_path, None, "2GB", 3))
    assert (first.partitions, first.max_memory, first.lends) == (3, 2 * 10**9, -1)
    assert settled(tmp_path, dataclasses.replace(first, lends=2)).lends == 2
    # what is left out, and more memory, change nothing
    for asked in ({}, {"max_memory": "3GB"}, {"partitions": 3}):
        again = settled(tmp_path, plan_of(source, settings(), tmp_path, **asked))
        assert again == dataclasses.replace(first, lends=2)
    for asked in ({"max_memory": "1GB"}, {"partitions": 4}):
        with pytest.raises(InputError, match=next(iter(asked))):
            settled(tmp_path, plan_of(source, settings(), tmp_path, **asked))


def test_other_metrics_than_norms_have_one_partition(tmp_path, monkeypatch):
    monkeypatch.setattr("graphsoft.distributed.planning.MOST_ROWS", 100)
    source = source_of(X, tmp_path)
    assert plan_of(source, settings(), tmp_path).partitions == 5
    assert plan_of(source, settings(metric="canberra"), tmp_path).partitions == 1


def test_rows_are_read_in_chunks_that_fit(tmp_path):
    wide = source_of(np.zeros((4, 100_000)), tmp_path / "wide")
    narrow = source_of(X, tmp_path / "narrow")
    plans = [plan_of(each, settings((2,)), tmp_path, None, "1GB") for each in (wide, narrow)]
    assert plans[0].chunk_rows == 256
    assert plans[1].chunk_rows == 1 << 18


def test_sparse_rows_are_as_long_as_those_all_over_the_data(tmp_path):
    import scipy.sparse as sp

    random = np.random.default_rng(0)
    few, many = (
        sp.random_array((10_000, 30_000), density=density, format="csr", rng=random)
        for density in (0.001, 0.01)
    )
    for number, parts in enumerate(([few, many], [many, few])):
        source = source_of(sp.vstack(parts, format="csr"), tmp_path / str(number))
        assert row_bytes_of(source) == pytest.approx(12 * (30 + 300) / 2, rel=0.05)


def test_sparse_rows_are_looked_at(tmp_path):
    import scipy.sparse as sp

    rows = sp.random_array((5000, 30_000), density=0.2, format="csr", rng=np.random.default_rng(0))
    plan = plan_of(source_of(rows, tmp_path), settings((2,)), tmp_path, None, "1GB")
    assert plan.sparse
    assert plan.chunk_rows == pytest.approx(1e9 * (USED - PROCESS / 1e9) / 12 / (12 * 6000), rel=0.05)


def test_graphs_have_as_many_partitions_as_their_edges_need(tmp_path):
    ends = np.random.default_rng(0).integers(0, 1000, (2, 5000))
    np.savez(tmp_path / "edges.npz", row=ends[0], col=ends[1], shape=np.array([1000, 1000]))
    graph = graphsoft.partitioned_graph(tmp_path / "edges.npz")
    plan = plan_of(graph, settings(), tmp_path, None, "1GB")
    assert (plan.kind, plan.partitions, plan.lends, plan.features) == ("graph", 1, 0, 0)
    with pytest.raises(InputError, match="partitions"):
        plan_of(graph, settings(), tmp_path, None, "1GB", 1001)
