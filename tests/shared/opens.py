"""How often the tasks of one stage open files of another."""

from collections import Counter

from graphsoft.distributed.tasks import Where


def counted_opens(monkeypatch):
    """A counter of the pairs (stage that reads, stage that is read), which goes on counting."""
    found, inner = Counter(), Where.open

    def opened(where, stage, part):
        found[where.stage, stage] += 1
        return inner(where, stage, part)

    monkeypatch.setattr(Where, "open", opened)
    return found
