"""Ctrl-C that comes out of a call, though code in C may drop it on its way or make another error of it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["ctrl_c_comes_out", "raise_if_dropped"]

_noted = False  # within the call that notes Ctrl-C; only the main thread gets it


@contextmanager
def ctrl_c_comes_out() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end if Ctrl-C came meanwhile, whatever has become of it.

    Only the outermost call does so, in the main thread, and where Python itself handles Ctrl-C: what else the
    caller has in mind with it is left alone.
    """
    global _noted  # noqa: PLW0603 - as the handler of the signal, it is of the process
    handled = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not handled or threading.current_thread() is not threading.main_thread():
        yield
        return
    try:
        signal.signal(signal.SIGINT, _note)
        yield
    except Exception as error:  # as Numba makes a SystemError of it
        if _noted:
            raise KeyboardInterrupt from error
        raise
    else:
        raise_if_dropped()
    finally:
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        except KeyboardInterrupt:  # if Ctrl-C comes just now, it is raised before the handler changes
            signal.signal(signal.SIGINT, signal.default_int_handler)
            raise
        finally:
            _noted = False


def raise_if_dropped() -> None:
    """Raise the KeyboardInterrupt that came before and was dropped, in the main thread."""
    if _noted and threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt


def _note(number: int, frame: FrameType | None) -> None:
    global _noted  # noqa: PLW0603
    _noted = True
    signal.default_int_handler(number, frame)
