"""Other processes: the same answers, nothing that hostile files could run, and whole files after a crash."""

import json
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import graphsoft
from shared.hostile import Payload
from shared.saved import answers_of, archive_of, content_of, members_of, npy, with_manifest
from shared.shapes import cloud

TESTS = Path(__file__).parents[1]
X = cloud(40, centers=4)
NEW = X[:5] + 0.25
PLACE = f"import sys; sys.path[:0] = [{str(TESTS)!r}, {str(TESTS.parent)!r}]\n"

ANSWERS = """if True:
    import json
    import numpy as np
    import graphsoft
    from shared.saved import answers_of, content_of
    for name in ("points", "novel"):
        h = graphsoft.load(f"{name}.graphsoft")
        new = np.load(f"{name}.npy")
        print(json.dumps([content_of(h), answers_of(h, new)]))
        h.save(f"{name} again")
"""

HOSTILE = """if True:
    import glob, json, os, resource, sys
    import numpy as np
    import graphsoft
    from graphsoft.storage import container
    h = graphsoft.load("good")
    h.predict([[0.5, 0.5, 0.5]])
    for path in ("bad/names", "bad/sums"):  # loads what errors need
        try:
            graphsoft.load(path)
        except graphsoft.InputError:
            pass
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[0])
    limit = pages * resource.getpagesize() + (48 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    paths, seen, watching = sorted(glob.glob("bad/*")), set(), True

    def watch(event, arguments):
        if watching:
            reads = event == "open" and arguments[1] in ("r", "rb") and not arguments[2] & os.O_ACCMODE
            seen.add("reading" if reads else f"{event} {arguments}" if event == "open" else event)

    sys.addaudithook(watch)
    for mapped_bytes in (1 << 20, 1):
        container.MAPPED_BYTES = mapped_bytes
        for path in paths:
            try:
                graphsoft.load(path)
                print("loaded", path)
            except graphsoft.InputError as error:
                assert error.argument == "path"
        assert isinstance(graphsoft.load("good"), graphsoft.Hierarchy)
    watching = False
    print(json.dumps(sorted(seen)))
"""

WRITING = """if True:
    import os, resource, signal, time
    from pathlib import Path
    import graphsoft

    models = [graphsoft.load("small"), graphsoft.load("large")]
    small, large = Path("small").read_bytes(), Path("large").read_bytes()
    os.mkdir("folder")
    os.chdir("folder")
    target = Path("target")
    models[0].save(target)
    for round in range(30):
        before = target.stat().st_mtime_ns
        child = os.fork()
        while child == 0:
            for model in models:
                model.save(target)
        while target.stat().st_mtime_ns == before:
            time.sleep(0.001)
        time.sleep(0.0003 * round)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert target.read_bytes() in (small, large)
        graphsoft.load(target)
    for path in Path().iterdir():  # what those left who were killed in between
        if path != target:
            assert path.name.startswith(".target."), path
            path.unlink()

    limited = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    h, before = models[1], target.read_bytes()
    for size in (0, 100, 5000, len(large) - 200, len(large) - 60, len(large) - 1):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limited[1]))
        for path in ("target", "other"):
            try:
                h.save(path)
            except OSError:
                pass
            else:
                raise AssertionError("the disk was full")
        assert target.read_bytes() == before
        assert os.listdir(".") == ["target"]
    resource.setrlimit(resource.RLIMIT_FSIZE, limited)
    h.save(target)
    assert target.read_bytes() == large

    os.chmod(".", 0o555)
    if os.getuid() == 0:
        os.chmod("..", 0o755)
        os.setuid(65534)
    try:
        h.save("target")
    except PermissionError:
        pass
    else:
        raise AssertionError("the directory was read-only")
    assert target.read_bytes() == large
    assert isinstance(graphsoft.load(target), graphsoft.Hierarchy)
    print("done")
"""


