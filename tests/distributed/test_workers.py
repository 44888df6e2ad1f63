"""The workers that other tests use."""

import os


def test_two_processes_work(client):
    processes = client.run(os.getpid)
    assert len(set(processes.values()) - {os.getpid()}) == 2
    assert client.submit(sum, [1, 2]).result(timeout=30) == 3
