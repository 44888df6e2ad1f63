"""Three stages that make, pass on and add up numbers, and go wrong where they are told to.

They are in a module of their own, because workers import it. Every execution leaves a line in a file beside
the run, so that tests can count them.
"""

import hashlib
import os
import signal
import time
from pathlib import Path

import numpy as np

PARTS = 6
TASKS = 2 * PARTS + 1
STAGES = ("make-numbers", "pass-on", "add-up")


def run_stages(run, trouble=None, forgetful=False):
    """Run all three stages; returns the sums, and a digest of all files that are there."""
    # what goes wrong is kept in a file, since tasks have to be the same whatever happens to them
    if trouble is not None:
        (run.directory / "trouble").write_text(" ".join(map(str, trouble)))
    run.stage("make-numbers", make, range(PARTS), seed=3)
    run.stage("pass-on", pass_on, range(PARTS))
    if forgetful:
        run.forget("make-numbers")
    (record,) = run.stage("add-up", add_up, [0])
    return record["sums"].tolist(), digest(run.directory)


def digest(directory):
    found = hashlib.sha256()
    for stage in STAGES[1:]:
        for path in sorted((Path(directory) / "parts" / stage).glob("[0-9]*")):
            found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()


def executions(directory):
    """Count how often each task was begun."""
    path = Path(directory) / "executions"
    return path.read_text().split() if path.exists() else []


def make(where, seed):
    begun(where)
    numbers = np.random.default_rng([seed, where.part]).integers(0, 1000, 20)
    finished(where, {"numbers": numbers}, {"numbers": np.linspace(0, 20, PARTS + 1).astype(int)})
    return {"sum": numbers.sum()}


def pass_on(where):
    begun(where)
    sections = []
    for part in range(PARTS):
        with where.open("make-numbers", part) as file:
            sections.append(file.section("numbers", where.part))
    finished(where, {"numbers": np.concatenate(sections)})
    return {"count": sum(map(len, sections))}


def add_up(where):
    begun(where)
    sums = []
    for part in range(PARTS):
        with where.open("pass-on", part) as file:
            sums.append(file.array("numbers").sum())
    finished(where, {"sums": np.array(sums)})
    return {"sums": np.array(sums)}


def begun(where):
    with open(Path(where.directory) / "executions", "a") as file:
        file.write(f"{where.stage}-{where.part}\n")
    if _is_time(where, "before"):
        _end()
    if _is_time(where, "stop"):
        (Path(where.directory) / "stopped").write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGSTOP)
    if _is_time(where, "raise"):
        raise KeyError("a bug")
    if _is_time(where, "always", once=False):
        _end()
    if _is_time(where, "slow", once=False):
        time.sleep(0.2)


def finished(where, arrays, cuts=None):
    if _is_time(where, "in"):
        os.replace = lambda *paths: _end()  # the spare file is written, and is not moved to its place
    where.write(arrays, cuts)
    if _is_time(where, "after"):
        _end()
    if _is_time(where, "recorded"):
        moved = os.replace

        def replace(*paths):
            moved(*paths)
            _end()

        os.replace = replace


def _is_time(where, moment, once=True):
    """Tell whether it goes wrong here and now; that is so once."""
    path = Path(where.directory) / "trouble"
    if not path.exists():
        return False
    wanted, stage, part = path.read_text().split()
    if moment != wanted or stage not in ("any", where.stage) or part not in ("any", str(where.part)):
        return False
    if once:
        try:
            os.close(os.open(path.with_name(f"trouble-{moment}"), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
    return True


def _end():
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)
