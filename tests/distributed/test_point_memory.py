"""What the stages of points need of memory, counted and measured."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from graphsoft.distributed.point_memory import bytes_needed
from graphsoft.errors import NotEnoughMemory
from shared.routed import joined_in_blocks, plan_of

ROOT = Path(__file__).parents[2]
CODE = """
import sys
from pathlib import Path
sys.path[:0] = [{root!r}, {tests!r}]
from graphsoft.distributed.run import Run
from graphsoft.distributed.cells import choose_cells
from graphsoft.distributed.edges import build_blocks
from graphsoft.distributed.joining import join
from graphsoft.distributed.routing import route
from shared.made_rows import MadeRows
from graphsoft.errors import NotEnoughMemory
from shared.routed import joined_in_blocks, plan_of
import numpy as np
source = MadeRows({rows}, {features})
plan = plan_of(np.empty(({rows}, {features}), dtype=np.float32), chunk_rows=20000)
run = Run(Path({folder!r}))
choose_cells(run, source, plan)
build_blocks(run, plan, join(run, plan, route(run, source, plan)))
status = Path("/proc/self/status").read_text()
print(int(status.split("VmHWM:")[1].split()[0]) * 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is not known here")
def test_the_peak_is_as_counted(tmp_path):
    rows, features = 60_000, 48
    code = CODE.format(
        root=str(ROOT), tests=str(ROOT / "tests"), rows=rows, features=features, folder=str(tmp_path)
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    plan = plan_of(np.empty((rows, features), dtype=np.float32), chunk_rows=20_000)
    assert int(run.stdout) == pytest.approx(max(bytes_needed(plan).values()), rel=0.3)


@pytest.mark.parametrize("lends", [1, -1])
def test_more_partitions_need_less(lends):
    needs = []
    for partitions in (1, 10, 100):
        few = plan_of(np.empty((1000, 64)), partitions, lends, chunk_rows=10**5)
        needs.append(max(bytes_needed(replace(few, rows=10**7)).values()))
    assert needs[0] > 4 * needs[1] > 6 * needs[2]


def test_too_many_rows_in_a_partition_end_the_run(tmp_path):
    values = np.random.default_rng(0).normal(size=(2000, 5))
    plan = plan_of(values, 4, lends=1, max_memory=10**8, chunk_rows=500)
    message = r"largest of 4 partitions sees [\d,]+ rows and needs \d+ MB, .* use \d+ partitions"
    with pytest.raises(NotEnoughMemory, match=message):
        joined_in_blocks(tmp_path, values, plan)
