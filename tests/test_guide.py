"""README and the guide: what they show runs, what they name exists, and README stays short.

The Python examples on the pages run as doctests; here are their shell commands, links and names.
"""

import csv
import re
import shlex
import tomllib
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from graphsoft.cli.command import main

ROOT = Path(__file__).parent.parent
GUIDE = ROOT / "examples" / "guide"
README = ROOT / "README.md"
PAGES = [README, ROOT / "CONTRIBUTING.md", *sorted(GUIDE.rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


def text_of(page):
    return page.read_text(encoding="utf-8")


def blocks(page):
    return BLOCK.findall(text_of(page))


def every(pages):
    return pytest.mark.parametrize("page", pages, ids=[page.relative_to(ROOT).as_posix() for page in pages])


@every(PAGES)
def test_every_code_block_is_one_that_runs(page):
    before = None
    for kind, body in blocks(page):
        assert kind in ("python", "sh", "text")
        if kind == "python":
            assert all(not part or part.startswith(">>> ") for part in body.split("\n\n"))
        if kind == "text":
            assert before == "sh", "what a command prints stands behind it"
        before = kind


@every([page for page in PAGES if "```sh" in text_of(page)])
def test_commands_run_and_print_what_the_page_shows(page, tmp_path, monkeypatch, capsys):
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    printed = ""
    for kind, body in blocks(page):
        if kind == "sh":
            capsys.readouterr()
            for command in re.split(r"&&|\n", body.strip()):
                run(shlex.split(command))
            printed = capsys.readouterr().out
        if kind == "text":
            assert body in printed


def run(words):
    """Run a command of graphsoft; of others, check that they could run."""
    while "=" in words[0]:  # variables of the environment
        words = words[1:]
    program, *rest = words
    if program == "graphsoft":
        assert main(rest) == 0
    elif program == "python":
        script = text_of(ROOT / rest[0])
        options = [word for word in rest if word.startswith("--")]
        assert all(f'"{option}"' in script or f"{option} " in script for option in options)
    elif program == "pip":
        extras = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]["optional-dependencies"]
        named = re.findall(r"\[(.*)\]", words[-1])
        assert rest[0] == "install"
        assert all(extra in extras for extra in ",".join(named).split(",") if extra)
    else:
        assert program in ("eval", "git", "lint-imports", "mkdocs", "mypy", "pytest", "ruff", ".ci/run")


@every(PAGES)
def test_links_lead_to_files(page):
    links = re.findall(r"\]\(([^)\s]+)\)", text_of(page))
    assert all((page.parent / link.partition("#")[0]).exists() for link in links)


@every(PAGES)
def test_names_exist(page):
    for name in re.findall(r"(?:`|^::: )(graphsoft(?:\.\w+)+)", text_of(page), flags=re.MULTILINE):
        find(name)
    for script in re.findall(r"examples/[\w/]+\.(?:py|yml|png|md)", text_of(page)):
        assert (ROOT / script).exists(), script


def find(name):
    """Import what a dotted name stands for."""
    parts = name.split(".")
    found = import_module(parts[0])
    for depth, part in enumerate(parts[1:], start=2):
        found = getattr(found, part) if hasattr(found, part) else import_module(".".join(parts[:depth]))


def test_every_page_of_the_guide_is_in_the_table_of_contents():
    settings = text_of(GUIDE.parent / "mkdocs.yml")
    listed = re.findall(r": ([\w/-]+\.md)$", settings.partition("\nnav:\n")[2], flags=re.MULTILINE)
    assert sorted(listed) == sorted(page.relative_to(GUIDE).as_posix() for page in GUIDE.rglob("*.md"))


def test_every_public_name_is_in_the_reference():
    import graphsoft

    reference = "".join(text_of(page) for page in (GUIDE / "reference").glob("*.md"))
    entries = set(re.findall(r"^::: graphsoft\.([\w.]+)$", reference, flags=re.MULTILINE))
    assert entries >= set(graphsoft.__all__)


def test_readme_is_short():
    text = text_of(README)
    assert len(text.split()) <= 900
    assert len(text.splitlines()) <= 140
    assert len(text.partition("```")[0].split()) <= 120


def test_penguins_are_scaled():
    with open(ROOT / "data" / "penguins.csv", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["bill_length", "bill_depth", "flipper_length", "body_mass", "species"]
    numbers = np.array([row[:4] for row in rows], dtype=float)
    assert numbers.shape == (342, 4)
    assert np.allclose(numbers.mean(axis=0), 0, atol=1e-3)
    assert np.allclose(numbers.std(axis=0), 1, atol=1e-3)
