"""A terminal of its own for a process, and what the process showed there."""

import contextlib
import os
import re
import select
import signal
import subprocess
import time

CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def shown_in_terminal(command, *, stdout=None, interrupt=None, environment=None, seconds=240):
    """Run a command whose standard error is a terminal; returns its exit code and what it wrote there.

    If `interrupt` is a text, SIGINT is sent as soon as that is shown, to all processes of the command, as a
    terminal does at Ctrl-C.
    """
    import pty  # not on every system

    main, other = pty.openpty()
    process = subprocess.Popen(
        [*map(str, command)],
        stdin=subprocess.DEVNULL,
        stdout=other if stdout is None else stdout,
        stderr=other,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", **(environment or {})},
        start_new_session=True,
    )
    os.close(other)
    shown, end = b"", time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            if select.select([main], [], [], 0.1)[0]:
                try:
                    part = os.read(main, 1 << 16)
                except OSError:  # the other end is closed
                    break
                if not part:
                    break
                shown += part
            elif process.poll() is not None:
                break
            if interrupt is not None and interrupt in plain(shown.decode(errors="replace")):
                os.killpg(process.pid, signal.SIGINT)
                interrupt = None
        return process.wait(timeout=seconds), shown.decode()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(main)


def plain(text):
    """Take out what moves the cursor and colors letters."""
    return CONTROL.sub("", text)


def left_on_screen(text):
    """Follow what erases and redraws lines, and return the lines that stay."""
    lines, row = [""], 0
    for piece in re.split(r"(\x1b\[\d*[AK]|\r|\n)", text):
        if piece == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif re.fullmatch(r"\x1b\[\d*K", piece):
            lines[row] = ""
        elif re.fullmatch(r"\x1b\[\d*A", piece):
            row = max(0, row - int(piece[2:-1] or 1))
        elif letters := plain(piece).strip("\r"):
            lines[row] = letters
    return [line for line in lines if line.strip()]
