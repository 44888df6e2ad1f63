"""Where compiled loops are cached: what is read from there runs, so nobody else may write there."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from numba.core.caching import (
    CacheImpl,
    FunctionCache,
    InTreeCacheLocator,
    UserProvidedCacheLocator,
    UserWideCacheLocator,
)

__all__ = ["SafePlaces", "only_we_write", "safe_places"]


def only_we_write(folder: Path) -> bool:
    """Tell whether a folder, which need not exist yet, is one that no other user could put files into.

    A relative one is not: it lies in the working directory, whatever that is. This is the case where a user
    has no home.

    Examples
    --------
    >>> only_we_write(Path("~/.cache/numba"))
    False
    """
    if not folder.is_absolute():
        return False
    if not hasattr(os, "geteuid"):  # folders of a user are closed to others on this system
        return True
    for each in (resolved := folder.resolve(), *resolved.parents):
        try:
            status = each.stat()
        except FileNotFoundError:  # we shall make it
            continue
        if status.st_uid not in (0, os.geteuid()):
            return False
        # above ours there may be a folder such as /tmp, whose sticky bit keeps others from what is ours
        kept = each != resolved and status.st_mode & stat.S_ISVTX
        if status.st_mode & stat.S_IWOTH and not kept:
            return False
    return True


class _FolderOfTheUser(UserWideCacheLocator):  # type: ignore[misc]
    """The cache folder of the user, if it is safe."""

    def ensure_cache_path(self) -> None:
        if not only_we_write(Path(self.get_cache_path())):
            raise PermissionError("others can write here")  # the next place is tried
        super().ensure_cache_path()


class _FolderOfTheProcess(UserWideCacheLocator):  # type: ignore[misc]
    """A folder that goes with the process, for libraries that cannot be imported without a cache."""

    def get_cache_path(self) -> str:
        return _temporary()


@functools.cache
def _temporary() -> str:
    folder = tempfile.mkdtemp(prefix="graphsoft-")  # only this user can write there
    atexit.register(_remove, folder, os.getpid())
    return folder


def _remove(folder: str, maker: int) -> None:
    if os.getpid() == maker:  # children that were forked use it too
        shutil.rmtree(folder, ignore_errors=True)


class SafePlaces(FunctionCache._impl_class):  # type: ignore[misc]
    """The places for caches: what the user names, the folder of the code, and the folder of the user.

    Whoever can write beside the code can change the code as well.
    """

    _locator_classes = (UserProvidedCacheLocator, InTreeCacheLocator, _FolderOfTheUser)


@contextlib.contextmanager
def safe_places() -> Iterator[None]:
    """Keep the caches of a library that is imported now to safe places; there is always one."""
    places = CacheImpl._locator_classes
    CacheImpl._locator_classes = (*SafePlaces._locator_classes, _FolderOfTheProcess)
    try:
        yield
    finally:
        CacheImpl._locator_classes = places
