"""What killed processes leave beside a file is deleted when it is written again; what others write stays."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import graphsoft
from graphsoft.storage.atomic import write_atomic
from graphsoft.storage.folders import write_new_folder

# Begins to write a file or folder, says so, and waits.
WAITING = """if True:
    import sys, time
    from pathlib import Path
    from graphsoft.storage.atomic import write_atomic
    from graphsoft.storage.folders import write_new_folder

    def write(place):
        (Path(place, "part").write_bytes if isinstance(place, Path) else place.write)(b"half")
        print("begun", flush=True)
        while not Path(sys.argv[3]).exists():
            time.sleep(0.01)

    {"file": write_atomic, "folder": write_new_folder}[sys.argv[1]](sys.argv[2], write)
"""
KINDS = ("file", "folder")
posix = pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")


def begun(kind, target, end):
    """Start a process that is in the midst of writing until there is a file at `end`."""
    path = os.pathsep.join([str(Path(graphsoft.__file__).parents[1]), *sys.path])
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING, kind, target, end],
        env=os.environ | {"PYTHONPATH": path}, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout.readline() == b"begun\n"
    return process


def write(kind, target):
    if kind == "file":
        write_atomic(target, lambda file: file.write(b"whole"))
    else:
        write_new_folder(target, lambda folder: (folder / "part").write_bytes(b"whole"))


@posix
@pytest.mark.parametrize("kind", KINDS)
def test_the_next_write_deletes_what_a_killed_process_left(tmp_path, kind):
    process = begun(kind, tmp_path / "target", tmp_path / "end")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert len(os.listdir(tmp_path)) == 1
    write(kind, tmp_path / "target")
    assert os.listdir(tmp_path) == ["target"]


@posix
@pytest.mark.parametrize("kind", KINDS)
def test_what_another_process_is_writing_stays(tmp_path, kind):
    place = tmp_path / "place"
    place.mkdir()
    process = begun(kind, place / "target", tmp_path / "end")
    write("file", place / "other")
    if kind == "file":
        write("file", place / "target")
        assert len(os.listdir(place)) == 3
    (tmp_path / "end").touch()
    process.communicate()
    assert process.returncode == 0
    assert sorted(os.listdir(place)) == ["other", "target"]
    part = place / "target" if kind == "file" else place / "target" / "part"
    assert part.read_bytes() == b"half"


@posix
def test_files_of_other_names_stay(tmp_path):
    others = [
        ".other.0123abcd.tmp", ".target.0123abcd", ".target.0123abcdef.tmp", ".target.notes.0123abcd.tmp",
        "target.0123abcd.tmp", ".target.0123ABCD.tmp",
    ]  # fmt: skip
    for name in others:
        (tmp_path / name).touch()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    (tmp_path / ".target.01234567.tmp").symlink_to(elsewhere)
    (tmp_path / ".target.89abcdef.tmp").touch()
    write("file", tmp_path / "target")
    kept = [*others, "elsewhere", ".target.01234567.tmp", "target"]
    assert sorted(os.listdir(tmp_path)) == sorted(kept)
    assert elsewhere.read_text() == "mine"


@posix
@pytest.mark.parametrize("kind", KINDS)
def test_a_spare_that_was_deleted_before_it_was_claimed_is_made_again(tmp_path, monkeypatch, kind):
    from graphsoft.storage import atomic, folders

    module, inner, deleted = {"file": atomic, "folder": folders}[kind], atomic.claimed, []

    def late(handle):
        if not deleted:
            deleted.extend(tmp_path.glob(".target.*.tmp"))
            (deleted[0].rmdir if kind == "folder" else deleted[0].unlink)()
        return inner(handle)

    monkeypatch.setattr(module, "claimed", late)
    write(kind, tmp_path / "target")
    assert len(deleted) == 1
    assert os.listdir(tmp_path) == ["target"]


@posix
def test_many_processes_that_write_one_file_leave_one(tmp_path):
    code = """if True:
        import sys
        from graphsoft.storage.atomic import write_atomic
        for number in range(40):
            write_atomic(sys.argv[1], lambda file: file.write(sys.argv[2].encode() * 1000))
    """
    path = os.pathsep.join([str(Path(graphsoft.__file__).parents[1]), *sys.path])
    target = tmp_path / "target"
    processes = [
        subprocess.Popen([sys.executable, "-c", code, target, letter], env=os.environ | {"PYTHONPATH": path})
        for letter in "abcd"
    ]
    while any(process.poll() is None for process in processes):
        assert not target.exists() or target.read_bytes() in {
            1000 * letter for letter in (b"a", b"b", b"c", b"d")
        }
        time.sleep(0.005)
    assert [process.returncode for process in processes] == [0] * 4
    assert os.listdir(tmp_path) == ["target"]
