"""What was told wrong is corrected: all sums are those of a learner that was told right."""

from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.auto import correction
from keyhole.learners.blocks.sums.column_stats import mean
from keyhole.saving.api import from_bytes, to_bytes
from tests.helpers.auto_corrected import (
    CASES,
    ROUNDS,
    WRONG,
    Case,
    D,
    correct,
    data,
    furthest,
    play,
    sizes,
)
from tests.helpers.auto_sums import allowed


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", CASES)
def test_the_sums_are_those_of_a_learner_that_was_told_right(name: str, wrong: str) -> None:
    case = CASES[name]
    right, _ = play(case, {})
    learner, tickets = play(case, WRONG[wrong])
    off = allowed(ROUNDS + case.history, sizes(case, WRONG[wrong]))
    assert furthest(learner, right, off) > 1.0 or "last" in wrong
    correct(learner, case, WRONG[wrong], tickets)
    if case.saved:
        learner = from_bytes(to_bytes(learner), kh.AutoLearner)
    assert furthest(learner, right, off) <= 1.0
    if not case.history:
        assert learner._state.peaks == pytest.approx(right._state.peaks, rel=1e-9)
        assert learner._state.mixture.span == pytest.approx(right._state.mixture.span, rel=1e-12)
    if learner.past:
        past, like = learner._last.labels, right._last.labels
        assert past.last == pytest.approx(like.last, rel=1e-12)
        assert past.faded == pytest.approx(like.faded, rel=1e-10)
    kept = learner._state.kept
    assert np.array_equal(kept.G, np.swapaxes(kept.G, 1, 2))
    X, y = data(Case())
    learner.advance(X, y)  # it goes on


