"""Files that the tests of readers write."""

import gzip

import pytest


@pytest.fixture
def file(tmp_path):
    """Write text (or bytes) to a file of the given name."""

    def write(name, content):
        path = tmp_path / name
        if isinstance(content, str):
            content = content.encode("utf-8")
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write
