"""Every call to the system on the way to a file fails, or is the last of its process: old or new, and whole.

``FAULTS=1`` tries all of them; by default some are drawn.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import graphsoft
from graphsoft.storage import checkpoint
from graphsoft.storage.folders import write_new_folder
from graphsoft.storage.together import replace_together
from shared.shapes import bits, cloud

CALLS = (
    "openat,open,creat,write,pwrite64,writev,lseek,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat,mkdir,"
    "mkdirat,rmdir,chmod,fchmodat,flock,close,dup,fcntl,ftruncate,fallocate,read,pread64,getdents64"
)
FAULTS = {
    "kill": "signal=SIGKILL", "full": "error=ENOSPC", "broken": "error=EIO", "interrupted": "error=EINTR",
}  # fmt: skip
TRIES = int(os.environ.get("FAULTS", "0")) or None
DRAWN = 12  # of each action, for each fault
NAMES = ("seal", "one", "two")
X = cloud(60, centers=6)


def attachable():
    """Tell whether strace is there, and may look at processes."""
    strace = shutil.which("strace")
    if sys.platform != "linux" or strace is None:
        return False
    return (
        subprocess.run([strace, "-o", os.devnull, "true"], check=False, capture_output=True).returncode == 0
    )


pytestmark = [pytest.mark.slow, pytest.mark.skipif(not attachable(), reason="needs strace")]


class Saved:
    """A model that is written over another one."""

    old, new = (graphsoft.as_graph(sp.csr_array(np.ones((size, size)))) for size in (5, 90))

    def before(self, folder):
        self.old.save(folder / "model")

    def act(self, folder):
        self.new.save(folder / "model")

    def look(self, folder):
        found = graphsoft.load(folder / "model")
        assert len(found) in (5, 90)
        return len(found) == 90

    def after(self, folder):
        assert os.listdir(folder) == ["model"]


class First(Saved):
    """A model where none was."""

    def before(self, folder):
        pass

    def look(self, folder):
        return (folder / "model").exists() and super().look(folder)


class Folder:
    """A folder of several files."""

    def before(self, folder):
        pass

    def act(self, folder):
        def write(place):
            (place / "below").mkdir()
            for name in ("one", "below/two"):
                (place / name).write_text("whole")

        if not (folder / "new").exists():
            write_new_folder(folder / "new", write)

    def look(self, folder):
        if not (folder / "new").exists():
            return False
        assert {(folder / "new" / name).read_text() for name in ("one", "below/two")} == {"whole"}
        return True

    def after(self, folder):
        assert os.listdir(folder) == ["new"]


class Together:
    """Files that belong together, written over others."""

    def write(self, folder, text):
        writers = {name: lambda path: path.write_text(text) for name in NAMES}
        replace_together(folder, writers, lambda: [folder / name for name in NAMES], "seal")

    def before(self, folder):
        self.write(folder, "old")

    def act(self, folder):
        self.write(folder, "new")

    def look(self, folder):
        found = {name: (folder / name).read_text() for name in NAMES if (folder / name).exists()}
        assert len(set(found.values())) <= 1
        assert "seal" not in found or set(found) == set(NAMES)
        return found.get("seal") == "new"

    def after(self, folder):
        assert sorted(os.listdir(folder)) == sorted(NAMES)


class Checkpoint:
    """A hierarchy whose steps are kept."""

    def __init__(self):
        self.expected = bits(graphsoft.hierarchy(X, [9, 3]))

    def before(self, folder):
        pass

    def act(self, folder):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", graphsoft.GraphsoftWarning)
            assert bits(graphsoft.hierarchy(X, [9, 3], checkpoint=folder)) == self.expected

    def look(self, folder):
        return True

    def after(self, folder):
        assert not [*folder.glob(".*")]


ACTIONS = {"save": Saved, "first": First, "folder": Folder, "together": Together, "checkpoint": Checkpoint}


def acted(action, folder, *options):
    """Act in a process of its own, under strace; returns its exit code, negative if it was killed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.read(reader, 1)
            action.act(folder)
            code = 0
        except OSError:
            code = 2
        except BaseException as error:
            os.write(2, f"{error!r}".encode())
        finally:
            os._exit(code)
    strace = subprocess.Popen(
        ["strace", "-f", "-p", str(child), "-e", f"trace={CALLS}", *options],
        stderr=subprocess.PIPE,
        text=True,
    )
    while "attached" not in (line := strace.stderr.readline()):
        assert line, "strace came to nothing"
    os.write(writer, b"!")
    os.close(reader)
    os.close(writer)
    status = os.waitpid(child, 0)[1]
    strace.communicate()
    return os.waitstatus_to_exitcode(status)


def moments(action, folder, log):
    """List the calls of an undisturbed process: the name of each, and its number among those of that name."""
    assert acted(action, folder, "-o", str(log)) == 0
    counts, found = {}, []
    for name in re.findall(r"^\d+ +(?:<\.\.\. )?(\w+)\(", log.read_text(), re.MULTILINE):
        counts[name] = counts.get(name, 0) + 1
        found.append((name, counts[name]))
    return found


def emptied(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", ACTIONS)
def test_whatever_fails_files_are_old_or_new(tmp_path, monkeypatch, record_property, name, fault):
    monkeypatch.setattr(checkpoint, "WORTH", 0.0)
    action, folder = ACTIONS[name](), tmp_path / "folder"
    emptied(folder)
    action.before(folder)
    action.act(folder)  # whatever is imported or compiled on first use
    emptied(folder)
    action.before(folder)
    calls = moments(action, folder, tmp_path / "log")
    assert len(calls) > 10
    if TRIES is None:
        drawn = np.random.default_rng(0).choice(len(calls), min(DRAWN, len(calls)), replace=False)
        calls = [calls[each] for each in sorted(drawn)]
    seen = []
    for call, number in calls:
        if fault == "interrupted" and call == "close":
            continue  # Linux has closed the file then, and nobody may close it again
        emptied(folder)
        action.before(folder)
        inject = f"inject={call}:{FAULTS[fault]}:when={number}"
        code = acted(action, folder, "-o", os.devnull, "-e", inject)
        seen.append(code)
        where = f"{fault} at {call} {number}: exit code {code}"
        assert code in ((-signal.SIGKILL, 0) if fault == "kill" else (0, 2)), where
        assert action.look(folder) or code != 0, where
        action.act(folder)
        assert action.look(folder), where
        action.after(folder)
    record_property("faults", len(seen))
    record_property("without effect", seen.count(0))
    assert fault != "kill" or -signal.SIGKILL in seen
