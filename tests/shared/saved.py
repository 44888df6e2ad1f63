"""What tests of saving share: whether two models are the same, and files that somebody made on purpose."""

import hashlib
import io
import json
import zipfile

import numpy as np
import scipy.sparse as sp

import graphsoft
from graphsoft.storage import container

END_RECORD = 22


def digest_of(value):
    """A digest of arrays, sparse matrices, and of what holds them, to the last bit."""
    if sp.issparse(value):
        value = value.tocsr()
        parts = [digest_of(part) for part in (value.data, value.indices, value.indptr)]
        return digest_of((value.shape, *parts))
    if isinstance(value, np.ndarray):
        return hashlib.sha256(str((value.dtype.str, value.shape)).encode() + value.tobytes()).hexdigest()
    if isinstance(value, list | tuple):
        return hashlib.sha256("".join(map(digest_of, value)).encode()).hexdigest()
    return hashlib.sha256(repr(value).encode()).hexdigest()


def content_of(model):
    """A digest of all that a graph, a clustering or a hierarchy holds, piece by piece."""
    if isinstance(model, graphsoft.Graph):
        fields = (model.notes, model.duplicates, model.from_distances, model.of_neighbors)
        return [digest_of(each) for each in (model.adjacency, list(model.nodes), *fields, model.degrees)]
    if isinstance(model, graphsoft.Clustering):
        fields = (model.trace, model.status, model.sweeps, model.pairs_kept, model.pairs_known)
        return [digest_of(each) for each in (model.memberships, list(model.nodes), *fields, model.labels)]
    levels = [
        digest_of(part)
        for level in model
        for part in (level.memberships, level.parents, level.mass, level.graph, level.degrees, level.labels)
    ]
    features = model.features
    if features is not None:
        names = ("metric", "notes", "columns", "fitted", "origin")
        features = digest_of([features.values, *(getattr(features, name) for name in names)])
    return [*levels, *content_of(model.graph), features, repr(model.report), repr(model.settings)]


def answers_of(h, new):
    """What a hierarchy answers to all questions, as digests; `new` are rows of new points."""
    grown = h.partial_update(new)
    again = new if h.features is not None else np.eye(len(grown.graph))[:2]
    found = {
        "memberships": [h.predict_proba(new, level) for level in range(len(h))],
        "transform": h.transform(new),
        "labels": h.predict(new),
        "json": h.to_json(),
        "description": [str(h.describe(level)) for level in range(len(h))],
        "between": str(h.between(f"{len(h) - 1}-0", f"{len(h) - 1}-1")),
        "walk": h[0].equivalent_adjacency.row(0),
        "compared": str(h.compare(h[0])),
        "grown": [each.memberships for each in grown],
        "from grown": [
            grown.predict_proba(again, 0),
            grown.graph.adjacency,
            list(grown.nodes),
            grown.to_json(),
        ],
        "report": str(h.report),
    }
    return {name: digest_of(value) for name, value in found.items()}


def round_trip(model, path, **options):
    """Save and load a model, and check that it holds the same, and is written with the same bytes again."""
    model.save(path)
    found = graphsoft.load(path, **options)
    assert type(found) is type(model)
    assert content_of(found) == content_of(model)
    again = path.with_name("again")
    found.save(again)
    assert again.read_bytes() == path.read_bytes()
    return found


def members_of(path):
    """The members of a file, by name."""
    with zipfile.ZipFile(path) as archive:
        return {entry.filename: archive.read(entry) for entry in archive.infolist()}


def signed(data):
    """Put the right digest behind a zip archive that has no comment."""
    assert data[-END_RECORD:].startswith(b"PK\5\6"), "an archive without a comment"
    data = data[:-2] + container.COMMENT_BYTES.to_bytes(2, "little")
    return data + container.MAGIC + hashlib.sha256(data).hexdigest().encode()


def archive_of(members, **options):
    """A zip archive with a right digest; `options` are those of `writestr`."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items() if isinstance(members, dict) else members:
            archive.writestr(name, data, **options)
    return signed(buffer.getvalue())


def npy(array):
    """An array as a ``.npy`` file."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def with_manifest(members, change):
    """The same members with a changed manifest."""
    manifest = json.loads(members["manifest.json"])
    changed = change(manifest)
    text = json.dumps(manifest if changed is None else changed)
    return {**members, "manifest.json": text.encode()}
