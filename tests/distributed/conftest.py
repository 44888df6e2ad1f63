"""Workers that are real processes on the loopback; they have ended when the module's tests have."""

import dask
import pytest

from distributed import Client, LocalCluster
from shared.worker_processes import ended


@pytest.fixture(scope="module")
def cluster():
    """Two workers, each a process of one thread."""
    # on a busy machine a killed worker is not back after the usual 15 s, and would then be given up
    patient = dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"})
    with (
        patient,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            memory_limit="2GB",
        ) as running,
    ):
        yield running
        workers = [nanny.pid for nanny in running.workers.values() if nanny.pid]
    ended(workers)


@pytest.fixture(scope="module")
def client(cluster):
    """A client of the two workers; not the default of other code."""
    with Client(cluster, set_as_default=False) as connected:
        yield connected
