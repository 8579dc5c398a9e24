"""Where all features cost the same, a price is a unit: every learner plays as without prices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.baselines import RandomSubset, filled_subset
from keyhole.problem import Floats
from keyhole.saving.api import from_bytes, to_bytes
from keyhole.saving.archive import encode

D, ROUNDS, APART = 14, 150, 70


def data() -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROUNDS, D))
    return X, X[:, 2] - X[:, 5] + 0.3 * rng.standard_normal(ROUNDS)


def problem(reads: int, price: float | None, last: float | None = None) -> kh.Problem:
    """With prices there is a fifth of a price left over; `last`: what the last feature costs."""
    if price is None:
        return kh.Problem(D, 2, reads)
    prices = [price] * (D - 1) + [price if last is None else last]
    return kh.Problem(D, 2, round(price * (reads + 0.2), 9), prices=prices)


def transcript(learner: Any, rows: slice, *, blocks: bool) -> list[Any]:
    """What is bought and predicted, and the model, of rounds one by one or of one block."""
    X, y = (part[rows] for part in data())
    if blocks:
        bought = np.full((len(y), learner.problem.width), -1, dtype=np.int32)
        predictions = learner.advance(X, y, bought)
        told = [bought.tobytes(), predictions.tobytes()]
    else:
        told = []
        for x, label in zip(X, y.tolist(), strict=True):
            ticket = learner.ask()
            seen = ticket.fill(x[ticket.features])
            told += [ticket.features.tolist(), learner.predict(seen)]
            learner.tell(seen, label)
    if hasattr(learner, "model"):
        model = learner.model()
        told += [model.features.tolist(), model.weights.tobytes(), model.intercept]
    return told


@pytest.mark.parametrize("blocks", [False, True], ids=["rounds", "blocks"])
@pytest.mark.parametrize("price", [1, 2.5])
@pytest.mark.parametrize("name", kh.LEARNERS)
def test_prices_that_are_alike_change_nothing(name: str, price: float, blocks: bool) -> None:
    for reads in (D,) if kh.LEARNERS[name].reads_everything else (5, 12, D):
        plain, priced = (kh.LEARNERS[name](problem(reads, p), seed=5) for p in (None, price))
        if blocks and not hasattr(plain, "advance"):
            return
        for rows in (slice(APART), slice(APART, ROUNDS)):
            game = transcript(plain, rows, blocks=blocks)
            assert transcript(priced, rows, blocks=blocks) == game


@pytest.mark.parametrize("how", [{"proper": True}, {"past": False}, {"parts": "few seats"}])
def test_nor_in_other_modes_of_auto(how: dict[str, Any]) -> None:
    how = {"parts": kh.AutoParts(active=13)} if "parts" in how else how
    plain, priced = (kh.AutoLearner(problem(12, p), seed=5, **how) for p in (None, 2.5))
    everything = slice(ROUNDS)
    game = transcript(plain, everything, blocks=True)
    assert transcript(priced, everything, blocks=True) == game


def test_prices_that_differ_do_change_what_is_bought() -> None:
    """The twin: one feature costs a little less, and money decides."""
    plain, priced = (
        kh.AutoLearner(problem(12, p, last), seed=5) for p, last in ((None, None), (2.5, 2.0))
    )
    everything = slice(ROUNDS)
    assert transcript(plain, everything, blocks=True) != transcript(priced, everything, blocks=True)


def test_counted_says_where_a_budget_is_a_number_of_features() -> None:
    assert problem(5, None).counted
    assert problem(5, 2.5).counted
    assert not problem(5, 2.5, last=2.0).counted
    assert not problem(5, 2.5, last=0.0).counted
    assert not kh.Problem(3, 1, 2, panels={"p": (1, [0, 1])}).counted
    assert not kh.Problem(3, 1, 2, prices=[1, 1, 1], panels={"p": (1, [0, 1])}).counted
    assert not kh.Problem(3, 1, 2, prices={0: 1, 1: 1}, derived={2: [0]}).counted


def test_a_random_subset_of_before_prices_alike_were_counted_stays_what_it_is() -> None:
    """Files from then do not say what it is: the money was spent in another random order."""
    for reads in (5, 9):
        learner = RandomSubset(problem(reads, 2.5), seed=5)
        ticket = learner.ask()
        now = ticket.features
        learner.drop(ticket)
        state = learner.state()
        assert from_bytes(encode(state, "test")).ask().features.tolist() == now.tolist()
        before = {name: part for name, part in state.parts.items() if name != "support"}
        old = from_bytes(encode(replace(state, parts=before), "test"))
        drawn = old.ask().features
        assert drawn.tolist() == filled_subset(problem(reads, 2.5), 5).tolist() != now.tolist()
        assert from_bytes(to_bytes(old)).ask().features.tolist() == drawn.tolist()
        forged = {**state.parts, "support": np.arange(reads)}
        with pytest.raises(kh.StateError, match="support is not what is drawn"):
            from_bytes(encode(replace(state, parts=forged), "test"))
