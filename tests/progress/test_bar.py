"""The bar, in a terminal of its own."""

import os
import re
import sys
from pathlib import Path

import pytest

import graphsoft
from shared.terminals import left_on_screen, plain, shown_in_terminal

pytestmark = pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")

ROOT = str(Path(graphsoft.__file__).parents[1])
POINTS = "import numpy as np, graphsoft; X = np.random.default_rng(0).normal(size=(9000, 8));"


def run(code, **options):
    environment = {"PYTHONPATH": ROOT} | options.pop("environment", {})
    return shown_in_terminal([sys.executable, "-W", "error", "-c", code], environment=environment, **options)


def test_python_draws_a_bar_and_leaves_nothing():
    code, shown = run(POINTS + "graphsoft.hierarchy(X, [50, 10], progress=True)")
    assert code == 0, shown
    text = plain(shown)
    assert "neighbors" in text
    assert re.search(r"dividing .* \d+%", text)
    assert re.search(r"\d/s, 0:\d\d, 0:\d\d left", text)
    parts = [int(part) for part in re.findall(r"(\d+)%", text)]
    assert parts == sorted(parts)
    assert left_on_screen(shown) == []
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")  # the cursor is there


def test_one_bar_and_no_more_where_functions_call_each_other():
    code, shown = run(POINTS + "graphsoft.suggest_levels(X[:500], progress=True)")
    assert code == 0
    assert shown.count("\x1b[?25l") == 1


def test_it_says_when_loops_are_compiled(tmp_path):
    call = "import graphsoft; graphsoft.directed_graph([[0, 1.0], [1.0, 0]], progress=True)"
    code, shown = run(call, environment={"NUMBA_CACHE_DIR": str(tmp_path)})
    assert code == 0
    assert "compiling, once on this machine" in plain(shown)
    code, shown = run(call, environment={"NUMBA_CACHE_DIR": str(tmp_path)})
    assert code == 0
    assert "compiling" not in plain(shown)


def test_warnings_stand_above_the_bar():
    code, shown = run(
        "import warnings; warnings.simplefilter('always');"
        + POINTS
        + "graphsoft.hierarchy(X[:9], [2], n_neighbors=10, progress=True)"
    )
    assert code == 0
    assert "GraphsoftWarning" in " ".join(left_on_screen(shown))


def test_a_dumb_terminal_gets_no_bar():
    code, shown = run(
        POINTS + "graphsoft.hierarchy(X[:500], [5], progress=True)", environment={"TERM": "dumb"}
    )
    assert (code, plain(shown).strip()) == (0, "")


def test_ctrl_c_takes_the_bar_away():
    code, shown = run(
        POINTS + "\ntry:\n while True: graphsoft.hierarchy(X, [50, 10], progress=True)\n"
        "except KeyboardInterrupt: raise SystemExit(5)",
        interrupt="dividing",
    )
    assert code == 5, shown
    assert left_on_screen(shown) == []
