"""Cutting work into pieces, and computing them on threads."""

import _thread
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 - brings another BLAS
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import ThreadpoolController, threadpool_limits

from graphsoft.parallel import map_blocks, map_pieces, one_thread, pieces_by_load, thread_count


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


def serially(work, pieces):
    return [work(start, stop) for start, stop in pieces]


@given(
    st.integers(1, 6),
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from([0.0, 0.0, 0.001])), max_size=40),
    st.integers(0, 6),
)
def test_results_are_those_of_a_plain_loop(threads, pieces, to_be_had):
    def work(start, pause):
        time.sleep(pause)
        return start, pause

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_NUM_THREADS", str(threads))
        no_more_threads_than(to_be_had, patch)
        assert list(map_pieces(work, pieces)) == serially(work, pieces)


def no_more_threads_than(count, patch):
    """Let the system start so many threads and then no more, as where processes are limited."""
    start, started = _thread.start_new_thread, []

    def limited(*arguments):
        if len(started) == count:
            raise RuntimeError("can't start new thread")
        started.append(arguments)
        return start(*arguments)

    patch.setattr(_thread, "start_new_thread", limited)


@pytest.mark.parametrize("to_be_had", [0, 1, 3])
def test_where_no_threads_are_to_be_had_the_work_goes_on(monkeypatch, to_be_had):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "4")
    no_more_threads_than(to_be_had, monkeypatch)
    names = set()

    def work(start, stop):
        names.add(threading.get_ident())
        time.sleep(0.01)  # long enough for every thread to get some
        return start

    assert list(map_blocks(work, 40, 1)) == list(range(40))
    assert len(names) == to_be_had + 1


def test_no_more_than_twice_as_many_pieces_as_threads_are_done_ahead(monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    started = []
    for number, _ in enumerate(map_blocks(lambda start, stop: started.append(start), 100, 1)):
        time.sleep(0.001)
        assert len(started) <= number + 1 + 2 * 3


@pytest.fixture
def ctrl_c_after():
    """A function that lets Ctrl-C come after some seconds, from the clock of the process."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("signals of POSIX")
    old = signal.signal(signal.SIGALRM, signal.default_int_handler)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.signal(signal.SIGALRM, old)


def test_ctrl_c_at_any_moment_comes_out_and_leaves_no_thread(monkeypatch, ctrl_c_after):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    before, chance = len(sys._current_frames()), np.random.default_rng(0)
    for _ in range(150):
        done = []

        def work(start, stop, done=done):
            time.sleep(0.0005)
            done.append(start)
            return start

        def forever(work=work):
            ctrl_c_after(0.0001 + chance.random() * 0.02)
            while True:
                list(map_blocks(work, 30, 1))

        with pytest.raises(KeyboardInterrupt):
            forever()
        stopped = len(done)
        while len(sys._current_frames()) > before:  # a thread may just be starting, and ends at once
            time.sleep(0.0001)
        assert len(done) == stopped


def blas_threads():
    return [each.get_num_threads() for each in ThreadpoolController().lib_controllers]


@pytest.fixture
def two_threads():
    with threadpool_limits(2):
        assert set(blas_threads()) == {2}
        yield


def test_calls_side_by_side_give_blas_its_threads_back(two_threads):
    """The second begins while the first holds BLAS, and ends after it."""
    inside, left = threading.Event(), threading.Event()

    def second():
        with one_thread():
            inside.set()
            assert left.wait(30)
            return blas_threads()

    with ThreadPoolExecutor(1) as pool:
        with one_thread():
            found = pool.submit(second)
            assert inside.wait(30)
            assert set(blas_threads()) == {1}
        assert 1 in blas_threads()  # BLAS itself; OpenMP is free in this thread
        left.set()
        assert set(found.result()) == {1}
    assert set(blas_threads()) == {2}


def test_many_calls_side_by_side_give_blas_its_threads_back(two_threads):
    def nested(seed):
        chance = np.random.default_rng(seed)
        for _ in range(5):
            with one_thread():
                time.sleep(chance.random() * 0.002)
                with one_thread():
                    assert set(blas_threads()) == {1}
                assert set(blas_threads()) == {1}
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(nested, range(8)))
    assert set(blas_threads()) == {2}


def test_an_error_gives_blas_its_threads_back(two_threads):
    with pytest.raises(ZeroDivisionError), one_thread():
        raise ZeroDivisionError
    assert set(blas_threads()) == {2}


def test_ctrl_c_at_any_moment_gives_blas_its_threads_back(two_threads, ctrl_c_after):
    chance = np.random.default_rng(0)

    def forever():
        ctrl_c_after(0.0001 + chance.random() * 0.01)
        while True:
            with one_thread():
                time.sleep(0.0001)

    for _ in range(100):
        with pytest.raises(KeyboardInterrupt):
            forever()
        assert set(blas_threads()) == {2}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_fork_while_another_thread_holds_blas_leaves_the_child_free(two_threads):
    inside, leave = threading.Event(), threading.Event()

    def other():
        with one_thread():
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=other)
    thread.start()
    assert inside.wait(30)
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a hang would end it
        free = set(blas_threads()) == {2}
        with one_thread():
            held = set(blas_threads()) == {1}
        os._exit(0 if free and held and set(blas_threads()) == {2} else 3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert 1 in blas_threads()
    leave.set()
    thread.join()
    assert set(blas_threads()) == {2}
