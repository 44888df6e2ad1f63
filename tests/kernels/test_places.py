"""No sum depends on where arrays lie in memory."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from shared.sums_by_place import sums_by_place

SCRIPT = Path(__file__).parents[1] / "shared" / "sums_by_place.py"


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_a_loop_that_both_writes_and_adds_up_is_found():
    def both(values, written):
        total = 0.0
        for i in range(len(values)):
            written[i] = 2 * values[i]
            total += written[i]
        return total

    def in_turn(values, written):
        for i in range(len(values)):
            written[i] = 2 * values[i]
        total = 0.0
        for i in range(len(values)):
            total += written[i]
        return total

    codes = []
    for function in (both, in_turn):
        compiled = numba.njit(fastmath={"reassoc", "contract", "nsz", "arcp"})(function)  # noqa: TID251 - not cached
        assert compiled(np.ones(99), np.empty(99)) == 198
        codes += compiled.inspect_llvm().values()
    assert [bool(sums_by_place(code)) for code in codes] == [True, False]


@pytest.mark.slow
@pytest.mark.parametrize("part", ["hierarchies", "methods"])
def test_no_loop_both_writes_and_adds_up(tmp_path, part):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", SCRIPT, part],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True, text=True, check=True, timeout=1200,
    )  # fmt: skip
    told = json.loads(done.stdout)
    assert told["modules"] > 30
    assert told["guarded"] > 3
    assert told["found"] == []
