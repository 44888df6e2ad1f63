"""What differs between the versions of scikit-learn, from 1.5 on."""

from __future__ import annotations

from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands for the mixin of scikit-learn 1.9."""

    def with_callbacks(method: Any) -> Any:
        """Stand for the decorator of scikit-learn 1.9."""
        return method


try:
    from sklearn.utils.validation import validate_data
except ImportError:  # before 1.6 it was a method

    def validate_data(estimator: Any, X: Any, **options: Any) -> Any:
        """Stand for the function of scikit-learn 1.6."""
        return estimator._validate_data(X, **options)


__all__ = ["CallbackSupportMixin", "FitTasks", "validate_data", "with_callbacks"]


class FitTasks:
    """Tells the callbacks of an estimator which stage its fit has reached.

    Every stage is a task of its own. Before scikit-learn 1.9 there are no callbacks, and nothing is told.

    Parameters
    ----------
    estimator : SoftClusterer
    X, y
        What it is fitted to.
    """

    def __init__(self, estimator: Any, X: Any, y: Any) -> None:
        self.told = {"estimator": estimator, "X": X, "y": y}
        self.stage: str | None = None
        self.task: Any = None
        self.fit: Any = None
        if hasattr(estimator, "_init_callback_context"):
            self.fit = estimator._init_callback_context(max_subtasks=None)
            self.fit.call_on_fit_task_begin(**self.told)

    def progress(self, stage: str, done: int, total: int) -> None:
        """Note that some work has been done; it has the signature of graphsoft's own callbacks."""
        if self.fit is None or stage == self.stage:
            return
        self._end_stage()
        self.stage, self.task = stage, self.fit.subcontext(task_name=stage)
        self.task.call_on_fit_task_begin(**self.told)

    def end(self) -> None:
        """Note that the estimator is fitted."""
        if self.fit is not None:
            self._end_stage()
            # nothing has to be added to a copy of the estimator to make it a fitted one
            self.fit.call_on_fit_task_end(**self.told, reconstruction_attributes={})

    def _end_stage(self) -> None:
        if self.task is not None:
            self.task.call_on_fit_task_end(**self.told)
