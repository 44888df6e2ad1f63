"""The command line in a hostile shell: closed streams, full disks, folders that cannot be written."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import load_npz

import graphsoft
from graphsoft.cli import command, writing

KARATE = str(Path(__file__).parents[2] / "data" / "karate.graphml")
PREPARE = "import sys; from graphsoft.cli.command import main; sys.exit(main(sys.argv[1:]))"
FULL = Path("/dev/full")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="closes and limits what POSIX systems have")


def shell(*arguments, redirect="", prepare=None, **environment):
    """Run the command line behind a shell; returns its code and what it wrote."""
    paths = [str(Path(command.__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    finished = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirect}', "sh", sys.executable, "-c", PREPARE, *map(str, arguments)],
        capture_output=True,
        preexec_fn=prepare,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment},
        timeout=100,
        check=False,
    )
    return finished.returncode, finished.stdout.decode(), finished.stderr.decode()


@pytest.mark.parametrize(
    ("redirect", "said"), [(">&-", ""), ("2>&-", "34 points"), (">&- 2>&-", ""), ("<&-", "34 points")]
)
def test_closed_streams(tmp_path, redirect, said):
    code, out, err = shell("hierarchy", KARATE, "--levels", "3", "-o", tmp_path / "out", redirect=redirect)
    assert code == 0, err
    assert said in out
    assert "Traceback" not in err
    assert load_npz(tmp_path / "out" / "memberships-0.npz").shape == (34, 3)


@pytest.mark.skipif(not FULL.exists(), reason="there is no full device")
def test_full_disk_below_the_streams():
    code, out, err = shell("hierarchy", KARATE, "--levels", "3", redirect="> /dev/full")
    assert (code, out) == (1, "")
    assert "No space left" in err
    assert "Traceback" not in err
    code, out, _ = shell("hierarchy", KARATE, "--levels", "3", redirect="2> /dev/full")
    assert code == 0  # progress that cannot be written does not stop the run
    assert "34 points" in out
    assert shell("hierarchy", KARATE, "--levels", "0", redirect="2> /dev/full")[0] == 1


def test_full_disk_below_the_output(tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

    # the limit would also hold for the cache of compiled loops
    code, out, err = shell(
        "hierarchy", KARATE, "--levels", "3", "-o", tmp_path, prepare=limit, PYTHONDONTWRITEBYTECODE="1"
    )
    assert (code, out) == (1, "")
    assert "File too large" in err
    assert "Traceback" not in err
    assert os.listdir(tmp_path) == []


def test_folders_that_cannot_be_written(tmp_path, monkeypatch, capsys):
    def run(folder):
        code = command.main(["hierarchy", KARATE, "--levels", "3", "--quiet", "-o", str(folder)])
        return code, capsys.readouterr().err

    assert run("") == (1, "graphsoft: --output: is empty. Remedy: name a directory.\n")
    code, err = run(Path(KARATE) / "below")
    assert (code, "Not a directory" in err) == (1, True)
    code, err = run(tmp_path / ("a" * 300))
    assert (code, "too long" in err) == (1, True)
    monkeypatch.setattr(writing.os, "access", lambda *_: False)  # root may write anywhere
    code, err = run(tmp_path)
    assert code == 1
    assert "cannot be written to. Remedy: name another directory" in err


def test_levels_in_error_messages_are_cut(capsys):
    assert command.main(["hierarchy", KARATE, "--levels", "9" * 5000]) == 2
    assert len(capsys.readouterr().err) < 200


def test_control_characters_do_not_reach_the_terminal(tmp_path):
    rows = [f'"\x1b[2J{row}\n=cmd",{row % 3 * 9 + row / 100},"\x1b]0;{row % 3}\x07"' for row in range(30)]
    path = tmp_path / "a.csv"
    path.write_text("id,\x1b[31mx,kind\n" + "\n".join(rows), encoding="utf-8")
    code, out, err = shell("hierarchy", path, "--levels", "5,3", "--labels", "kind", "-o", tmp_path / "out")
    assert code == 0, err
    for arguments in (
        [path, "--levels", "3"],
        [path, "--levels", "3", "--labels", "\x1b[31m"],
        ["\x1b[31m.csv", "--levels", "3"],
        [KARATE, "--levels", "3", "--metric", "\x1b[31m"],
        [KARATE, "--levels", "\x1b[31m"],
    ):
        code, more, worse = shell("hierarchy", *arguments)
        assert code in (1, 2)
        out, err = out + more, err + worse
    assert "\x1b" not in out + err
    assert "\x07" not in out + err


def test_names_of_clusters_are_harmless_in_a_terminal(tmp_path):
    X = [[0.0, 0.1], [0.1, 0.0], [0.2, 0.1], [5.0, 5.1], [5.1, 5.0], [5.2, 5.1]]
    h = graphsoft.hierarchy(X, [2], n_neighbors=2).name_clusters({"0-0": "\x1b[2Jnear", "0-1": "far"})
    h.save(tmp_path / "named.graphsoft")
    np.savetxt(tmp_path / "new.csv", X, delimiter=",")
    predict = "predict", tmp_path / "named.graphsoft", tmp_path / "new.csv"
    assert "\x1b[2Jnear" in shell(*predict)[1]
    terminal, end = os.openpty()
    subprocess.run(
        [sys.executable, "-c", PREPARE, *map(str, predict)],
        stdout=end,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(Path(command.__file__).parents[2])},
        timeout=100,
        check=True,
    )
    os.close(end)
    shown = os.read(terminal, 100_000).decode()
    os.close(terminal)
    assert "?[2Jnear" in shown  # in place of a code that would clear the screen


def test_c_locale_and_names_of_any_bytes(tmp_path):
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "HOME": "/nonexistent"}
    path = tmp_path / "a.csv"
    path.write_text(
        "id,é\n" + "\n".join(f"名前{row},{row % 3 * 9 + row / 100}" for row in range(30)), encoding="utf-8"
    )
    code, _, err = shell("hierarchy", path, "--levels", "5,3", "-o", tmp_path / "é", **environment)
    assert code == 0, err
    written = (tmp_path / "é" / "labels.csv").read_text(encoding="utf-8")
    assert written.count("名前") == 30
    code, _, err = shell(
        "hierarchy", os.fsdecode(os.fsencode(tmp_path) + b"/\xff.csv"), "--levels", "3", **environment
    )
    assert code == 1
    assert "there is no file" in err


def test_odd_numbers_in_tables(tmp_path, capsys):
    for field, said in (
        ("1_0", "holds text"),
        ("0x10", "holds text"),
        ("1e999", "not finite"),
        ("", "a gap"),
    ):
        path = tmp_path / "a.csv"
        path.write_text(f"a,b\n1,2\n3,{field}\n", encoding="utf-8")
        assert command.main(["hierarchy", str(path), "--levels", "2"]) == 1
        assert said in capsys.readouterr().err
    path.write_text("id_1,a\nx_1,2\nx_2,3\n", encoding="utf-8")  # but a name may have one
    assert command.main(["hierarchy", str(path), "--levels", "1", "--quiet"]) == 1
    assert "'x_1'" in capsys.readouterr().err
    path.write_text("id,a\nx_1,2\nx_2,3\n", encoding="utf-8")
    assert command.main(["hierarchy", str(path), "--levels", "1", "--quiet"]) == 0


def test_odd_archives(tmp_path, capsys):
    matrix = {"data": [1.0, 1.0], "indices": [1, 0], "indptr": [0, 1, 2], "shape": [2, 2]}
    for change, said in (
        ({"indices": [1.5, 0.0]}, "indices has dtype float64"),
        ({"indices": [9, 0]}, "outside 0..1"),
        ({"shape": [2.0, 2.0]}, "its shape is (2.0, 2.0)"),
        ({"indptr": [0, 2, 1]}, "cannot be read as npz|malformed"),
        ({"format": 7}, "unknown sparse format 7"),
        ({"format": b"csr", "indices": [1.5, 0.0]}, "indices has dtype float64"),
        ({"format": b"csr", "indices": [9, 0]}, "outside 0..1"),
        ({"format": b"evil"}, "unknown sparse format 'evil'"),
    ):
        path = tmp_path / "a.npz"
        np.savez(path, **{**matrix, **change})
        assert command.main(["hierarchy", str(path), "--levels", "2", "--affinity", "precomputed"]) == 1
        err = capsys.readouterr().err
        assert any(part in err for part in said.split("|")), err
    np.savez(path)
    assert command.main(["hierarchy", str(path), "--levels", "2"]) == 1
    assert "holds no arrays" in capsys.readouterr().err
