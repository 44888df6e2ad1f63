"""Cluster on the workers of Ray: what `client=` takes is any object with these four methods.

    pip install graphsoft ray
    python examples/ray_workers.py --points 5000

Tasks write their answers to files that all workers and this process see. So nothing has to be brought back,
and a task may be done twice. Tried with Ray 2.60 on one machine, where it survived a killed worker.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np

import graphsoft
from graphsoft.distributed.executors import Ended, Key, Workers
from graphsoft.distributed.tasks import Task
from graphsoft.parallel import threads_limited


class RayWorkers:
    """Does tasks on the processes of Ray, each on one processor."""

    def __init__(self) -> None:
        import ray

        if not ray.is_initialized():
            ray.init()
        self._ray = ray
        self._do = ray.remote(num_cpus=1, max_retries=3)(do)
        self._keys: dict[Any, Key] = {}

    def submit(self, task: Task, key: Key) -> None:
        """Let Ray do a task."""
        self._keys[self._do.options(name=key[0]).remote(task)] = key

    def ended(self, seconds: float) -> list[Ended]:
        """Wait until a task has ended."""
        done, _ = self._ray.wait(list(self._keys), num_returns=1, timeout=seconds)
        return [self._end(each) for each in done]

    def _end(self, reference: Any) -> Ended:
        key = self._keys.pop(reference)
        try:
            self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:  # what the task raised
            return Ended(key, error.cause)
        except self._ray.exceptions.RayError as error:  # its worker died, again and again
            return Ended(key, error, killed=True)
        return Ended(key)

    def cancel(self, keys: Sequence[Key]) -> None:
        """Let go of tasks."""
        for reference in [each for each, key in self._keys.items() if key in keys]:
            del self._keys[reference]
            self._ray.cancel(reference)

    def workers(self) -> Workers:
        """Look who is there."""
        processors = int(self._ray.cluster_resources().get("CPU", 0))
        return Workers(there=processors, died=0, room=2 * max(1, processors))


def do(task: Task) -> None:
    with threads_limited(1):
        task()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--points", type=int, default=5000)
    X = np.random.default_rng(0).normal(size=(parser.parse_args().points, 8))
    with tempfile.TemporaryDirectory() as directory:
        h = graphsoft.hierarchy(X, [40, 8], directory=f"{directory}/ray", client=RayWorkers(), partitions=4)
        alone = graphsoft.hierarchy(X, [40, 8], directory=f"{directory}/alone", partitions=4)
        print(h)
        print(f"the same as without Ray: {h.to_json() == alone.to_json()}")


if __name__ == "__main__":
    main()
