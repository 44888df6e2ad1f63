"""BLAS is on one thread as long as anybody needs it, and no longer."""

import contextlib
import os
import sys
import threading

import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from graphsoft import blas
from graphsoft.blas import one_thread


def threads_of(api="blas"):
    libraries = ThreadpoolController().select(user_api=api).lib_controllers
    return {each.num_threads for each in libraries}


@pytest.fixture(autouse=True)
def several():
    with threadpool_limits(3):
        if threads_of() != {3}:
            pytest.skip("this BLAS has one thread only")
        yield


def test_calls_that_overlap():
    """The first ends while the second goes on, and the other way round."""
    inside, leave = [threading.Event() for _ in range(2)], [threading.Event() for _ in range(2)]
    seen = {}

    def call(number):
        with one_thread():
            inside[number].set()
            leave[number].wait()
            seen[number] = threads_of()

    for first, second in ((0, 1), (1, 0)):
        calls = [threading.Thread(target=call, args=(number,)) for number in (0, 1)]
        for each in (*inside, *leave):
            each.clear()
        for number in (0, 1):
            calls[number].start()
            inside[number].wait()
        leave[first].set()
        calls[first].join()
        assert threads_of() == {1}
        leave[second].set()
        calls[second].join()
        assert seen == {0: {1}, 1: {1}}
        assert threads_of() == {3}


def test_calls_within_calls():
    openmp = threads_of("openmp")
    with one_thread():
        with one_thread():
            assert threads_of() == {1}
        assert threads_of() == {1}
        assert threads_of("openmp") <= {1}
    assert threads_of() == {3}
    assert threads_of("openmp") == openmp


def test_ctrl_c_anywhere(monkeypatch):
    """Whichever line it comes at, BLAS is as it was after the next call at the latest."""

    def call(line):
        left = [line]

        def trace(frame, event, argument):
            if frame.f_code.co_filename != blas.__file__:
                return None
            if event == "line":
                left[0] -= 1
                if left[0] == 0:
                    raise KeyboardInterrupt
            return trace

        before = sys.gettrace()  # as of coverage
        sys.settrace(trace)
        try:
            with one_thread():
                pass
        finally:
            sys.settrace(before)
        return left[0] > 0

    monkeypatch.setattr(blas, "PATIENCE", 0.05)
    done, lines = False, 0
    while not done:
        lines += 1
        with contextlib.suppress(KeyboardInterrupt):
            done = call(lines)
        with one_thread():
            assert threads_of() == {1}
        assert threads_of() == {3}
        assert not blas._before
    assert lines > 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_fork_while_another_thread_holds_it():
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with one_thread(), blas._lock:
            inside.set()
            leave.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait()
    child = os.fork()
    if child == 0:
        code = 3
        with contextlib.suppress(BaseException):
            with one_thread():
                held = threads_of() == {1}
            code = 0 if held and threads_of() == {3} else 4
        os._exit(code)
    leave.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert threads_of() == {3}