def run(code, folder):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PLACE + code],
        cwd=folder, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_answers_are_the_same_in_another_process(tmp_path):
    weights = graphsoft.knn_graph(X, 5).adjacency
    models = {
        "points": (graphsoft.hierarchy(X, [8, 3], known={0: "a", 39: "b"}), NEW),
        "novel": (graphsoft.hierarchy(weights, [5, 2]), np.eye(40)[:4] + 1.0),
    }
    for name, (h, new) in models.items():
        h.save(tmp_path / f"{name}.graphsoft")
        np.save(tmp_path / f"{name}.npy", new)
    printed = run(ANSWERS, tmp_path).splitlines()
    expected = [[content_of(h), answers_of(h, new)] for h, new in models.values()]
    assert [json.loads(line) for line in printed] == expected
    for name in models:
        assert (tmp_path / f"{name} again").read_bytes() == (tmp_path / f"{name}.graphsoft").read_bytes()


def hostile(members):
    """Files that would take much memory, or run something, if they were believed."""
    mass, memberships = "levels/0/mass.npy", "levels/0/memberships"
    objects = np.array([Payload()], dtype=object)
    header = npy(np.zeros(3))[:128]

    def of(**changed):
        return archive_of({**members, **changed})

    def with_content(place, **changed):
        return archive_of(with_manifest(members, lambda manifest: place(manifest["content"]).update(changed)))

    def settings(content):
        return content["settings"]

    return {
        "names": with_content(lambda content: content["graph"], nodes={"range": 10**15}),
        "sums": of(**{f"{memberships}/data.npy": npy(np.ones(3))}),
        "pickle": pickle.dumps(Payload()),
        "pickled array": of(**{mass: npy(objects)}),
        "pickled manifest": of(**{"manifest.json": pickle.dumps(Payload())}),
        "code": of(**{mass: header.replace(b"False", b"id(5)")}),
        "huge": of(**{mass: header.replace(b"(3,)", b"(%d,)" % 10**14)}),
        "huge and short": of(**{mass: header.replace(b"(3,)", b"(%d,)" % 10**14) + bytes(10)}),
        "many clusters": with_content(
            lambda content: content["levels"][0]["memberships"], shape=[40, 10**15]
        ),
        "many points": with_content(lambda content: content["graph"]["adjacency"], shape=[10**15, 10**15]),
        "far": of(**{f"{memberships}/indptr.npy": npy(np.arange(41, dtype=np.int32) * 10**6)}),
        "bomb": archive_of({**members, mass: bytes(100 << 20)}, compress_type=zipfile.ZIP_DEFLATED),
        "fraction": with_content(
            lambda content: content["features"], origin=[{"fraction": "1e1000000000"}] * 3
        ),
        "settings": with_content(settings, methods=[{"name": "os", "settings": {}}] * 2),
        "code in settings": with_content(
            settings, methods=[{"name": "Relation", "settings": {"__class__": "os"}}] * 2
        ),
        "levels": with_content(settings, levels={"tuple": [10**15, 3]}),
    }


@pytest.mark.skipif(sys.platform != "linux", reason="counts the memory in the way of Linux")
def test_hostile_files_run_nothing_and_take_little_memory(tmp_path):
    h = graphsoft.hierarchy(X, [8, 3])
    h.save(tmp_path / "good")
    members = members_of(tmp_path / "good")
    (tmp_path / "bad").mkdir()
    for name, data in hostile(members).items():
        (tmp_path / "bad" / name).write_bytes(data)
    assert json.loads(run(HOSTILE, tmp_path)) == ["mmap.__new__", "reading"]
    assert sorted(os.listdir(tmp_path)) == ["bad", "good"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork, and no limit of the size of files")
def test_files_stay_whole_when_writing_ends_early(tmp_path):
    graphsoft.hierarchy(X, [3]).save(tmp_path / "small")
    graphsoft.hierarchy(np.repeat(X, 30, axis=1) + 0.1, [8, 3]).save(tmp_path / "large")
    assert run(WRITING, tmp_path) == "done\n"
