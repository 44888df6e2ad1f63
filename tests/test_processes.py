"""Threads, processes and signals: the same bits, no crash, no hang."""

import hashlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import networkx as nx
import numpy as np
import pytest

import graphsoft
from graphsoft import parallel
from graphsoft.engine import coarsening, merging
from graphsoft.methods import GNMF, CompletelyPositive, GaussianMixture, Relation, SymNMF, cluster_surviving
from shared.shapes import bits, cloud

LONG = 300  # seconds, far more than any step here takes


def digest(n=600):
    """Hash everything in two hierarchies, with work cut into many pieces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coarsening, "LOAD", 500)
        patch.setattr(merging, "LOAD", 500)
        patch.setattr(parallel, "LOAD", 500)
        found = [bits(graphsoft.hierarchy(cloud(n), [40, 10, 3], polish=polish)) for polish in (True, False)]
    return hashlib.sha256(repr(found).encode()).hexdigest()


def start(code, **environment):
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output(process):
    out, err = process.communicate(timeout=LONG)
    assert process.returncode == 0, err
    return out


def test_threads_and_processes_do_not_change_bits():
    code = "import sys, test_processes; sys.stdout.write(test_processes.digest())"
    others = [start(code, NUMBA_NUM_THREADS=str(threads)) for threads in (1, 2, 4)]
    here = digest()
    assert [output(other) for other in others] == [here] * 3
    assert digest() == here


def digest_of_methods():
    """Hash the results of methods that multiply or add dense columns, or pass them to scikit-learn."""
    X = np.abs(cloud(12_000))
    found = [
        graphsoft.cluster(X, 4, method=method)
        for method in (
            CompletelyPositive(max_sweeps=2),
            CompletelyPositive(normalization="additive", max_sweeps=2),
            SymNMF(max_sweeps=2),
            Relation(loss=2, max_sweeps=2),
        )
    ]
    # with fewer clusters BLAS would use one thread for a product with so many rows
    found.append(graphsoft.cluster(X, 40, method=Relation(support="dense", sweeps=0)))
    found.append(cluster_surviving(X, penalty=1e-9, max_clusters=40, max_sweeps=1))
    found += [
        graphsoft.cluster(X[:3000], 4, method=method)
        for method in (GaussianMixture(starts=1, max_sweeps=20), GNMF(max_sweeps=2))
    ]
    parts = [(each.memberships.data.tobytes(), each.trace) for each in found]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def test_threads_of_blas_do_not_change_bits_of_methods():
    code = "import sys, test_processes; sys.stdout.write(test_processes.digest_of_methods())"
    runs = [start(code, NUMBA_NUM_THREADS=each, OPENBLAS_NUM_THREADS=each) for each in ("1", "2")]
    assert len({output(run) for run in runs}) == 1


def test_pieces_do_not_change_bits():
    here = digest()
    whole = [bits(graphsoft.hierarchy(cloud(600), [40, 10, 3], polish=polish)) for polish in (True, False)]
    assert hashlib.sha256(repr(whole).encode()).hexdigest() == here


def test_calls_side_by_side_give_what_they_give_alone():
    sizes = [200, 300, 400, 500]
    alone = [digest_of(n) for n in sizes]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(2):
            assert list(pool.map(digest_of, sizes)) == alone


def digest_of(n):
    return bits(graphsoft.hierarchy(cloud(n), [40, 10, 3]))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_fork_after_use_works():
    code = """if True:
        import os, test_processes
        here = test_processes.digest(200)
        child = os.fork()
        if child == 0:
            os._exit(0 if test_processes.digest(200) == here else 3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert test_processes.digest(200) == here
    """
    output(start(code, NUMBA_NUM_THREADS="2"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_fork_while_another_thread_computes_an_attribute():
    code = """if True:
        import os, threading
        from graphsoft.lazy import lazy
        begun, go_on = threading.Event(), threading.Event()

        class Slow:
            @lazy
            def value(self):
                begun.set()
                go_on.wait()
                return 1

        thread = threading.Thread(target=lambda: Slow().value)
        thread.start()
        begun.wait()
        child = os.fork()
        go_on.set()
        if child == 0:
            os._exit(0 if Slow().value == 1 else 3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        thread.join()
    """
    output(start(code))


# The process interrupts itself, because another one may be too late on a busy machine.
INTERRUPTED = """if True:
    import os, signal, sys, threading
    import networkx as nx
    import graphsoft, test_processes
    here = test_processes.digest(100)
    timer = threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT))

    def progress(stage, done, total):
        if stage == sys.argv[-1] and timer.ident is None:
            timer.start()

    try:
        graphsoft.hierarchy(test_processes.grid(), [2000, 300, 20], progress=progress)
    except KeyboardInterrupt:
        assert test_processes.digest(100) == here
        print("interrupted")
    else:
        print("went on to the end")
"""


def grid():
    return nx.grid_2d_graph(200, 200)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent differently on Windows")
@pytest.mark.parametrize("stage", ["coarsening", "polishing"])
def test_an_interrupt_arrives_and_leaves_everything_usable(stage):
    assert (
        output(start(f"import sys; sys.argv.append({stage!r})\n{INTERRUPTED}")).split()[-1] == "interrupted"
    )


def test_an_error_in_progress_comes_through_and_leaves_everything_usable():
    here = digest(100)

    def progress(stage, done, total):
        raise np.linalg.LinAlgError("from the callback")

    with pytest.raises(np.linalg.LinAlgError, match="from the callback"):
        graphsoft.hierarchy(cloud(), [9, 3], progress=progress)
    assert digest(100) == here