def test_without_going_back_through_the_centres_it_would_be_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The broken twin: the row is exchanged around the centres that the wrong value made."""
    column = correction.column

    def exchanged(
        rows: Any, seen: Any, j: int, row: Any, cells: Any, old: Any, new: Any, _: Any
    ) -> Any:
        as_it_was = column(rows, seen, j, row, cells, old, new, False)
        z = np.nan_to_num(new - (old - as_it_was.z_before))
        after = column(rows, seen, j, row, cells, old, new, True).after
        return as_it_was._replace(z_now=np.where(old == new, as_it_was.z_before, z), after=after)

    case = CASES["late"]
    right, _ = play(case, {})
    for wrong in (WRONG["the first value"], WRONG["a label"]):
        learner, tickets = play(case, wrong)
        with monkeypatch.context() as patch:
            patch.setattr(correction, "column", exchanged)
            correct(learner, case, wrong, tickets)
        assert furthest(learner, right, allowed(ROUNDS, sizes(case, wrong))) > 1e3


@pytest.mark.parametrize("name", ["steady", "late", "absent", "own terms"])
def test_correcting_twice_and_back(name: str) -> None:
    """The last word counts; what was right before a correction and after another is the same."""
    case, wrong = CASES[name], WRONG["both"]
    right, tickets = play(case, {})
    learner, _ = play(case, {})
    values, label = wrong[60]
    off = allowed(ROUNDS, sizes(case, {60: (dict.fromkeys(values, 50.0), 50.0)}))
    learner.correct(tickets[60], y=50.0, values=dict.fromkeys(values, 50.0))
    assert furthest(learner, right, off) > 1.0
    learner.correct(tickets[60], y=label, values=values)
    told_wrong, _ = play(case, wrong)
    assert furthest(learner, told_wrong, off) <= 1.0
    correct(learner, case, wrong, tickets)
    assert furthest(learner, right, off) <= 1.0


def test_what_was_right_stays_to_the_bit() -> None:
    """A correction that changes nothing changes nothing; another feature keeps its own sums."""
    case = CASES["absent"]
    learner, tickets = play(case, {})
    X, y = data(case)
    before = to_bytes(learner)
    learner.correct(tickets[60], y=float(y[60]), values={0: float(X[60, 0])})
    assert to_bytes(learner) == before
    G = learner._state.kept.G.copy()
    learner.correct(tickets[60], values={0: 9.0})
    others = [1, 2, 3, 4, 5, 6]
    assert (learner._state.kept.G[:, others][:, :, others] == G[:, others][:, :, others]).all()
    assert (learner._state.kept.G[:, 0] != G[:, 0]).all()


def test_by_name_by_number_and_none() -> None:
    problem = kh.Problem(3, 1, 3, names=("age", "crp", "tsh"))
    learner = kh.AutoLearner(problem, seed=0)
    for i in range(20):
        learner.tell(learner.ask().fill([1.0 + i, 2.0, 3.0]), float(i))
    ticket = learner.ask()
    learner.tell(ticket.fill([1.0, 90.0, 3.0]), 4.0)
    for _ in range(4):
        learner.tell(learner.ask().fill([1.0, 2.0, 3.0]), 4.0)
    learner.correct(ticket, values={"crp": 0.9, "tsh": None})
    seen = learner._state.values
    assert seen.reads.tolist() == [25 - 25 % 4, 24, 23]
    assert mean(seen)[1] == pytest.approx((23 * 2.0 + 0.9) / 24)
    learner.correct(ticket, values={1: 2.0})
    assert learner._state.values.square[1] == 0.0


def test_a_row_that_is_in_no_sum_yet_is_mended_in_its_batch() -> None:
    X, y = data(Case())
    right, wrong = (kh.AutoLearner(kh.Problem(D, 2, D), seed=1) for _ in range(2))
    tickets = list[kh.Ticket]()
    for t in range(7):
        for learner in (right, wrong):
            ticket = learner.ask()
            bad = learner is wrong and t == 5
            seen = ticket.fill(np.where(bad, 500.0, X[t]))
            learner.tell(seen, -90.0 if bad else float(y[t]))
        tickets.append(ticket)
    wrong.correct(tickets[5], y=float(y[5]), values={j: float(X[5, j]) for j in range(D)})
    ticket = right.ask()
    right.tell(ticket.fill(X[7]), float(y[7]))
    wrong.tell(wrong.ask().fill(X[7]), float(y[7]))
    for name in ("G", "c", "n", "yy"):
        ours, its = (getattr(one._state.kept, name).tobytes() for one in (wrong, right))
        assert ours == its


@pytest.mark.parametrize("far", [0.0, 15.0])
def test_a_peak_that_older_values_may_have_made(far: float) -> None:
    """Not all values are in the ring: a wrong one that was the largest leaves what the ring has."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((240, 2))
    X[3, 0] = far
    learner = kh.AutoLearner(kh.Problem(2, 1, 2), seed=1, parts=kh.AutoParts(ring=64))
    learner.advance(X[:200], X[:200, 1])
    ticket = learner.ask()
    learner.tell(ticket.fill([9.0, 0.0]), 0.0)
    learner.advance(X[10:17], X[10:17, 1] + 0.1)
    state, peak = learner._state, learner._state.peaks[0]
    learner.correct(ticket, values={0: 0.5})
    size = float(np.sqrt(state.kept.G[0, 0, 0] / state.kept.n[0, 0]))
    if far:
        assert state.peaks[0] == peak > 13.0
    else:
        assert size <= state.peaks[0] <= np.abs(X[:, 0]).max() + 0.2
        assert peak > 8.5


def test_a_peak_is_at_least_the_usual_size() -> None:
    """All values in the ring but the wrong one are small; those before were not."""
    rng = np.random.default_rng(6)
    learner = kh.AutoLearner(kh.Problem(2, 1, 2), seed=1, parts=kh.AutoParts(ring=16))
    X = rng.choice([-5.0, 5.0], (400, 2))
    learner.advance(X, X[:, 1])
    learner.advance(np.zeros((7, 2)), np.zeros(7))
    ticket = learner.ask()
    learner.tell(ticket.fill([18.0, 0.0]), 0.0)
    learner.advance(np.zeros((8, 2)), np.zeros(8))
    learner.correct(ticket, values={0: 0.0})
    kept = learner._state.kept
    assert learner._state.peaks[0] == np.sqrt(kept.G[0, 0, 0] / kept.n[0, 0]) > 4.5


def test_a_feature_that_is_always_0_has_the_centre_0() -> None:
    X, y = data(Case())
    X[:, 0] = 0.0
    learner = kh.AutoLearner(kh.Problem(D, 2, D), seed=1)
    learner.advance(X, y)
    learner.correct(kh.Ticket(50, np.arange(D)), y=3.0, values={1: 70.0})
    assert not learner._state.kept.G[:, 0].any()
    assert not learner._state.kept.c[:, 0].any()
