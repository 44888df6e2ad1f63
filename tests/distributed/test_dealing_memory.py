"""Dealing edges takes no more memory than it says, measured in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from graphsoft.distributed.dealing import bytes_needed
from graphsoft.distributed.edge_files import partitioned_graph
from shared.dealt import plan_of

NODES, EDGES, PARTITIONS, MEMORY = 60_000, 1_500_000, 2, 100_000_000

# First a small graph, so that all is imported and compiled; what comes on top of that is measured.
DEAL = """
import sys
from pathlib import Path
from graphsoft.distributed import dealing, gathering
from graphsoft.distributed.edge_files import partitioned_graph
from graphsoft.distributed.run import Run
from shared.dealt import plan_of

def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024

folder, nodes, partitions, memory = Path(sys.argv[1]), *map(int, sys.argv[2:])
gathering.UNITS = 200
dealing.deal(Run(folder / "first"), partitioned_graph(folder / "small", nodes=400), plan_of(400, 2, memory))
before = peak()
gathering.UNITS = 4000
run = Run(folder / "run")
dealing.deal(run, partitioned_graph(folder / "large", nodes=nodes), plan_of(nodes, partitions, memory))
assert (folder / "run" / "done" / "sum-groups-1").is_dir()
print(peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks are read from /proc")
def test_peak(tmp_path):
    rng = np.random.default_rng(0)
    for name, nodes, count in (("small", 400, 3000), ("large", NODES, EDGES)):
        (tmp_path / name).mkdir()
        u = rng.integers(nodes, size=count)
        v = (u + 40 * rng.integers(1, 40, size=count)) % nodes  # near each other, but not in number
        ends = rng.permutation(nodes)[np.stack([u, v])]
        np.savez_compressed(tmp_path / name / "a.npz", row=ends[0], col=ends[1])
    command = [sys.executable, "-c", DEAL, str(tmp_path), *map(str, (NODES, PARTITIONS, MEMORY))]
    paths = os.pathsep.join(filter(None, sys.path))  # where pytest finds what tests share
    found = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=600,
        env=os.environ | {"PYTHONPATH": paths},
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    graph = partitioned_graph(tmp_path / "large", nodes=NODES)
    needed = bytes_needed(plan_of(NODES, PARTITIONS, MEMORY), graph)
    assert int(found.stdout) < max(needed.values()), (found.stdout, needed)
