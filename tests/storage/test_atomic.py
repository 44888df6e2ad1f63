"""Files appear whole or not at all."""

import errno
import os
import stat

import pytest

from graphsoft.errors import InputError
from graphsoft.storage.atomic import write_atomic


def test_atomic_write_keeps_the_old_file_when_the_writer_fails(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(file):
        file.write(b"new")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomic(path, fail)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_atomic_write_replaces_and_keeps_permissions(tmp_path):
    path = tmp_path / "file"
    write_atomic(path, lambda file: file.write(b"one"))
    path.chmod(0o640)
    write_atomic(str(path), lambda file: file.write(b"two"))
    assert path.read_bytes() == b"two"
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_atomic_write_where_folders_cannot_be_synced(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "O_DIRECTORY", raising=False)
    write_atomic(tmp_path / "file", lambda file: file.write(b"one"))
    assert (tmp_path / "file").read_bytes() == b"one"


def test_atomic_write_refuses_what_is_no_file(tmp_path):
    with pytest.raises(InputError, match=r"^path: .* is not an ordinary file"):
        write_atomic(tmp_path, lambda file: file.write(b""))
    with pytest.raises(InputError, match=r"^path: there is no directory .*missing"):
        write_atomic(tmp_path / "missing" / "file", lambda file: file.write(b""))


def test_atomic_write_ignores_the_umask_where_a_file_is_replaced(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o666)
    write_atomic(path, lambda file: file.write(b"new"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o666


def test_atomic_write_shows_nobody_else_what_it_writes(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o600)
    seen = []
    write_atomic(path, lambda file: seen.append(stat.S_IMODE(os.fstat(file.fileno()).st_mode)))
    assert seen == [0o600]


def test_atomic_write_takes_long_names_and_lets_the_writer_read(tmp_path):
    path = tmp_path / ("\u00e4" * 127)  # 254 bytes

    def write(file):
        file.write(b"hello")
        file.seek(0)
        assert file.read() == b"hello"

    write_atomic(path, write)
    assert path.read_bytes() == b"hello"


def test_atomic_write_where_a_folder_cannot_be_opened(tmp_path, monkeypatch):
    opened = os.open

    def no_folders(path, flags, *arguments):
        if flags & os.O_DIRECTORY:
            raise PermissionError(path)
        return opened(path, flags, *arguments)

    monkeypatch.setattr(os, "open", no_folders)
    write_atomic(tmp_path / "file", lambda file: file.write(b"one"))
    assert os.listdir(tmp_path) == ["file"]


def test_errors_of_the_system_name_the_file_that_was_asked_for(tmp_path):
    def full(file):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match=r"No space left on device: '.*page\.html'"):
        write_atomic(tmp_path / "page.html", full)
    assert [*tmp_path.iterdir()] == []
