"""Unusual hosts: users that nobody knows, no home, no threads, few handles, disks that cannot be written."""

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import graphsoft

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="users and limits of Linux")

PACKAGE = Path(graphsoft.__file__).parent
UNKNOWN = 54_321  # a user that is in no list
RUN = """if True:
    import hashlib, os, resource, sys
    import networkx as nx
    import numpy as np
    import graphsoft
    {before}
    X = np.random.default_rng(0).normal(size=(400, 10))
    found = [graphsoft.hierarchy(X, [20, 5]), graphsoft.hierarchy(nx.les_miserables_graph(), [12, 4])]
    found += [graphsoft.cluster(X, 3, method=method) for method in ("k-means", "normalized-cut")]
    {after}
    levels = [level for each in found[:2] for level in each] + found[2:]
    parts = [(level.memberships.indices.tobytes(), level.memberships.data.tobytes()) for level in levels]
    print(hashlib.sha256(repr(parts).encode()).hexdigest())
"""
SAVED = """
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        found[0].save(folder + "/model")
        found[0] = graphsoft.load(folder + "/model")
        found[0].explore(folder + "/page.html")
"""


ONE_LOOP = """if True:
    import numpy as np
    import graphsoft
    from graphsoft.kernels.contraction import greedy_matching
    print(greedy_matching(np.arange(3), np.array([1, 0, 0]), np.zeros(3, int), np.zeros(3, int)))
"""


def digest(before="", after="", **options):
    """Run some of everything, and hash what was found."""
    return run(RUN.format(before=before, after=after.strip()), **options)


def run(code, command=(), folder=None, **environment):
    """Run code in a process with nothing else in its environment; return the last word that it prints."""
    known = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), "NUMBA_NUM_THREADS": "4"}
    known["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run(
        [*command, sys.executable, "-c", code],
        cwd=folder, env=known | environment, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[-1]


@functools.cache
def usual():
    return digest(HOME=os.environ.get("HOME", "/"))


def as_unknown_user():
    command = ["setpriv", f"--reuid={UNKNOWN}", f"--regid={UNKNOWN}", "--clear-groups"]
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can become another user, by setpriv")
    can_read = subprocess.run(
        [*command, sys.executable, "-c", "import graphsoft, numba"],
        env={"PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, check=False,
    )  # fmt: skip
    if can_read.returncode:
        pytest.skip("other users cannot read this installation")
    return command


@pytest.fixture
def anybody(tmp_path):
    """A folder that everybody can write to, on a way that is open."""
    for each in tmp_path.parents:
        if not each.stat().st_mode & 0o001:
            each.chmod(each.stat().st_mode | 0o011)
    tmp_path.chmod(0o777)
    return tmp_path


def test_an_unknown_user_without_a_home_leaves_nothing_behind(anybody):
    assert run(ONE_LOOP, as_unknown_user(), anybody) == "1"
    assert os.listdir(anybody) == []


def test_no_cache_is_made_in_a_home_that_everybody_can_write_to(anybody):
    assert run(ONE_LOOP, as_unknown_user(), anybody, HOME=str(anybody)) == "1"
    assert os.listdir(anybody) == []


def test_a_cache_is_made_in_a_home_of_the_users_own(anybody):
    user = as_unknown_user()
    home = anybody / "home"
    home.mkdir()
    os.chown(home, UNKNOWN, UNKNOWN)
    anybody.chmod(0o1777)  # nobody else can take the home away
    assert run(ONE_LOOP, user, anybody, HOME=str(home)) == "1"
    assert [file.name for file in home.rglob("*.nbi")]


@pytest.mark.slow
def test_other_libraries_cache_nothing_where_others_can_write(anybody):
    code = """if True:
        import os, sys
        from graphsoft.kernels.caching import safe_places
        with safe_places():
            import pynndescent.distances
        print(os.listdir("."))
    """
    done = subprocess.run(
        [*as_unknown_user(), sys.executable, "-c", code], cwd=anybody, capture_output=True, text=True,
        env={"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": "/tmp"}, check=False,  # noqa: S108
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


@pytest.mark.parametrize("count", ["0", "-3"])
def test_a_number_of_threads_that_is_none_does_no_harm(count):
    assert digest(NUMBA_NUM_THREADS=count) == usual()


def test_64_handles_are_enough():
    assert digest("resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))", SAVED) == usual()


def test_no_home_and_the_plainest_locale_do_no_harm():
    assert digest(after=SAVED, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0") == usual()


def test_a_disk_that_cannot_be_written_does_no_harm():
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare")
    mount = 'mount --bind / /mnt && mount -o remount,bind,ro /mnt && exec chroot /mnt "$@"'
    command = ["unshare", "--mount", "sh", "-c", mount, "sh"]
    if subprocess.run([*command, sys.executable, "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip("disks cannot be made read-only here")
    cannot_write = f"import os; assert not os.access({str(PACKAGE)!r}, os.W_OK)\n"
    assert run(cannot_write + ONE_LOOP, command) == "1"
