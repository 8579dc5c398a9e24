"""explain(seen): contributions add up, to what they should, and asking changes nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.errors import DataError, TicketError
from keyhole.problem import Floats
from keyhole.saving.api import to_bytes

NAMES = [f"f{j}" for j in range(12)]


def game(n: int = 3000, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 12))
    return X, X[:, 3] + np.abs(X[:, 3]) + X[:, 7] + 0.1 * rng.standard_normal(n)


def played(y: Floats | None = None, **how: Any) -> kh.AutoLearner:
    X, label = game()
    learner = kh.AutoLearner(kh.Problem(12, 2, 6, names=NAMES), seed=0, **how)
    learner.advance(X, label if y is None else y)
    return learner


@pytest.mark.parametrize("how", [{}, {"shapes": False}, {"proper": True}, {"past": False}])
@pytest.mark.parametrize("absent", [0, 1, 3, 6])
def test_add_up(how: dict[str, Any], absent: int) -> None:
    learner, rng = played(**how), np.random.default_rng(absent)
    for i in range(3):
        ticket = learner.ask()
        values = rng.standard_normal(6) * 10.0**i
        values[rng.permutation(6)[:absent]] = math.nan
        seen = ticket.fill(values)
        found = learner.explain(seen)
        assert seen.prediction is None
        prediction = learner.predict(seen)
        total = found.baseline + sum(line.adds for line in found.lines)
        assert abs(total - prediction) < 1e-9
        assert abs(found.prediction - prediction) < 1e-9
        assert [line.name for line in found.lines] == [NAMES[j] for j in ticket.features]
        for line, value in zip(found.lines, values, strict=True):
            assert line.value == value or (math.isnan(value) and line.adds == 0.0)
            if not math.isnan(value):
                here = np.flatnonzero(line.at == value)
                assert line.curve[here] == pytest.approx(line.adds, abs=1e-9)


def test_a_curve_is_what_other_values_would_have_said() -> None:
    learner = played()
    ticket = learner.ask()
    values = np.linspace(-1.0, 1.0, 6)
    found = learner.explain(ticket.fill(values))
    before = learner.predict(ticket.fill(values))
    for a, line in enumerate(found.lines):
        for at, curve in zip(line.at, line.curve, strict=True):
            other = values.copy()
            other[a] = at
            expected = line.adds + learner.predict(ticket.fill(other)) - before
            assert abs(curve - expected) < 1e-9


def test_own_terms_late_and_far_out() -> None:
    learner = played()
    early = learner.ask()
    X, y = game(200, seed=1)
    learner.advance(X, y)
    own = learner.ask(known={"f3": 1.0}, without=["f7"])
    for ticket in (early, own, learner.ask()):
        for scale in (1.0, 1e140):
            seen = ticket.fill(np.full(len(ticket.features), scale))
            found = learner.explain(seen)
            total = found.baseline + sum(line.adds for line in found.lines)
            assert abs(total - learner.predict(seen)) < 1e-9


def test_contributions_of_a_known_function() -> None:
    """x3 and x7 only add: f(x) less the mean of f over rows, within what the learner is off by.

    A twin that gives each feature the other's contribution does not pass.
    """
    learner, rng = played(), np.random.default_rng(5)
    X, _ = game()
    curve = X[-1024:, 3] + np.abs(X[-1024:, 3])
    off, twin = list[float](), list[float]()
    for _ in range(30):
        ticket = learner.ask()
        row = rng.standard_normal(12)
        seen = ticket.fill(row[ticket.features])
        adds = {line.name: line.adds for line in learner.explain(seen).lines}
        if {"f3", "f7"} <= adds.keys():
            true = row[3] + abs(row[3]) - curve.mean(), row[7] - X[-1024:, 7].mean()
            off += [adds["f3"] - true[0], adds["f7"] - true[1]]
            twin += [adds["f7"] - true[0], adds["f3"] - true[1]]
        learner.drop(ticket)
    assert len(off) >= 40
    # 64 rows to compare with: the mean of f over them has this error; noise adds .1.
    margin = math.sqrt(curve.var() / 64 + 0.1**2)
    assert np.sqrt(np.mean(np.square(off))) < 2.0 * margin
    assert np.sqrt(np.mean(np.square(twin))) > 2.0 * margin


def test_names_what_cannot_be_split() -> None:
    X, _ = game()
    learner = played(X[:, 3] + X[:, 7] + 2.0 * X[:, 3] * X[:, 7])
    ticket = learner.ask()
    row = np.zeros(12)
    row[[3, 7]] = 1.5
    found = learner.explain(ticket.fill(row[ticket.features]))
    first = found.pairs[0]
    assert set(first.names) == {"f3", "f7"}
    # 2 (1.5 - a)(1.5 - b), a and b from other rows: 4.5 in the mean, by 16 rows.
    assert 2.0 < first.adds < 7.0
    assert "f3 and f7 together" in str(found)
    assert "which cannot be split" in str(found)
    straight = played(X[:, 3] + X[:, 7], shapes=False)
    ticket = straight.ask()
    assert straight.explain(ticket.fill(row[ticket.features])).pairs == ()


def test_shows_itself() -> None:
    learner = played()
    ticket = learner.ask()
    values = np.full(6, 1.0)
    values[0] = math.nan
    found = learner.explain(ticket.fill(values))
    lines = str(found).splitlines()
    assert lines[0].startswith("prediction ")
    assert "for the examples before" in lines[0]
    assert len(lines) == 7 + len(found.pairs)
    assert sum("absent" in line for line in lines) == 1
    assert "<table>" in found._repr_html_()
    assert repr(found).startswith("<Contributions to the pred")


def test_of_yes_or_no_it_is_the_score() -> None:
    X, y = game()
    learner = kh.YesNoLearner(kh.AutoLearner(kh.Problem(12, 2, 6, names=NAMES), seed=0))
    learner.advance(X, (y > 1.0).astype(float))
    ticket = learner.ask()
    seen = ticket.fill(np.full(6, 0.7))
    found = learner.explain(seen)
    total = found.baseline + sum(line.adds for line in found.lines)
    assert abs(total - learner.inner.predict(ticket.fill(np.full(6, 0.7)))) < 1e-9
    assert found.of == "score"
    assert found.probability == learner.predict(seen)
    assert str(found).startswith("probability 0.")
    assert "from the score" in str(found)
    assert str(learner.explain()).startswith("after 3001 rounds")


def test_nothing_changes_by_asking() -> None:
    learner = played()
    ticket = learner.ask()
    seen = ticket.fill(np.ones(6))
    before = to_bytes(learner)
    one, two = learner.explain(seen), learner.explain(seen)
    assert to_bytes(learner) == before
    assert str(one) == str(two)
    assert [line.adds for line in one.lines] == [line.adds for line in two.lines]


def test_refuses() -> None:
    learner = played()
    ticket = learner.ask()
    with pytest.raises(
        DataError, match=r"explain takes what ticket.fill\(...\) returns, got a list"
    ):
        learner.explain([1.0, 2.0])  # type: ignore[call-overload]
    seen = ticket.fill(np.ones(6))
    learner.tell(seen, 1.0)
    with pytest.raises(TicketError):
        learner.explain(seen)
    fresh = kh.AutoLearner(kh.Problem(3, 1, 2), seed=0)
    found = fresh.explain(fresh.ask().fill([1.0, 2.0]))
    assert found.baseline == found.prediction == 0.0
    assert [line.adds for line in found.lines] == [0.0, 0.0]
