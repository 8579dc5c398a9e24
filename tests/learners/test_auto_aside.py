"""What `bound()` says after history was set aside, and that the guarantee holds with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.auto.experts import NO_MEMORY, expert_index
from keyhole.learners.blocks.auto.state import LEAST, MOST, OWED, PLAYED
from keyhole.problem import Floats
from keyhole.saving.api import from_bytes, to_bytes
from keyhole.saving.archive import encode
from keyhole.streams import ArrayStream

PROBLEM = kh.Problem(d=16, k=1, budget=12)
ROWS, ROUNDS, WIDER = 100, 200, 100.0


def new(problem: kh.Problem = PROBLEM, *, proper: bool = False) -> kh.AutoLearner:
    return kh.AutoLearner(problem, seed=0, proper=proper)


def history(rows: int = ROWS) -> ArrayStream:
    """A feature matters, and labels are up to 100 times as large as in the rounds."""
    rng = np.random.default_rng(1)
    X = np.where(rng.random((rows, 16)) < 0.5, -1.0, 1.0)
    return ArrayStream(X, WIDER * (0.9 * X[:, 3] + 0.1 * rng.uniform(-1.0, 1.0, rows)))


def again(learner: kh.AutoLearner) -> kh.AutoLearner:
    return from_bytes(to_bytes(learner), kh.AutoLearner)


def of_before(learner: kh.AutoLearner) -> kh.AutoLearner:
    """From a file of an earlier version."""
    state = learner.state()
    parts = {name: part for name, part in state.parts.items() if name != "owed"}
    return kh.AutoLearner.from_state(replace(state, parts=parts))


class Game(NamedTuple):
    """`lost` and `allowed` by round: the loss, and what the net's expert lost, with records."""

    learner: kh.AutoLearner
    X: Floats
    y: Floats
    predictions: Floats
    lost: Floats
    allowed: Floats
    bounds: Floats
    owed: Floats
    aside: Floats


def label(how: str, rng: np.random.Generator, x: Floats, prediction: float) -> float:
    if how == "adversary":
        return -1.0 if prediction >= 0.0 else 1.0
    return float(rng.uniform(-1.0, 1.0) if how == "noise" else 0.8 * x[5] + 0.2 * rng.uniform())


def played(how: str, *, before: int = 0, saved: int = 0, old_file: int = 0) -> Game:
    """History is studied `before` which so many rounds are played; saved every so many rounds."""
    rng, learner = np.random.default_rng(2), new()
    net = expert_index(learner._experts, "net", NO_MEMORY)
    X, lost, allowed, rows = np.where(rng.random((ROUNDS, 16)) < 0.5, -1.0, 1.0), 0.0, 0.0, []
    for t, x in enumerate(X):
        if t == before:
            learner.study(history())
        if saved and t % saved == 1:
            learner = again(learner)
        if old_file and t == old_file:
            learner = of_before(learner)
        ticket, span = learner.ask(), learner._state.mixture.span.copy()
        seen, charged = ticket.fill(x[ticket.features]), float(learner._state.mixture.losses[net])
        prediction = learner.predict(seen)
        y = label(how, rng, x, prediction)
        learner.tell(seen, y)
        lost += (y - prediction) ** 2
        allowed += float(learner._state.mixture.losses[net]) - charged
        if not span[0] <= y <= span[1]:  # paid by the mixture and by the layer too
            first = bool(np.isnan(span[0]))
            allowed += (y - prediction) ** 2 + (
                0.0 if first else 2.0 * float(np.ptp([*span, y])) ** 2
            )
        state = learner._state
        numbers = lost, allowed, learner.bound(), state.owed[OWED], float(state.aside[0])
        rows.append((y, prediction, *numbers))
    return Game(learner, X, *np.array(rows).T)


@pytest.mark.parametrize("how", ["adversary", "noise", "signal"])
@pytest.mark.parametrize("before", [0, 40])
def test_the_guarantee_holds_and_history_does_not_count(how: str, before: int) -> None:
    """At every round. The broken twin forgets what it owes."""
    game = played(how, before=before, saved=7)
    assert (game.lost <= game.allowed + game.bounds).all()
    since = game.aside > 0.0
    assert before < int(np.argmax(since)) < ROUNDS - 50
    assert (game.lost > game.allowed + game.bounds - game.owed)[since].all()
    span, last = np.ptp(game.learner._state.mixture.span), int(np.argmax(since)) - 1
    assert span == np.ptp(game.y[before:]) <= 2.0
    counted = game.bounds - game.owed  # the rest is as the square of the range
    assert counted[-1] == pytest.approx(counted[last] * (span / np.ptp(history().y)) ** 2, rel=0.1)
    assert game.bounds[-1] < 0.5 * game.bounds[last]


@pytest.mark.parametrize("old_file", [4, 20])
def test_a_file_from_before_this_was_counted_promises_no_less(old_file: int) -> None:
    """Loaded while history is on trial."""
    game = played("adversary", old_file=old_file)
    assert game.aside[old_file] == 0.0
    assert game.aside[-1] == ROWS
    assert (game.lost <= game.allowed + game.bounds).all()


