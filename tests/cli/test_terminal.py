"""What a terminal is shown: progress, and text that cannot steer it."""

import io

from graphsoft.cli.terminal import ProgressLine, printable


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_redrawn_on_a_terminal(monkeypatch):
    now = iter([0.0, 0.05, 0.2, 0.21])
    monkeypatch.setattr("time.monotonic", lambda: next(now))
    line = ProgressLine(stream := Terminal())
    line.clear()
    assert stream.getvalue() == ""
    for stage, done in (("one", 0), ("one", 1), ("one", 2), ("two", 0)):
        line.update(stage, done, 4)
    line.clear()
    assert stream.getvalue() == "\rone: 0 %\x1b[K\rone: 50 %\x1b[K\rtwo: 0 %\x1b[K\r\x1b[K"


def test_progress_is_sparse_in_a_file(monkeypatch):
    now = iter([0.0, 5.0, 12.0, 13.0])
    monkeypatch.setattr("time.monotonic", lambda: next(now))
    line = ProgressLine(stream := io.StringIO())
    for stage, done in (("one", 0), ("one", 1), ("one", 2), ("two", 0)):
        line.update(stage, done, 0 if stage == "two" else 4)
    line.clear()
    assert stream.getvalue() == "one: 0 %\none: 50 %\ntwo\n"


def test_progress_fits_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "10")
    line = ProgressLine(stream := Terminal())
    line.update("a long stage", 1, 2)
    assert stream.getvalue() == "\ra long st\x1b[K"


def test_printable():
    assert printable("名 é a\x1b\x07\u202e\u200b\ud800\n") == "名 é a??????"
