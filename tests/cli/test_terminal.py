"""Text that cannot steer a terminal."""

from graphsoft.cli.terminal import printable


def test_printable():
    assert printable("名 é a\x1b\x07\u202e\u200b\ud800\n") == "名 é a??????"
