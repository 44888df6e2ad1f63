"""Sound archives of models that are not: refused, or as harmless as any other model."""

import contextlib
import json

import numpy as np
import pytest

import graphsoft
from graphsoft import InputError
from shared.hostile import (
    outcome,
    refused,
)
from shared.saved import archive_of, members_of, npy, with_manifest

MANIFESTS = {
    "empty": b"",
    "no JSON": b"\x80\x04K\x01.",
    "list": b"[]",
    "text": b'"hierarchy"',
    "null": b"null",
    "number": b"1e999",
    "deep": b"[" * 100_000 + b"]" * 100_000,
    "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "not finite": b'{"kind": "graph", "version": 1, "made_by": "", "content": {"a": NaN}}',
    "many digits": b'{"kind": "graph", "version": 1, "made_by": "", "content": {"a": ' + b"9" * 5000 + b"}}",
    "UTF-16": '{"kind": "graph"}'.encode("utf-16"),
    "no UTF-8": b'{"kind": "\xff"}',
    "nothing in it": b"{}",
}


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("case", MANIFESTS)
def test_manifests(members, tmp_path, case):
    refused(tmp_path, archive_of({**members, "manifest.json": MANIFESTS[case]}))


def of_version(version, made_by="9.9"):
    return lambda manifest: {**manifest, "version": version, "made_by": made_by}


@pytest.mark.parametrize("version", [0, -1, True, False, None, "1", 1.0, [1], {}])
def test_versions_that_are_none(members, tmp_path, version):
    refused(tmp_path, archive_of(with_manifest(members, of_version(version))))


def test_files_of_newer_versions(members, tmp_path):
    words = "is of graphsoft '9.9', in format 2; this one knows 1. Remedy: install that version"
    newer = with_manifest(members, of_version(2))
    refused(tmp_path, archive_of(newer), words)
    # they may be different in all but the manifest
    manifest = {"kind": "forest", "version": 2, "made_by": "9.9", "more": []}
    for data in (b"", b"\x93NUMPY\4\0"):
        refused(tmp_path, archive_of({"Ä": data, "manifest.json": json.dumps(manifest)}), words)
    huge = with_manifest(members, of_version(10**4000, "x" * 10**6))
    refused(tmp_path, archive_of(huge), "install that version")


@pytest.mark.parametrize("kind", ["forest", "", "Graph", "x" * 10**6])
def test_other_kinds(members, tmp_path, kind):
    data = archive_of(with_manifest(members, lambda manifest: {**manifest, "kind": kind}))
    refused(tmp_path, data, "which this version does not know")


def leaves(value, path=()):
    """All places in a description: its parts and their parts."""
    if path:
        yield path
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(part, (*path, key))


def replaced(manifest, path, value):
    changed = json.loads(json.dumps(manifest))
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return changed


OTHERS = [
    None, True, 0, -1, 2, 10**6, 2**70, 1.5, "", "x", "degrees", [], [[]], {}, {"tuple": []},
    {"tuple": [{"tuple": [1, 2]}]}, {"range": 10**18}, {"float": "nan"}, {"fraction": [1, 0]},
]  # fmt: skip


def ask(h):
    """Ask a hierarchy that was loaded what its kernels compute; it may refuse, but not crash."""
    new = [[0.05], [7.0]]
    for question in (
        lambda: h.predict(new),
        lambda: h.partial_update(new),
        lambda: h.describe(0),
        h.to_json,
        lambda: h[0].equivalent_adjacency.row(0),
        lambda: str(h.report),
    ):
        with contextlib.suppress(InputError):
            question()


def test_descriptions_with_a_part_of_another_kind(members, tmp_path):
    manifest, path = json.loads(members["manifest.json"]), tmp_path / "file"
    chosen = np.random.default_rng(0)
    all_places, loaded = list(leaves(manifest["content"])), 0
    assert len(all_places) > 100
    for place in all_places:
        for other in chosen.choice(np.array(OTHERS, dtype=object), 4, replace=False):
            changed = replaced(manifest, ("content", *place), other)
            path.write_bytes(archive_of({**members, "manifest.json": json.dumps(changed)}))
            found = outcome(path)
            if not isinstance(found, InputError):
                loaded += 1
                if loaded % 20 == 0:
                    ask(found)
    assert loaded > 0  # such as other seconds


