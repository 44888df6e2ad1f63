"""A page whose packages do not come with the tests is skipped where they are missing."""

from importlib.util import find_spec

import pytest

NEEDS = {"single-cells.md": "scanpy"}


def pytest_collection_modifyitems(items):
    """Skip the code of these pages, with the reason."""
    for item in items:
        package = NEEDS.get(item.path.name)
        if package is not None and find_spec(package) is None:
            item.add_marker(pytest.mark.skip(reason=f"needs {package}"))
        elif package is not None:
            item.add_marker(pytest.mark.filterwarnings("ignore"))  # scanpy and what it stands on warn a lot
