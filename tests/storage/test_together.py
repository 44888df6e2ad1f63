"""Files that belong together, in a process that is killed at any moment."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

import graphsoft
from graphsoft.storage import together
from graphsoft.storage.together import leftovers, replace_together

NAMES = ("seal.txt", "one.txt", "two.txt")
# kills itself at the given event of the system, counted from the first that touches files
KILLED = """if True:
    import os, signal, sys
    from pathlib import Path
    from graphsoft.storage.together import replace_together
    folder, number = Path(sys.argv[1]), int(sys.argv[2])
    writers = {name: lambda path: path.write_text("new") for name in ("seal.txt", "one.txt", "two.txt")}
    count = 0

    def watch(event, arguments):
        global count
        if event.startswith("os.") or event in ("open", "shutil.rmtree"):
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)
            count += 1

    sys.addaudithook(watch)
    replace_together(folder, writers, lambda: folder.glob("*.txt"), "seal.txt")
"""

# writes its files some times, and dawdles wherever it touches files
SLOW = """if True:
    import sys, time
    from pathlib import Path
    from graphsoft.storage.together import replace_together
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    sys.addaudithook(lambda event, arguments: time.sleep(0.01 * event.startswith(("os.", "open"))))
    writers = {name: lambda path: path.write_text(" ".join(names)) for name in names}
    for _ in range(5):
        replace_together(folder, writers, lambda: folder.glob("*.txt"), "seal.txt")
"""


def write(folder, text):
    writers = {name: lambda path: path.write_text(text) for name in NAMES}
    replace_together(folder, writers, lambda: folder.glob("*.txt"), "seal.txt")


def fill(folder):
    """Write where there is no space left."""

    def fail(path):
        raise OSError(28, "No space left on device")

    replace_together(folder, {"seal.txt": fail}, lambda: folder.glob("*.txt"), "seal.txt")


def contents(folder):
    return {path.name: path.read_text() for path in folder.glob("*.txt")}


def environment():
    paths = [str(Path(graphsoft.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_kill_at_any_moment_leaves_no_mixture(tmp_path):
    seen = []
    for number in itertools.count():
        folder = tmp_path / str(number)
        folder.mkdir()
        write(folder, "old")
        (folder / "old.txt").write_text("old")
        done = subprocess.run(
            [sys.executable, "-c", KILLED, folder, str(number)], env=environment(), check=False
        )
        found = contents(folder)
        assert len(set(found.values())) <= 1, found
        if "seal.txt" in found:
            assert set(found) in ({*NAMES, "old.txt"}, set(NAMES))
        seen.append(tuple(found.values())[:1] if "seal.txt" in found else None)
        with pytest.raises(OSError, match="No space"):
            fill(folder)
        found = contents(folder)  # all of one run again, though nothing could be written
        assert set(found) in ({*NAMES, "old.txt"}, set(NAMES))
        assert len(set(found.values())) == 1, found
        assert leftovers(folder) == []
        write(folder, "next")
        assert set(contents(folder).values()) == {"next"}
        assert sorted(os.listdir(folder)) == sorted(NAMES)
        assert leftovers(folder) == []
        if done.returncode == 0:
            break
    assert seen[0] == ("old",)
    assert seen[-1] == ("new",)
    assert len(seen) > 8


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_of_runs_at_the_same_time_the_last_is_whole(tmp_path):
    of_one_run = ["one.txt", "seal.txt", "two.txt"], ["one.txt", "other.txt", "seal.txt"], ["seal.txt"]
    processes = [
        subprocess.Popen([sys.executable, "-c", SLOW, tmp_path, *names], env=environment())
        for names in of_one_run
    ]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    found = contents(tmp_path)
    assert sorted(found) in of_one_run
    assert set(found.values()) == {" ".join(sorted(found))}
    assert sorted(os.listdir(tmp_path)) == sorted(found)


def test_an_error_leaves_the_old_files(tmp_path):
    write(tmp_path, "old")

    def fail(path):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        replace_together(
            tmp_path, {"one.txt": str, "two.txt": fail}, lambda: tmp_path.glob("*.txt"), "one.txt"
        )
    assert contents(tmp_path) == dict.fromkeys(NAMES, "old")
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("number", range(len(NAMES) + 2))
def test_ctrl_c_while_files_are_moved_leaves_old_or_new(tmp_path, monkeypatch, number):
    """Two folders or files are renamed before the new files are moved."""
    write(tmp_path, "old")
    inner, renamed = os.replace, []

    def replace(*arguments):
        inner(*arguments)
        renamed.append(arguments)
        if len(renamed) == number + 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(together.os, "replace", replace)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path, "new")
    assert contents(tmp_path) == dict.fromkeys(NAMES, "new" if number > 1 else "old")
    write(tmp_path, "next")
    assert contents(tmp_path) == dict.fromkeys(NAMES, "next")
    assert leftovers(tmp_path) == []
