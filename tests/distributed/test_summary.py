"""The summary of a result on disk: it comes back, and one that somebody changed is refused."""

import copy
import json
import shutil
from dataclasses import fields

import numpy as np
import pytest
import scipy.sparse as sp

import graphsoft
from graphsoft import InputError
from graphsoft.distributed import summary as summaries
from graphsoft.distributed.plan import Plan
from graphsoft.distributed.summary import SUMMARY, LevelSummary, Summary, read_summary, write_summary
from graphsoft.storage.container import read_container, write_container
from shared.saved import digest_of
from shared.shapes import cloud
from shared.stored_twin import stored_twin


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    h = graphsoft.hierarchy(cloud(30, centers=3), [4, 2], n_neighbors=4)
    return stored_twin(h.name_clusters({"0-1": "one"}), tmp_path_factory.mktemp("twin")).directory


def test_it_comes_back_to_the_last_bit(directory, tmp_path):
    found = read_summary(directory)
    write_summary(tmp_path, found)
    assert (tmp_path / SUMMARY).read_bytes() == (directory / SUMMARY).read_bytes()
    again = read_summary(tmp_path)
    assert again.plan == found.plan
    assert again.cluster_names == {"0-1": "one"}
    assert digest_of(again.steps) == digest_of(found.steps)
    for one, other in zip(again.levels, found.levels, strict=True):
        for each in fields(LevelSummary):
            assert digest_of(getattr(one, each.name)) == digest_of(getattr(other, each.name))


def test_all_fields_are_written():
    assert {*summaries.FIELDS, *summaries.AS_JSON} == {each.name for each in fields(Plan)}
    written = {"plan", "levels", "report", "settings", "columns", "cluster_names", "steps"}
    written |= {"bare", "least_scale"}
    assert written == {each.name for each in fields(Summary)}


def places(value, path=()):
    """Every place in a description."""
    yield path
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(each, (*path, key))


def changed(content, path, value):
    content = copy.deepcopy(content)
    if not path:
        return value
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return content


@pytest.mark.parametrize("value", [None, -7, "x", {}, [], 10**30])
def test_any_other_value_is_refused_or_taken_as_it_is(directory, tmp_path, value):
    whole = read_container(directory / SUMMARY)
    for path in places(whole.content):
        if not path:
            continue
        content = changed(whole.content, path, value)
        write_container(tmp_path / SUMMARY, whole.kind, content, whole.arrays, whole.made_by)
        found = outcome(tmp_path)
        if isinstance(found, InputError):
            assert found.problem
            assert found.remedy
            assert len(str(found)) < 700
        else:
            assert str(found.tree)
            assert str(found.report)
            json.loads(found.to_json())


@pytest.mark.parametrize(
    ("name", "value"), [("n_neighbors", 5), ("metric", "cosine"), ("weights", "gaussian")]
)
def test_settings_are_those_of_the_plan(directory, tmp_path, name, value):
    whole = read_container(directory / SUMMARY)
    content = changed(whole.content, ("settings", name), value)
    write_container(tmp_path / SUMMARY, whole.kind, content, whole.arrays, whole.made_by)
    with pytest.raises(InputError, match=r"path: .* holds no sound result: settings of another run"):
        graphsoft.load(tmp_path)


def test_plan_is_that_of_the_files(directory, tmp_path):
    shutil.copytree(directory, tmp_path / "run")
    whole = read_container(directory / SUMMARY)
    content = changed(whole.content, ("plan", "max_memory"), 7)
    write_container(tmp_path / "run" / SUMMARY, whole.kind, content, whole.arrays, whole.made_by)
    found = graphsoft.load(tmp_path / "run")
    with pytest.raises(InputError, match=r"directory: .* is of another run"):
        found[0].labels[:3]


def outcome(directory):
    try:
        return graphsoft.load(directory)
    except InputError as error:
        return error


def test_arrays_of_another_kind_are_refused(directory, tmp_path):
    whole = read_container(directory / SUMMARY)
    others = (
        lambda values: values[:-1],
        lambda values: values.astype(np.int8),
        lambda values: -values - 1,
        lambda values: np.full(values.shape, np.iinfo(np.int64).max),
        lambda values: np.full(values.shape, np.nan),
        lambda values: np.full(values.shape, 1e308),
        lambda values: values[:, None],
    )
    refused = 0
    for name in whole.arrays:
        for other in others:
            arrays = {**whole.arrays, name: other(whole.arrays[name])}
            write_container(tmp_path / SUMMARY, whole.kind, whole.content, arrays, whole.made_by)
            found = outcome(tmp_path)
            refused += isinstance(found, InputError)
            assert isinstance(found, InputError) or str(found.tree)
    assert refused > 6 * len(whole.arrays)


def test_every_flipped_byte_is_noticed(directory, tmp_path):
    data = bytearray((directory / SUMMARY).read_bytes())
    for place in range(0, len(data), 97):
        data[place] ^= 1
        (tmp_path / SUMMARY).write_bytes(data)
        with pytest.raises(InputError, match="path"):
            graphsoft.load(tmp_path)
        data[place] ^= 1


def test_what_does_not_fit_is_not_written(directory, tmp_path):
    found = read_summary(directory)
    level = found.levels[0]
    wrong = LevelSummary(level.parents, level.mass, level.sizes + 1, level.graph)
    with pytest.raises(ValueError, match="sizes"):
        write_summary(tmp_path, Summary(found.plan, (wrong, *found.levels[1:]), found.report, found.settings))
    wrong = LevelSummary(None, level.mass, level.sizes, sp.csr_array((4, 4)))
    with pytest.raises(ValueError, match="parents"):
        write_summary(tmp_path, Summary(found.plan, (wrong, *found.levels[1:]), found.report, found.settings))
    assert not list(tmp_path.iterdir())
