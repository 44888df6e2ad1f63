"""Waiting for processes of workers: until they are back, and until they have ended."""

import os
import time
from contextlib import suppress

from distributed import Status


def alive(client, workers=2):
    """Wait until killed workers are back, and would be started again if they were killed again."""
    until = time.monotonic() + 60
    while True:
        started = [nanny.status == Status.running for nanny in client.cluster.workers.values()]
        if all(started) and len(client.nthreads()) == workers:
            return
        assert time.monotonic() < until, "killed workers do not come back"
        time.sleep(0.05)


def ended(processes, seconds=30):
    """Wait until no process of these numbers is there any more."""
    until = time.monotonic() + seconds
    for process in processes:
        with suppress(ProcessLookupError):
            while True:
                os.kill(process, 0)
                assert time.monotonic() < until, f"process {process} goes on"
                time.sleep(0.05)
