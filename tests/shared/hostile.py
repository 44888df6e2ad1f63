"""What tests of hostile files share: how they are made, and what must come of them."""

import struct

import graphsoft
from graphsoft import InputError
from graphsoft.storage import container
from shared.saved import archive_of

MEMORY = 20 << 20  # bytes, where the files have some 20 KB
CENTRAL, LOCAL = b"PK\1\2", b"PK\3\4"
NUMBERS = "levels/0/mass.npy"


class Payload:
    """Leaves a mark where a pickle of it is read."""

    def __reduce__(self):
        return eval, ("open('harm', 'w').close()",)


def outcome(path):
    """What comes of loading a file: a model, or an `InputError` that is clear."""
    try:
        return graphsoft.load(path)
    except InputError as caught:
        error = caught
    if error.argument != "neighbors":  # a text in the place of None asks for a search for neighbors
        assert error.argument == "path"
        assert str(path) in error.problem
    assert error.remedy
    assert len(error.problem) < len(str(path)) + 300
    return error


def refused(tmp_path, data, words="is damaged"):
    path = tmp_path / "file"
    path.write_bytes(data)
    del data
    error = outcome(path)
    assert isinstance(error, InputError), "it was loaded"
    assert words in str(error)


def header(descr="'<f8'", shape="(3,)", order="False", version=b"\1\0", before="", after=""):
    text = f"{before}{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}{after}"
    text = text.ljust(117) + "\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text.encode()


def places(data, signature):
    """Where records with this signature begin."""
    found, at = [], data.find(signature)
    while at >= 0:
        found.append(at)
        at = data.find(signature, at + 1)
    return found


def unsigned_archive(members):
    data = archive_of(members)[: -container.COMMENT_BYTES]
    return bytearray(data[:-2] + b"\0\0")
