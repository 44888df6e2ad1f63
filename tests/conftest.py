"""Settings that every test shares, and one warm-up of the compiler for the workers of a whole run."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# The first example of a test may compile loops for seconds, so there is no deadline. Examples are the
# same on every machine, so that a failure can be repeated. "lines" is for runs that only count lines of
# loops, as plain Python; "thorough" is for hours to spare.
settings.register_profile("graphsoft", deadline=None, derandomize=True)
settings.register_profile("lines", settings.get_profile("graphsoft"), max_examples=10)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile("graphsoft")

# A shell ignores Ctrl-C in what it runs in the background, and so would every process that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).parents[1]
WARM_UP = ROOT / "tests" / "shared" / "warm_up.py"


def pytest_sessionstart(session):
    """Compile the loops once, before the workers of a whole run start."""
    config = session.config
    is_worker = hasattr(config, "workerinput")
    whole_run = config.args_source == pytest.Config.ArgsSource.TESTPATHS
    if is_worker or not whole_run or os.environ.get("NUMBA_DISABLE_JIT") == "1":
        return
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    parts = [
        subprocess.Popen([sys.executable, WARM_UP, part], env=environment, cwd=ROOT)
        for part in ("hierarchies", "methods")
    ]
    codes = [part.wait() for part in parts]
    if any(codes):
        raise pytest.UsageError("the warm-up of the compiler failed, see above")
