"""What becomes of progress: a bar, lines in the log, or calls of the user's own function."""

from __future__ import annotations

from graphsoft.progress.watching import watched, watches_progress

__all__ = ["watched", "watches_progress"]
