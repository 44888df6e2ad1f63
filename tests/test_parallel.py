"""Cutting work into pieces, and computing them on threads."""

import os
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.parallel import map_blocks, map_pieces, pieces_by_load, thread_count


@given(st.lists(st.integers(0, 30), max_size=40), st.integers(1, 20))
def test_pieces_cover_every_row_once_and_are_not_too_long(lengths, load):
    ptr = np.append(0, np.cumsum(lengths, dtype=np.int64))
    found = pieces_by_load(ptr, load)
    assert [row for start, stop in found for row in range(start, stop)] == list(range(len(lengths)))
    assert all(stop > start for start, stop in found)
    for start, stop in found:
        assert stop - start == 1 or ptr[stop] - ptr[start] + stop - start <= 2 * load + max(lengths) + 1


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_results_come_in_order(monkeypatch, threads):
    monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
    assert thread_count() == int(threads)
    names = set()

    def work(start, stop):
        names.add(threading.current_thread().name)
        return start, stop

    assert list(map_blocks(work, 100, 7)) == [(start, min(start + 7, 100)) for start in range(0, 100, 7)]
    assert len(names) <= int(threads)
    assert list(map_pieces(work, [])) == []


@pytest.mark.parametrize("threads", ["1", "3"])
def test_an_error_comes_through_and_starts_no_further_piece(monkeypatch, threads):
    monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
    started = []

    def work(start, stop):
        started.append(start)
        if start == 2:
            raise ZeroDivisionError("in piece 2")
        return start

    before = threading.active_count()
    with pytest.raises(ZeroDivisionError, match="in piece 2"):
        list(map_blocks(work, 1000, 1))
    assert len(started) < 20
    assert threading.active_count() == before


def test_leaving_early_starts_no_further_piece(monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")
    started = []
    results = map_blocks(lambda start, stop: started.append(start), 1000, 1)
    next(results)
    results.close()
    assert len(started) < 20


@pytest.mark.parametrize("text", ["", "0", "-3", "many", "²"])
def test_threads_are_counted_without_a_wanted_number(monkeypatch, text):
    monkeypatch.setenv("NUMBA_NUM_THREADS", text)
    assert thread_count() >= 1
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert thread_count() == (os.cpu_count() or 1)


def test_ctrl_c_inside_a_kernel_is_no_system_error():
    def interrupted(start, stop):
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    def broken(start, stop):
        raise SystemError("something else")

    with pytest.raises(KeyboardInterrupt):
        list(map_pieces(interrupted, [(0, 1)]))
    with pytest.raises(SystemError, match="something else"):
        list(map_pieces(broken, [(0, 1)]))
