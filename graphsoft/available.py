"""How much memory this process may still take."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

__all__ = ["available_memory", "peak_memory"]

UNKNOWN = float("inf")
# Of the two versions of Linux's cgroups: the files of the limit and of what is taken, and the fields of
# ``memory.stat`` that can be given up.
Version = tuple[str, str, tuple[str, ...]]
VERSION_1: Version = (
    "memory.limit_in_bytes", "memory.usage_in_bytes", ("total_active_file", "total_inactive_file"),
)  # fmt: skip
VERSION_2: Version = ("memory.max", "memory.current", ("active_file", "inactive_file", "slab_reclaimable"))


def available_memory(root: Path = Path("/")) -> float:
    """Find how many bytes this process may still take, infinite where the system does not tell.

    This is the least of what the system has, of what is left of the limits of the process's cgroups, such as
    those of a container, and of its own limit (``ulimit -v``). What can be swapped out counts as available.

    Parameters
    ----------
    root : Path
        The folder of ``proc`` and ``sys``.

    Examples
    --------
    >>> available_memory() > 0
    True
    """
    meminfo = _fields(root / "proc/meminfo")
    swap = 1024 * meminfo.get("SwapFree:", 0)
    system = 1024 * meminfo["MemAvailable:"] if "MemAvailable:" in meminfo else UNKNOWN
    return max(0.0, min([system + swap, _left_of_own_limit(root), *(each + swap for each in _left(root))]))


def peak_memory(root: Path = Path("/")) -> int:
    """Find the most bytes that this process ever had in memory at once, 0 where the system does not tell.

    Not from ``ru_maxrss``, which in a new process begins with what its parent had.
    """
    return 1024 * _fields(root / "proc/self/status").get("VmHWM:", 0)


def _left(root: Path) -> Iterator[float]:
    """Find what is left of the limit of each cgroup that the process is in, directly or not."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        controllers, _, path = line.partition(":")[2].partition(":")
        version, mount = VERSION_2, root / "sys/fs/cgroup"
        if controllers:
            version, mount = VERSION_1, mount / "memory"
        if controllers and "memory" not in controllers.split(","):
            continue
        # in a container its own cgroup may be the mount itself, and the path leads nowhere
        below = mount / path.lstrip("/")
        for folder in (below, *below.parents):
            yield _left_in(folder, *version)
            if folder == mount:
                break


def _left_in(folder: Path, limit: str, taken: str, given_up: tuple[str, ...]) -> float:
    most, now = _text(folder / limit).strip(), _text(folder / taken).strip()
    if not (most.isdecimal() and now.isdecimal()):  # it may be "max"
        return UNKNOWN
    fields = _fields(folder / "memory.stat")
    return float(int(most) - int(now) + sum(fields.get(name, 0) for name in given_up))


def _left_of_own_limit(root: Path) -> float:
    try:
        import resource
    except ImportError:  # not on this system
        return UNKNOWN
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = _text(root / "proc/self/statm").split()
    if limit == resource.RLIM_INFINITY or not pages:
        return UNKNOWN
    return float(limit - int(pages[0]) * resource.getpagesize())


def _fields(path: Path) -> dict[str, int]:
    """Read lines that begin with a name and a number."""
    parts = (line.split() for line in _text(path).splitlines())
    return {each[0]: int(each[1]) for each in parts if len(each) > 1 and each[1].isdecimal()}


def _text(path: Path) -> str:
    """Read a file, or nothing if it cannot be read."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return path.read_text("ascii")
    return ""
