"""Measure what this machine can do with all the threads that graphsoft would use.

The rates are: bytes read, and copied, from arrays far larger than any cache; 64-byte lines fetched from
random places, in arrays of several sizes; fused multiply-adds from registers; logarithms and divisions.
"""

import time
from dataclasses import dataclass, fields
from functools import partial

import numpy as np

from graphsoft.kernels import kernel
from graphsoft.parallel import blocks, map_pieces, thread_count

LINE = 64  # bytes
SIZES = [1 << power for power in (18, 20, 22, 24, 26, 28, 30)]
LANES = 128  # sums side by side, enough to keep every arithmetic unit busy
CHUNK = 8192  # numbers that fit in a cache


@kernel
def copied(source, target, start, stop):
    for i in range(start, stop):
        target[i] = source[i]


@kernel
def added(source, start, stop):
    total = 0.0
    for i in range(start, stop):
        total += source[i]
    return total


@kernel
def fetched(table, places, step, start, stop):
    total = 0.0
    for i in range(start, stop):
        total += table[places[i] * step]
    return total


@kernel
def fetched_singly(table, places, step, start, stop):
    # the branch keeps the compiler from making vector loads, which are slower inside the caches
    found = -1
    for i in range(start, stop):
        if table[places[i] * step] < 0.0:
            found = i
            break
    return found


@kernel
def rows_fetched(table, places, start, stop):
    total, width = 0.0, table.shape[1]
    for i in range(start, stop):
        j = places[i]
        for at in range(0, width, LINE // 8):
            total += table[j, at]
        total += table[j, width - 1]
    return total


@kernel
def multiplied_and_added(factors, repeats):
    sums = np.zeros(LANES, dtype=factors.dtype)
    scale, shift = factors[0], factors[1]  # the compiler cannot know that sums does not overlap them
    for _ in range(repeats):
        for lane in range(LANES):
            sums[lane] = sums[lane] * scale + shift
    return sums


def best(work, repeats=5):
    """Return the seconds of the fastest of several runs, after a first one that does not count."""
    work()
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def on_threads(work, count, repeats=5):
    """Return the seconds of ``work(start, stop)`` for ``range(count)``, an equal part on each thread."""
    parts = blocks(count, -(-count // thread_count()))
    return best(lambda: list(map_pieces(work, parts)), repeats)


def each_thread(work):
    """Return the seconds until every thread has done the same work."""
    return best(lambda: list(map_pieces(lambda start, stop: work(), blocks(thread_count(), 1))))


@dataclass(frozen=True)
class Machine:
    """Rates per second, of all threads together."""

    read: float
    copy: float
    lines: dict
    multiply_adds: dict
    logarithms: float
    divisions: float

    def at_best(self, other):
        """Take the higher of each rate."""

        def higher(mine, theirs):
            if isinstance(mine, dict):
                return {key: max(value, theirs[key]) for key, value in mine.items()}
            return max(mine, theirs)

        names = [each.name for each in fields(self)]
        return Machine(*(higher(getattr(self, name), getattr(other, name)) for name in names))


def measure_machine(quick):
    read, copy = stream_rates(1 << (24 if quick else 26))
    return Machine(
        read,
        copy,
        {size: line_rate(size) for size in SIZES if not quick or size <= 1 << 28},
        {dtype: multiply_add_rate(dtype) for dtype in ("float64", "float32")},
        function_rate(np.log),
        function_rate(np.reciprocal),
    )


def function_rate(function):
    """Return values per second of a numpy function, which is faster than in compiled loops."""
    values, repeats = np.linspace(0.5, 2.0, CHUNK), 1000

    def work():
        out = np.empty(CHUNK)
        for _ in range(repeats):
            function(values, out=out)

    return thread_count() * CHUNK * repeats / each_thread(work)


def stream_rates(count):
    """Return bytes read per second, and bytes copied, of arrays of so many numbers."""
    source, target = np.ones(count), np.zeros(count)
    read = on_threads(lambda *part: added(source, *part), count)
    copy = on_threads(lambda *part: copied(source, target, *part), count)
    return source.nbytes / read, 2 * source.nbytes / copy


def line_rate(size):
    """Return lines per second from random places in an array of so many bytes."""
    table, step = np.ones(size // 8), LINE // 8
    places = np.random.default_rng(0).integers(len(table) // step, size=1 << 22, dtype=np.int32)
    return len(places) / seconds_to_fetch(table, places, step)


def seconds_to_fetch(table, places, step):
    """Return the seconds to read a number at each place, by vector loads or one by one."""
    return min(
        on_threads(partial(loop, table, places, step), len(places)) for loop in (fetched, fetched_singly)
    )


def multiply_add_rate(dtype):
    factors, repeats = np.array([0.999, 0.001], dtype=dtype), 1_000_000
    return thread_count() * LANES * repeats / each_thread(lambda: multiplied_and_added(factors, repeats))
