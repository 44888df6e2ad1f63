"""How far a run is: it never falls, stays within bounds, and ends at one."""

from hypothesis import given
from hypothesis import strategies as st

from graphsoft.progress.estimate import SHARES, Estimate

STAGES = ["neighbors", "coarsening", "dividing", "polishing"]
stages = st.sampled_from([*SHARES, "a stage of a method"])


@given(
    st.lists(stages, max_size=6, unique=True),
    st.lists(st.tuples(stages, st.integers(0, 9), st.integers(0, 5)), max_size=30),
)
def test_it_never_falls_whatever_is_reported(expected, reports):
    run, before = Estimate(expected), 0.0
    for stage, done, total in reports:
        run.update(stage, done, total)
        assert before <= run.part <= 1.0 + 1e-12
        before = run.part
    assert all(run.stage in (*expected, *(stage for stage, _, _ in reports), "") for _ in [0])


@given(st.lists(st.sampled_from(STAGES), unique=True, min_size=1))
def test_it_ends_at_one_whichever_expected_stages_came(came):
    run = Estimate(STAGES)
    came = [*sorted(set(came) - {"polishing"}, key=STAGES.index), "polishing"]
    for stage in came:
        run.update(stage, 1, 2)
        run.update(stage, 2, 2)
    assert run.part == 1.0


def test_stages_that_repeat_and_stages_left_out():
    run = Estimate(STAGES)
    assert (run.stage, run.part) == ("neighbors", 0.0)
    run.update("coarsening", 5, 5)  # a graph has no search for neighbors
    whole = SHARES["coarsening"] + SHARES["dividing"] + SHARES["polishing"]
    assert (run.stage, run.part) == ("dividing", SHARES["coarsening"] / whole)
    run.update("dividing", 1, 1)
    run.update("polishing", 2, 2)
    run.update("polishing", 1, 2)  # of the next level
    assert (run.stage, run.part) == ("polishing", 1.0)


def test_what_is_expected_can_be_said_later():
    run = Estimate(STAGES)
    run.expect(["routing", "dividing", "sweeping", "sweeping"])
    assert run.stage == "routing"
    run.update("routing", 4, 4)
    assert (run.stage, run.part) == ("dividing", 10 / (30 + SHARES["dividing"]))
    run.expect(["dividing", "sweeping"])
    run.update("dividing", 1, 1)
    assert run.stage == "sweeping"
    run.update("sweeping", 1, 1)
    assert run.part == 1.0
