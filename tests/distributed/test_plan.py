"""Plans of runs: settled once, and then compared."""

import json
import zlib
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphsoft
from graphsoft.distributed.plan import Plan, earlier, mark_of, settled

PLAN = Plan(
    kind="points", rows=1001, features=8, sparse=False, partitions=4, chunk_rows=250, lends=2, n_neighbors=10,
    metric="euclidean", weights="local-scaling", levels=(40, 8), max_memory=10**9, coarse_nodes=1200,
    identity={"files": {"a.npy": [1001, 17]}, "type": "float32"}, asked={"rounds": 1},
)  # fmt: skip


def test_chunks():
    assert list(PLAN.chunks) == [0, 1, 2, 3, 4]
    assert [PLAN.chunk(i) for i in (0, 3, 4)] == [(0, 250), (750, 1000), (1000, 1001)]
    assert list(PLAN.parts) == [0, 1, 2, 3]


def test_plan_comes_back(tmp_path):
    assert settled(tmp_path, PLAN) == PLAN
    assert settled(tmp_path, PLAN) == PLAN
    assert settled(tmp_path, replace(PLAN, rows=np.int64(1001))) == PLAN


OTHERS = {
    "kind": "graph", "rows": 1002, "features": 9, "sparse": True, "partitions": 5, "chunk_rows": 251,
    "lends": 3, "n_neighbors": 11, "metric": "cosine", "weights": "gaussian", "levels": (40, 9),
    "max_memory": 1, "coarse_nodes": 7, "identity": {"files": {"a.npy": [1001, 18]}, "type": "float32"},
    "asked": {"rounds": 2}, "version": "0.0.7",
}  # fmt: skip


@pytest.mark.parametrize("name", [field.name for field in fields(Plan)])
def test_another_plan_is_refused(tmp_path, name):
    settled(tmp_path, PLAN)
    shown = {
        "identity": "identity files a.npy", "asked": "asked rounds", "rows": "the number of rows",
        "features": "the number of columns",
    }.get(name, name)  # fmt: skip
    with pytest.raises(
        graphsoft.InputError, match=rf"directory: .* another plan: {shown} was .* and is .*another directory"
    ):
        settled(tmp_path, replace(PLAN, **{name: OTHERS[name]}))
    assert settled(tmp_path, PLAN) == PLAN


def test_what_is_not_known_is_settled_later(tmp_path):
    draft = replace(PLAN, lends=-1)
    assert settled(tmp_path, draft).lends == -1
    assert settled(tmp_path, draft).lends == -1
    with pytest.raises(graphsoft.InputError, match="metric was 'euclidean' and is 'cosine'"):
        settled(tmp_path, replace(draft, metric="cosine", lends=3))
    assert settled(tmp_path, PLAN).lends == 2
    assert settled(tmp_path, draft) == PLAN
    with pytest.raises(graphsoft.InputError, match="lends was 2 and is 3"):
        settled(tmp_path, replace(PLAN, lends=3))


@pytest.mark.parametrize("name", [field.name for field in fields(Plan)])
def test_mark_is_of_all_but_what_is_settled_later(name):
    other = mark_of(replace(PLAN, **{name: OTHERS[name]}))
    assert (other == mark_of(PLAN)) == (name == "lends")
    assert mark_of(replace(PLAN, rows=np.int64(1001))) == mark_of(PLAN)


def test_plan_of_another_version(tmp_path):
    settled(tmp_path, PLAN)
    content = json.loads((tmp_path / "plan.json").read_text())
    other = {"version": "0.0.7", "layout": "of which nothing is known"}
    (tmp_path / "plan.json").write_text(json.dumps(other))
    words = rf"was begun by graphsoft 0\.0\.7, and this is {content['version']}.*finish it with that version"
    with pytest.raises(graphsoft.InputError, match=words):
        settled(tmp_path, PLAN)


@given(st.integers(0, 10**4), st.integers(0, 7))
def test_damaged_plan_is_written_again(tmp_path_factory, position, bit):
    folder = tmp_path_factory.mktemp("plan")
    settled(folder, PLAN)
    path = folder / "plan.json"
    content = bytearray(path.read_bytes())
    content[position % len(content)] ^= 1 << bit
    path.write_bytes(content)
    assert settled(folder, PLAN) == PLAN
    assert Plan(**earlier(folder) | {"levels": PLAN.levels}) == PLAN


def test_other_data_are_named_in_words(tmp_path):
    settled(tmp_path, replace(PLAN, identity={"digest": "1f", "d": 3}))
    with pytest.raises(graphsoft.InputError, match="another plan: the data are others, or") as caught:
        settled(tmp_path, replace(PLAN, identity={"digest": "2f", "d": 3}))
    assert "2f" not in str(caught.value)
    assert "times of change" in caught.value.remedy
    assert "graphsoft.load" in caught.value.remedy


def test_other_columns_and_files_are_named_in_words(tmp_path):
    settled(tmp_path, replace(PLAN, identity={"d": 8, "n": 1001, "files": 8}))
    with pytest.raises(graphsoft.InputError) as caught:
        settled(tmp_path, replace(PLAN, features=9, identity={"d": 9, "n": 1001, "files": 10}))
    assert caught.value.problem.partition("plan: ")[2] == (
        "the number of columns was 8 and is 9; the number of files was 8 and is 10"
    )
    assert "times of change" not in caught.value.remedy


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("partitions", -3), ("partitions", "2"), ("partitions", None), ("max_memory", float("inf")),
        ("lends", []), ("levels", "abc"), ("levels", 3), ("identity", []), ("another", 1), ("sparse", 0),
    ],
)  # fmt: skip
def test_plan_changed_by_hand(tmp_path, name, value):
    settled(tmp_path, PLAN)
    content = json.loads((tmp_path / "plan.json").read_text())
    content["plan"][name] = value
    content["check"] = zlib.crc32(json.dumps(content["plan"]).encode())
    (tmp_path / "plan.json").write_text(json.dumps(content))
    assert earlier(tmp_path) is None
    assert settled(tmp_path, PLAN) == PLAN
    assert earlier(tmp_path) is not None


@pytest.mark.parametrize(
    "text", ["", "[]", "[" * 10**5, '{"version": Infinity}', '{"version": 1, "plan": 3}']
)
def test_file_that_holds_no_plan(tmp_path, text):
    (tmp_path / "plan.json").write_text(text)
    assert earlier(tmp_path) is None
    assert settled(tmp_path, PLAN) == PLAN
