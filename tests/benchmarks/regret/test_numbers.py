"""What the regret suite computes from its rows, by hand; what names a cell; units."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks.common.tables import Mean, number, plus_minus
from benchmarks.regret.cell import exists
from benchmarks.regret.names import name_best, name_game
from benchmarks.regret.numbers import Results, exponent, normalised
from benchmarks.regret.streams import instance
from benchmarks.regret.suite import PLAYERS, Player, Setting, simulated
from keyhole.learners import LEARNERS

A, B, C = (Player(name, name) for name in "ABC")
MORE = Player("more", "more", "more")
ONE, TWO = (
    Setting(name, "agnostic", "agnostic", {"name": "iid"}, 30, 2, 12, 100) for name in ("1", "2")
)


def results(losses: dict[tuple[str, str], list[float]], **rest: Any) -> Results:
    """Two settings, hindsight 10 and best constant 18, losses by (setting, player)."""

    def game(setting: Setting, seed: int, player: Player) -> dict[str, Any] | None:
        found = losses.get((setting.name, player.name), [])
        if seed >= len(found):
            return None
        return {"error": "Oh: no"} if math.isnan(found[seed]) else {"loss": found[seed]}

    return Results(
        (ONE, TWO),
        (A, B, C, MORE),
        2,
        best=lambda setting, seed: {"low": 10.0, "high": 10.0, "constant": 18.0},
        game=game,
        exists=lambda player: True,
    )


TABLE = results(
    {
        ("1", "A"): [12.0, 14.0],
        ("1", "B"): [11.0, 13.0],  # better than A by exactly 1 with both seeds
        ("1", "C"): [20.0, math.nan],
        ("1", "more"): [10.0, 10.0],
        ("2", "A"): [12.0, 12.0],
        ("2", "B"): [18.0, 4.0],  # better than A by 1 +- 7
        ("2", "C"): [40.0, 40.0],
    }
)


def test_normalised_regret_by_hand() -> None:
    assert normalised(loss=12.0, best=10.0, constant=18.0) == 0.25
    assert normalised(10.0, 10.0, 18.0) == 0.0
    assert normalised(18.0, 10.0, 18.0) == 1.0
    assert math.isnan(normalised(3.0, 5.0, 5.0))  # nothing to explain
    assert TABLE.shares(ONE, A) == [0.25, 0.5]
    assert TABLE.regrets(ONE, A) == [2.0, 4.0]


def test_mean_and_standard_error_by_hand() -> None:
    # Standard deviation sqrt(2), divided by sqrt(2).
    found = Mean.of([2.0, 4.0])
    assert found.mean == 3.0
    assert found.error == pytest.approx(1.0)
    assert math.isnan(Mean.of([2.0]).error)


def test_ranks_by_hand() -> None:
    # Setting 1: B, A, then C, who failed once; setting 2: B (mean 11), A (12), C.
    assert TABLE.ranks([ONE, TWO]) == {A: 2.0, B: 1.0, C: 3.0}
    tied = results({("1", "A"): [12.0, 14.0], ("1", "B"): [14.0, 12.0]})
    assert tied.ranks([ONE]) == {A: 1.5, B: 1.5, C: 3.0}
    assert results({}).ranks([ONE]) == {}


def test_a_loss_counts_when_it_exceeds_the_error_of_the_differences() -> None:
    # Between the two the seeds differ by 2, between players by 1 each time: an error that is not
    # that of the differences (1.4) would hide it. On setting 2 the gap is well within its error.
    (found,) = TABLE.losses(A)
    assert (found.setting, found.winner, found.gap) == (ONE, B, Mean(1.0, 0.0))
    assert found.share == pytest.approx(1 / 8)
    assert TABLE.losses(B) == []


def test_reasons_for_dashes() -> None:
    assert TABLE.missing(ONE, A) == ""
    assert TABLE.missing(ONE, C) == "fails on 1 of 2 seeds: Oh: no"
    assert TABLE.missing(TWO, MORE) == "not played yet"
    assert "not part of this group" in TABLE.missing(replace(ONE, players=("B",)), A)
    assert "the stream's own" in TABLE.missing(ONE, Player("raw", "A", "raw"))


def test_growth_exponents() -> None:
    rounds = [2**i for i in range(8, 17)]
    t = np.array(rounds, dtype=np.float64)
    found = exponent(rounds, np.array([3.0 * t**0.5, t**0.7]))
    assert found is not None
    assert found.mean == pytest.approx(0.6)
    assert found.error == pytest.approx(0.1)
    assert exponent(rounds, np.array([1.0 - t])) is None
    assert exponent([], np.empty((0, 0))) is None


def test_numbers_have_the_digits_their_error_allows() -> None:
    assert plus_minus(Mean(12.3456, 0.0214)) == "12.346 ± 0.021"
    assert plus_minus(Mean(1234.5, 321.0)) == "1,234 ± 321"
    assert plus_minus(Mean(0.51234, math.nan)) == "0.512"
    assert number(0.0, 0.0) == "0.000"


def test_what_names_a_cell() -> None:
    auto = next(p for p in PLAYERS if p.name == "auto")
    oracle = next(p for p in PLAYERS if p.name == "oracle")
    name = name_game(ONE, 0, auto)
    assert name == name_game(TWO, 0, replace(auto, name="another word"))  # words do not count
    changed = (
        name_game(ONE, 1, auto),
        name_game(replace(ONE, rounds=99), 0, auto),
        name_game(replace(ONE, k=1), 0, auto),
        name_game(replace(ONE, units="standard"), 0, auto),
        name_game(replace(ONE, arguments={"name": "drift"}), 0, auto),
        name_game(ONE, 0, replace(auto, kind="raw")),
        name_game(ONE, 0, oracle),
        name_best(ONE, 0),
    )
    assert len({name, *changed}) == 1 + len(changed)
    # Only who is told the best model hangs on how many features it has.
    other = replace(ONE, comparator=3)
    assert name_game(other, 0, auto) == name
    assert name_game(other, 0, oracle) != name_game(ONE, 0, oracle)
    assert name_best(other, 0) != name_best(ONE, 0)
    alike = replace(ONE, one_instance=True)
    assert name_best(alike, 0) == name_best(alike, 1)


def test_standard_units() -> None:
    setting = next(s for s in simulated() if s.name == "S9")
    made = instance(replace(setting, rounds=500), 3)
    assert np.abs(made.played.X.mean(axis=0)).max() < 1e-12
    np.testing.assert_allclose(made.played.X.std(axis=0), 1.0)
    assert made.squared_unit == pytest.approx(float(made.raw.y.var()))
    np.testing.assert_allclose(
        made.raw.y, made.raw.y.mean() + made.played.y * math.sqrt(made.squared_unit)
    )
    own = instance(replace(setting, rounds=500, units="own"), 3)
    assert own.squared_unit == 1.0
    assert own.played is own.raw


def test_the_suite_fits_together() -> None:
    settings = simulated()
    assert len({s.name for s in settings}) == len(settings)
    assert len({p.name for p in PLAYERS}) == len(PLAYERS)
    assert not {s.name for s in settings} & {p.name for p in PLAYERS}  # --only tells them apart
    for setting in settings:
        assert setting.k <= setting.budget <= setting.d
        assert setting.features <= setting.budget  # so that the oracle may read its support
    assert all(exists(p) for p in PLAYERS if p.own)
    assert set(LEARNERS) <= {p.learner for p in PLAYERS}  # nobody is left out