def test_descriptions_that_lack_a_part(members, tmp_path):
    manifest = json.loads(members["manifest.json"])
    for place in leaves(manifest["content"]):
        changed = json.loads(json.dumps(manifest))
        whole = changed["content"]
        for key in place[:-1]:
            whole = whole[key]
        del whole[place[-1]]
        path = tmp_path / "file"
        path.write_bytes(archive_of({**members, "manifest.json": json.dumps(changed)}))
        outcome(path)


def variants(values):
    """Arrays in the place of another one: wrong numbers, lengths and types."""
    far = np.full_like(values, 2**30)
    yield from (values[:0], values[:-1], values[1:], np.repeat(values, 2), values[::-1], values + 1, -values)
    yield from (far, far.astype(np.int64) * 2**30, values[None], values[:, None], np.roll(values, 1))
    yield from (values.astype(kind) for kind in (np.int8, np.int32, np.int64, np.float32, np.float64, bool))
    if values.dtype.kind == "f":
        yield from (values * np.nan, values * np.inf, values * 0, values * 1e300, values * 1e-320)


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::graphsoft.GraphsoftWarning")
def test_arrays_with_other_numbers(members, tmp_path):
    path, loaded = tmp_path / "file", 0
    for name, data in members.items():
        if not name.endswith(".npy"):
            continue
        values = np.frombuffer(data[128:], np.dtype(data[21:24].decode()))
        for other in variants(values):
            path.write_bytes(archive_of({**members, name: npy(np.ascontiguousarray(other))}))
            found = outcome(path)
            if not isinstance(found, InputError):
                loaded += 1
                if loaded % 6 == 0:
                    ask(found)
    assert loaded > 10  # such as other masses, which nobody can know


CHANGES = {
    "indices[0] is": ("levels/0/memberships/indices.npy", lambda values: values + 100),
    "negative index": ("graph/adjacency/indices.npy", lambda values: values - 100),
    "indptr far": ("levels/0/memberships/indptr.npy", lambda values: values * 2**20),
    "indptr falls": ("levels/0/memberships/indptr.npy", lambda values: values[::-1]),
    "indptr falls within": ("levels/1/graph/indptr.npy", lambda values: values[[0, 2, 1]]),
    "cluster graph": ("levels/0/graph/indices.npy", lambda values: values + 2**30),
    "parents": ("levels/0/parents/indices.npy", lambda values: values + 2),
    "sums": ("levels/0/memberships/data.npy", lambda values: values * 2),
    "sums of parents": ("levels/0/parents/data.npy", lambda values: values / 2),
    "NaN": ("levels/1/memberships/data.npy", lambda values: values * np.nan),
    "negative": ("levels/0/memberships/data.npy", lambda values: -values),
    "asymmetric": ("graph/adjacency/data.npy", lambda values: values * np.arange(1, len(values) + 1)),
    "weights of 0": ("graph/adjacency/data.npy", lambda values: values * 0),
    "degrees": ("degrees.npy", lambda values: values[:-1]),
    "masses": ("levels/0/mass.npy", lambda values: -values),
    "duplicates": ("graph/duplicates.npy", lambda values: values + 1),
    "features": ("features/values.npy", lambda values: values - np.inf),
}


@pytest.mark.parametrize("case", CHANGES)
def test_models_that_are_not_sound(members, tmp_path, case):
    name, change = CHANGES[case]
    data = members[name]
    values = np.frombuffer(data[128:], np.dtype(data[21:24].decode()))
    refused(tmp_path, archive_of({**members, name: npy(change(values))}), "holds no sound model")


def test_wrong_numbers_of_nodes(members, tmp_path):
    def names(count):
        def change(manifest):
            manifest["content"]["graph"]["nodes"] = {"range": count}

        return change

    for count in (8, 10, 10**18, 10**30):
        refused(tmp_path, archive_of(with_manifest(members, names(count))), "no sound model")
    # a graph of other points beside levels that are in order
    other = tmp_path / "other"
    graphsoft.knn_graph([[0.0], [1.0], [3.0]], 1).save(other)
    mixed = {**members, **{name: data for name, data in members_of(other).items() if name in members}}
    mixed["manifest.json"] = members["manifest.json"]

    def smaller(manifest):
        graph = manifest["content"]["graph"]
        graph["nodes"], graph["adjacency"]["shape"], graph["duplicates"] = {"range": 3}, [3, 3], None

    refused(tmp_path, archive_of(with_manifest(mixed, smaller)), "levels of another graph")


def test_features_of_other_points(members, tmp_path):
    for shape in ((0, 1), (3, 1), (9, 0), (9,), (9, 1, 1)):
        refused(tmp_path, archive_of({**members, "features/values.npy": npy(np.zeros(shape))}), "")
