"""Clocks that move when they are looked at."""


class Clock:
    """A monotonic clock that moves by a second each time that it is looked at."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        self.now += 1.0
        return self.now
