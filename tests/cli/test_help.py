"""The help: every example in it runs, lists of names are those of the library, and it comes quickly."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from graphsoft.cli import command, options
from graphsoft.datasets.reading import READERS
from graphsoft.methods import METHODS
from graphsoft.neighbors.nearest import METRICS
from graphsoft.neighbors.weights import WEIGHTS

ROOT = Path(command.__file__).parents[2]
NAMES = (
    "hierarchy", "cluster", "graph", "run", "predict", "suggest", "describe", "compare", "convert",
    "explore", "info",
)  # fmt: skip


def example_of(name):
    return re.search(r"Example:\n  graphsoft (.*)", command.program.commands[name].epilog)[1]


def test_every_example_runs(tmp_path, monkeypatch, capsys):
    assert tuple(command.program.commands) == NAMES
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    for name in NAMES:  # later examples use what earlier ones save
        words = shlex.split(example_of(name))
        assert words[0] == name
        assert command.main(words) == 0, capsys.readouterr().err
        assert capsys.readouterr().out or name in ("predict", "convert", "explore")
        written = [word for word in words if word.endswith((".graphsoft", ".npz", ".json"))]
        assert all(Path(word).exists() for word in written)
    assert Path("predicted.csv").read_text().startswith('"point","level_0"')


@pytest.mark.parametrize("name", NAMES)
def test_help_tells_all_options_and_the_example(name, capsys):
    assert command.main([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"graphsoft {example_of(name)}" in out
    for param in command.program.commands[name].params:
        if isinstance(param, click.Option):
            assert all(flag in out for flag in param.opts)
            assert param.help


def test_names_are_those_of_the_library():
    assert tuple(METHODS) == options.METHODS
    assert set(METRICS) == set(options.METRICS)
    assert set(WEIGHTS) == set(options.WEIGHTS)
    assert {f".{kind}" for kind in options.FORMATS} == set(READERS)


@pytest.mark.parametrize("arguments", [["--help"], ["hierarchy", "--help"], ["--version"], ["hierarchy"]])
def test_help_imports_nothing_heavy(arguments):
    code = (
        "import sys; from graphsoft.cli.command import main; code = main(sys.argv[1:]); "
        "print([name for name in ('numba', 'numpy', 'scipy', 'rich', 'sklearn') if name in sys.modules])"
    )
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    assert done.stdout.endswith("[]\n")


@pytest.mark.parametrize(
    ("shell", "sign"), [("bash", "complete -o"), ("zsh", "#compdef"), ("fish", "complete ")]
)
def test_completion_scripts(shell, sign, monkeypatch, capsys):
    monkeypatch.setenv("_GRAPHSOFT_COMPLETE", f"{shell}_source")
    with pytest.raises(SystemExit) as stop:
        command.main([])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert sign in out
    assert "_GRAPHSOFT_COMPLETE" in out


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("graphsoft su", ["suggest"]),
        ("graphsoft hierarchy --met", ["--metric", "--method"]),
        ("graphsoft hierarchy x --metric c", ["cosine", "correlation", "chebyshev", "canberra"]),
        ("graphsoft cluster x --method rel", ["relation", "relation-beta", "relation-frobenius"]),
    ],
)
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes(tmp_path, words, offered):
    program = tmp_path / "graphsoft"
    program.write_text(
        f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -c "
        "'from graphsoft.cli.command import main; raise SystemExit(main())' \"$@\"\n"
    )
    program.chmod(0o755)
    script = f"""
        eval "$(_GRAPHSOFT_COMPLETE=bash_source graphsoft)"
        COMP_WORDS=({words}) COMP_CWORD={len(words.split()) - 1}
        _graphsoft_completion graphsoft
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert sorted(done.stdout.split()) == sorted(offered)
