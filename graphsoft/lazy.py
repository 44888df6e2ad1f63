"""Attributes that are computed when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

__all__ = ["lazy"]

Value = TypeVar("Value")


class lazy(Generic[Value]):
    """A property that is computed once for each object.

    On Python 3.11 ``functools.cached_property`` has one lock for all objects. A process that is forked while
    another thread holds it waits for ever, and threads wait for each other. Here two threads may both compute
    the value, which is the same.

    Examples
    --------
    >>> class Numbers:
    ...     @lazy
    ...     def total(self):
    ...         print("adding up")
    ...         return 6
    >>> numbers = Numbers()
    >>> numbers.total + numbers.total
    adding up
    12
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self.compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object | None, owner: type) -> Self | Value:
        if instance is None:
            return self
        value = instance.__dict__[self.name] = self.compute(instance)
        return value