def test_a_file_with_what_a_correction_left() -> None:
    learner = played("noise").learner
    state, bound = learner.state(), learner.bound() - learner._state.owed[OWED]
    old = kh.AutoLearner.from_state(replace(state, parts={**state.parts, "owed": np.array([7.0])}))
    assert old.bound() == pytest.approx(bound + 7.0)


def test_what_was_played_is_summed() -> None:
    """From the second label on: the first is charged to no one."""
    rng, learner = np.random.default_rng(3), new()
    X, y = rng.standard_normal((50, 16)), rng.standard_normal(50)
    predictions = learner.advance(X, y)
    assert learner._state.owed[PLAYED] == pytest.approx(((y - predictions)[1:] ** 2).sum())
    learner.study(history())
    assert learner._state.owed[PLAYED] == pytest.approx(((y - predictions)[1:] ** 2).sum())
    learner.advance(X[:10], y[:10])
    assert learner._state.owed[[LEAST, MOST]].tolist() == [y[:10].min(), y[:10].max()]


def test_blocks_and_rounds_owe_the_same() -> None:
    game, learner = played("adversary"), new()
    learner.study(history())
    found = np.concatenate(
        [learner.advance(game.X[i : i + 37], game.y[i : i + 37]) for i in range(0, ROUNDS, 37)]
    )
    assert (found == game.predictions).all()
    assert (learner._state.owed == game.learner._state.owed).all()
    assert learner.bound() == game.bounds[-1]


def test_it_may_be_set_aside_while_more_is_studied() -> None:
    """Then nobody has lost anything either."""
    learner, X = new(), history().X
    learner.study(history())
    learner.advance(X[:4], np.linspace(-1.0, 1.0, 4))
    learner._state.trial[:] = -1e9, 0.0, 8.0, 0.0, 8.0
    learner.study(history(1))
    assert learner._state.aside[0] == ROWS
    for mixture in (learner._state.mixture, learner._last.judge, learner._chain.second):
        assert not mixture.losses.any()
    assert learner._state.owed[OWED] > learner._state.owed[PLAYED] == 0.0


def test_a_jump_of_level_does_not_bring_its_range_back() -> None:
    game = played("noise")
    learner, top = game.learner, 1e6
    learner.advance(game.X[:20], top + game.y[:20])
    low, high = learner._state.mixture.span.tolist()
    assert low == game.y.min()
    assert high == pytest.approx(top, rel=1e-3)


def test_a_correction_of_a_label_widens_the_range_since() -> None:
    learner, X = new(), history().X
    learner.study(history())
    ticket = learner.ask()
    learner.tell(ticket.fill(X[0, ticket.features]), 0.5)
    learner.correct(ticket, y=-3.0)
    assert learner._state.owed[[LEAST, MOST]].tolist() == [-3.0, 0.5]


def test_a_correction_that_begins_anew_takes_over_what_was_promised() -> None:
    learner, X = new(), history().X
    tickets = list[kh.Ticket]()
    for x, y in zip(X, [0.5, 0.1, 50.0], strict=False):
        tickets.append(learner.ask())
        learner.tell(tickets[-1].fill(x[tickets[-1].features]), y)
    promised = learner.bound()
    assert learner._state.owed[PLAYED] > 1000.0
    learner.correct(tickets[-1], y=0.3)
    assert learner._state.owed[:2].tolist() == [promised, 0.0]
    assert promised < learner.bound() == again(learner).bound() < 1.01 * promised


@pytest.mark.parametrize(
    "how",
    [
        {"proper": True},
        {"past": False, "shapes": False, "parts": kh.AutoParts(kinks=None)},
        {"parts": kh.AutoParts(slots=0, net=0)},
    ],
)
def test_other_kinds_of_learners_go_on_too(how: dict[str, Any]) -> None:
    learner = kh.AutoLearner(PROBLEM, seed=0, **how)
    learner.study(history())
    game = played("noise")
    learner.advance(game.X[:150], game.y[:150])
    assert learner._state.aside[0] == ROWS
    assert np.ptp(learner._state.mixture.span) <= 2.0
    assert np.isfinite(learner.bound()) == ("past" in how)
    loaded = again(learner)
    assert (loaded.advance(game.X, game.y) == learner.advance(game.X, game.y)).all()
    assert loaded.bound() == learner.bound()


@pytest.mark.parametrize(
    "forged", [[-1.0, 0, 0, 0], [0, -1.0, 0, 0], [0, 0, 1, 0], [0, 0, np.nan, 0]]
)
def test_a_forged_file_is_refused(forged: list[float]) -> None:
    state = played("noise").learner.state()
    parts = {**state.parts, "owed": np.array(forged, dtype=float)}
    with pytest.raises(kh.StateError, match="owed"):
        from_bytes(encode(replace(state, parts=parts), "1"))
