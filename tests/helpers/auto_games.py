"""Short games of AutoLearner beside the transcription of its page: where do they part?"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import keyhole as kh
from keyhole.learners.auto import OWN_TERMS
from keyhole.problem import Floats
from tests.helpers.auto_transcription import Own, Transcription, Word

USUAL = kh.AutoParts()


@dataclass(frozen=True)
class Case:
    """A problem, a stream, how it is played, and how many rows of it are studied before.

    `wrong`: what those rows say of y is wrong: it is times a + b, (a, b) being this.
    """

    shape: tuple[int, int, float]
    rounds: int
    kind: str = "steady"
    proper: bool = False
    past: bool = True
    parts: kh.AutoParts = USUAL
    history: int = 0
    half_life: float | None = None
    wrong: tuple[float, float] = (1.0, 0.0)
    prices: Mapping[str, Any] = field(default_factory=dict)  # with panels and derived features
    money: Mapping[str, Any] = field(default_factory=dict)  # how the learner spends it
    seed: int = 4  # of the stream
    shapes: bool = False


def stream(case: Case) -> tuple[Floats, Floats]:
    """Three features matter, in a switch others after half of it; the last column is constant."""
    rng, (d, _, _), n = np.random.default_rng(case.seed), case.shape, case.rounds
    X = rng.standard_normal((n, d)) * rng.uniform(0.5, 2.0, d) + rng.uniform(-1.0, 1.0, d)
    X[:, -1] = 7.0
    w = np.zeros(d)
    w[:3] = 1.0, -0.7, 0.5
    y = 2.0 + X @ w + rng.standard_normal(n)
    if case.kind == "switch":
        y[n // 2 :] = X[n // 2 :] @ np.roll(w, 3) + 0.5 * rng.standard_normal(n - n // 2)
    if case.kind == "walk":
        y += np.cumsum(0.3 * rng.standard_normal(n))
    if case.kind == "gaps":
        X[rng.random(X.shape) < 0.1] = np.nan
        X[rng.random(X.shape) < 0.01] *= 50.0
    if case.kind == "typos":  # of labels and values, at first and later; a real jump of both
        y[[1, 20]] *= 100.0
        y[[40, 45]] *= 30.0
        X[[2, 30, 50]] *= 50.0
        y[50] += 500.0
        y[2 * n // 3 :] += 3000.0
        X[5 * n // 6 :] *= 20.0
    if case.kind == "wild":  # one of the first rows
        X[2] *= 100.0
    if case.kind == "bends":
        Z = (X - X.mean(axis=0))[:, 3:5]
        y += 3.0 * np.abs(Z[:, 0]) + 2.0 * (np.abs(Z[:, 1]) > 1.0)
    if case.kind == "zeros":
        X[rng.random(X.shape) < 0.9] = 0.0
    times, more = case.wrong
    y[: case.history] = times * y[: case.history] + more
    return X, y


def look_ahead(
    learner: kh.AutoLearner, case: Case, X: Floats, y: Floats, row: int
) -> kh.AutoLearner:
    """The learner after these rounds, or this row of history."""
    ahead = copy.deepcopy(learner)
    if row < case.history:
        ahead.study(kh.streams.ArrayStream(X, y), half_life=case.half_life)
    else:
        ahead.advance(X, y)
    return ahead


def word_of(learner: kh.AutoLearner, ahead: kh.AutoLearner) -> Word:
    """What the learner has, and what it chooses for what comes next."""
    late = learner._state.mixture.recent[learner._settings.experts.judges]
    space = ahead._state.space
    chosen = [space.chosen[m, :many].tolist() for m, many in enumerate(space.picked.tolist())]
    bent = [j for j in learner._chain.bent.tolist() if j >= 0]
    return Word(late.copy(), chosen, ahead._state.kept.who.tolist(), bent)


def first_difference(case: Case, bug: str = "") -> str:
    """Where block play and the transcription part, in words; empty if they never do.

    A second learner plays the same in small blocks: it has the last word where rounding decides.
    """
    problem, (X, y) = kh.Problem(*case.shape, **case.prices), stream(case)
    how: dict[str, Any] = {"proper": case.proper, "past": case.past, "parts": case.parts}
    fast, slow = (
        kh.AutoLearner(problem, seed=3, shapes=case.shapes, **how, **case.money) for _ in range(2)
    )
    rules = Transcription(problem, seed=3, bug=bug, **how, **case.money)
    before = case.history
    keep = 1.0 if case.half_life is None else 0.5 ** (1.0 / case.half_life)

    def word(rows: slice) -> Word:
        return word_of(slow, look_ahead(slow, case, X[rows], y[rows], rows.start))

    fast.study(kh.streams.ArrayStream(X[:before], y[:before]), half_life=case.half_life)
    for i in range(before):
        row = slice(i, i + 1)
        rules.study(X[i], float(y[i]), keep, word(row))
        slow.study(kh.streams.ArrayStream(X[row], y[row]), half_life=case.half_life)
    bought = np.full((len(y), problem.width), -1, dtype=np.int32)
    predictions = np.zeros(len(y))
    predictions[before:] = fast.advance(X[before:], y[before:], bought[before:])
    played = predictions.copy()
    if case.shapes:  # what is predicted before shapes
        predictions[before + 1 :] = fast._chain.p[before + 1 : len(y)]
    t, bent = before, 0
    while t < len(y):
        size = rules.size()
        rows = slice(t, min(t + size, len(y)))
        said = word(rows)
        bent = max(bent, len(said.bent))
        batch = rules.choose(said)
        for i in range(rows.start, rows.stop):
            features, number = bought[i][bought[i] >= 0].tolist(), i + 1 - before
            if features != batch.S:
                return f"round {number} buys {features}, by the rules {batch.S}"
            expected = rules.play(batch, X[i], float(y[i]))
            if not np.isclose(predictions[i], expected, rtol=1e-9, atol=1e-9):
                return f"round {number} predicts {predictions[i]}, by the rules {expected}"
        assert (slow.advance(X[rows], y[rows]) == played[rows]).all()
        if rows.stop - rows.start == size:
            rules.finish(batch)
        t = rows.stop
    assert (bent > 0) == (case.kind == "bends")
    in_model = [*rules.in_model.tolist(), rules.in_any]
    if fast._state.played.tolist() != in_model:
        return f"in the model for {fast._state.played.tolist()} rounds, by the rules {in_model}"
    return ""


def first_own_difference(case: Case, own: Own, bug: str = "") -> str:
    """Where an example on terms of its own, asked before every batch, parts from the rules."""
    problem, (X, y) = kh.Problem(*case.shape, **case.prices), stream(case)
    how: dict[str, Any] = {"proper": case.proper, "past": case.past, "parts": case.parts}
    learner = kh.AutoLearner(problem, seed=3, shapes=False, **how, **case.money)
    rules = Transcription(problem, seed=3, bug=bug, **how, **case.money)
    items = None if problem.prices is None else problem.prices.items
    prices: dict[str | int, float | str] = {
        item if items is None else items[item]: price for item, price in own.prices.items()
    }
    t = 0
    while t < len(y):
        asked = copy.deepcopy(learner)
        ticket = asked.ask(prices=prices, without=own.without, budget=own.budget)
        expected = rules.once(own, OWN_TERMS + learner.round, word_of(learner, asked))
        if ticket.features.tolist() != expected:
            return f"after round {t} it buys {ticket.features}, by the rules {expected}"
        asked.drop(ticket)
        rows = slice(t, min(t + rules.size(), len(y)))
        learner, bought = copy.deepcopy(asked), np.full((1, problem.width), -1, dtype=np.int32)
        bought = bought.repeat(rows.stop - t, axis=0)
        learner.advance(X[rows], y[rows], bought)
        batch = rules.choose(word_of(asked, learner))
        if bought[0][bought[0] >= 0].tolist() != batch.S:
            return f"after round {t} the others buy something else than {batch.S}"
        for i in range(rows.start, rows.stop):
            rules.play(batch, X[i], float(y[i]))
        rules.finish(batch)
        t = rows.stop
    return ""
