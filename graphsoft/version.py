"""The version of graphsoft that is installed."""

from __future__ import annotations

__all__ = ["installed_version"]


def installed_version() -> str:
    """Return the version, or ``"unknown"`` where the package was not installed but copied."""
    from importlib import metadata

    try:
        return metadata.version("graphsoft")
    except metadata.PackageNotFoundError:
        return "unknown"
