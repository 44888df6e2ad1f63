"""Workers that are real processes on the loopback; they have ended when the module's tests have."""

import os
import time
from contextlib import suppress

import pytest
from distributed import Client, LocalCluster


@pytest.fixture(scope="module")
def cluster():
    """Two workers, each a process of one thread."""
    workers = []
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit="2GB",
    ) as running:  # fmt: skip
        yield running
        workers = [nanny.pid for nanny in running.workers.values() if nanny.pid]
    ended(workers)


@pytest.fixture(scope="module")
def client(cluster):
    """A client of the two workers; not the default of other code."""
    with Client(cluster, set_as_default=False) as connected:
        yield connected


def ended(processes, seconds=30):
    """Wait until no process of these numbers is there any more."""
    until = time.monotonic() + seconds
    for process in processes:
        with suppress(ProcessLookupError):
            while True:
                os.kill(process, 0)
                assert time.monotonic() < until, f"process {process} goes on"
                time.sleep(0.05)
