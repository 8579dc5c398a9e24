"""What is implausible, and then corrected: what of it is remembered, and what is believed."""

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.sums.reach import DOUBT, HIGH, LOW
from keyhole.problem import Floats
from keyhole.saving.api import from_bytes, to_bytes
from tests.helpers.auto_corrected import Case, D, Wrong, correct, data, play

USUAL = kh.AutoParts()
REFUSED = "before the first values or the level of labels turned out to be others"


def told(
    X: Floats, y: Floats, parts: kh.AutoParts = USUAL
) -> tuple[kh.AutoLearner, list[kh.Ticket]]:
    learner, tickets = kh.AutoLearner(kh.Problem(D, 2, D), seed=1, parts=parts), []
    for x, label in zip(X, y.tolist(), strict=True):
        tickets.append(learner.ask())
        learner.tell(tickets[-1].fill(x), label)
    return learner, tickets


@pytest.mark.parametrize("what", ["label", "value"])
def test_a_wild_first_one_is_forgotten_and_cannot_be_corrected(what: str) -> None:
    """Refused once it was taken back; and then the typo costs nothing any more.

    Where it is believed, it can be corrected at any time.
    """
    X, y = data(Case())
    clean = (told(X[:60], y[:60])[0].advance(X[60:], y[60:]) - y[60:]) ** 2
    wild, labels = X.copy(), y.copy()
    if what == "label":
        labels[0] = 750.0
    else:
        wild[0, 0] = -900.0
    learner, tickets = told(wild[:60], labels[:60])
    before = to_bytes(learner)
    for ticket in tickets[:4]:
        with pytest.raises(kh.StateError, match=REFUSED):
            learner.correct(ticket, y=float(y[0]), values={0: float(X[0, 0])})
    assert to_bytes(learner) == before
    learner.correct(tickets[4], y=float(y[4]))
    since = (learner.advance(X[60:], y[60:]) - y[60:]) ** 2
    assert since.mean() < 1.1 * clean.mean()
    credulous, tickets = told(wild[:60], labels[:60], kh.AutoParts(far=1e9))
    credulous.correct(tickets[0], y=float(y[0]), values={0: float(X[0, 0])})


@pytest.mark.parametrize("what", ["label", "value"])
def test_three_typos_of_which_two_were_corrected_move_nothing(what: str) -> None:
    """The third of them is no more believed than the first; were they right, it would be."""
    X, y = data(Case())
    j = 0 if what == "value" else -1
    for mended in (True, False):
        learner, tickets = told(X[:60], y[:60])
        row, rows, labels = learner._state.reach[j], X[60:68].copy(), y[60:68].copy()
        ends = row[[LOW, HIGH]].tolist()
        for t in (2, 3, 4):  # at the end of a batch, and in the next
            if what == "value":
                rows[t, 0] = 700.0
            else:
                labels[t] = 700.0
        for t in range(8):
            tickets.append(learner.ask())
            learner.tell(tickets[-1].fill(rows[t]), float(labels[t]))
            if t == 3 and mended:
                assert row[DOUBT] > 1.4
                for i in (62, 63):
                    learner.correct(tickets[i], y=float(y[i]), values={0: float(X[i, 0])})
                assert row[DOUBT] == 0.0
        assert (row[[LOW, HIGH]].tolist() == ends) == mended


def test_what_a_wrong_value_added_to_the_reach_goes() -> None:
    _X, _y = data(Case())
    right, _ = play(Case(), {})
    wrong: Wrong = {60: ({0: 9.0}, 15.0)}
    learner, tickets = play(Case(), wrong)
    assert learner._state.reach[[0, -1], HIGH].tolist() == [9.0, 15.0]
    correct(learner, Case(), wrong, tickets)
    found, expected = learner._state.reach, right._state.reach
    assert found[:, :2].tolist() == expected[:, :2].tolist()
    learner.correct(tickets[61], values={0: 4.0})  # little more than the others
    learner.correct(tickets[61], values={0: 1.0})
    assert learner._state.reach[0, HIGH] == 4.0
    again = from_bytes(to_bytes(learner), kh.AutoLearner)
    assert again._state.reach.tolist() == learner._state.reach.tolist()


@pytest.mark.parametrize("later", [False, True])
def test_what_is_corrected_is_believed_whether_it_is_in_the_sums_or_not(later: bool) -> None:
    """A value and a label far out: absent and cut off as told, and as they are once corrected."""
    X, y = data(Case())
    learner, tickets = told(X[:56], y[:56])
    X[57, 0], y[58] = 700.0, 900.0
    for t in (56, 57, 58):
        tickets.append(learner.ask())
        learner.tell(tickets[-1].fill(X[t]), float(y[t]))
    state = learner._state
    ring = state.ring
    if later:
        learner.advance(X[59:70], y[59:70])
        assert np.isnan(ring.values[57, 0])
    assert ring.labels[58] == y[:58].max()
    learner.correct(tickets[57], values={0: 700.0})
    learner.correct(tickets[58], y=900.0)
    if not later:
        learner.advance(X[59:70], y[59:70])
    assert ring.folds[58] > 0
    assert ring.values[57, 0] == 700.0
    assert ring.labels[58] == 900.0
    assert state.values.reads[0] == state.values.reads[1]
    assert state.reach[0, HIGH] == 700.0
    assert state.reach[-1, HIGH] == state.mixture.span[1] == 900.0


def test_a_label_that_was_taken_back_is_not_among_those_that_are_left() -> None:
    """It is still in the ring; the range without a later wrong one is not made of it."""
    X, y = data(Case())
    y = y.copy()
    y[0] = 750.0
    learner, _ = told(X[:60], y[:60], kh.AutoParts(shortest=1))
    assert learner._state.ring.labels[0] == 750.0
    ticket = learner.ask()
    learner.tell(ticket.fill(X[60]), 16.0)
    learner.advance(X[61:], y[61:])
    assert learner._state.mixture.span[1] == 16.0
    learner.correct(ticket, y=float(y[60]))
    assert learner._state.mixture.span.tolist() == [y[1:].min(), y[1:].max()]
