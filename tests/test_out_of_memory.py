"""Where a large allocation fails there is a MemoryError, and the same process then gives the same bits."""

import collections
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "shared" / "failing_malloc.c"
LEAST = 16_384  # bytes; NumPy itself crashes where some smaller ones fail
TRIES = 40
CODE = """if True:
    import ctypes, hashlib, os
    import numpy as np
    import graphsoft

    shim = ctypes.CDLL(None)
    shim.fail_from.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_size_t]
    shim.allocations.restype = ctypes.c_long
    X = np.abs(np.random.default_rng(0).normal(size=(600, 8)))
    graph = graphsoft.knn_graph(X).adjacency

    def digest():
        levels = graphsoft.hierarchy(graph, [30, 5])
        return hashlib.sha256(b"".join(level.memberships.data.tobytes() for level in levels)).digest()

    def after_failing(number):
        shim.fail_from(number, number, LEAST)
        try:
            ended = "the same" if digest() == here else "other bits"
        except MemoryError:
            ended = "MemoryError"
        except BaseException as error:
            ended = repr(error)
        shim.fail_from(0, 0, 2**62)
        return ended if digest() == here else ended + ", and other bits afterwards"

    here = digest()
    assert digest() == here
    shim.fail_from(0, 0, LEAST)
    digest()
    for number in np.unique(np.linspace(1, shim.allocations(), TRIES).astype(int)).tolist():
        child = os.fork()
        if child == 0:
            os.write(1, (after_failing(number) + os.linesep).encode())
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code:
            print("ended by", code, flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="LD_PRELOAD with glibc")
def test_large_allocations_that_fail_give_a_memory_error(tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    shim = tmp_path / "failing_malloc.so"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", SOURCE, "-o", shim], check=True)
    known = {"LD_PRELOAD": str(shim), "PYTHONPATH": os.pathsep.join(sys.path), "NUMBA_NUM_THREADS": "2"}
    code = CODE.replace("LEAST", str(LEAST)).replace("TRIES", str(TRIES))
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | known | {"OPENBLAS_NUM_THREADS": "1"},
        capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ended = collections.Counter(done.stdout.splitlines())
    assert ended.keys() <= {"MemoryError", "the same"}, ended
    assert ended["MemoryError"] > TRIES / 2
