"""Prices in what AutoLearner says: beside every purchase, and in the order of its advice."""

import json
import math

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.auto.advice import Advice, Fewer, Worth
from keyhole.learners.blocks.auto.explanation import Explanation, Line

NAMES = ("free", "cheap", "dear", "left", "right", "noise")
PROBLEM = kh.Problem(
    6, 3, 20, NAMES, prices=[0, 1, "9.50", 0, 0, 1], panels={"pair": (4, ["left", "right"])}
)


@pytest.fixture(scope="module")
def learner() -> kh.AutoLearner:
    """All matter but the last; the dear one gains more than the cheap one, but not 9.5 times."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 6))
    made = kh.AutoLearner(PROBLEM, seed=0)
    made.advance(X, X @ [0.5, 1.0, 1.5, 1.0, 1.0, 0.0] + 0.5 * rng.standard_normal(600))
    return made


def test_every_purchase_has_its_price_alone(learner: kh.AutoLearner) -> None:
    told = learner.explain()
    prices = {line.name: line.price for line in told.lines}
    alone = {"free": 0.0, "cheap": 1.0, "dear": 9.5, "left": 4.0, "right": 4.0, "noise": 1.0}
    assert prices == {name: alone[name] for name in prices}
    assert {"free", "cheap", "dear", "left", "right"} <= set(prices)
    assert told.cost == PROBLEM.cost([NAMES.index(name) for name in prices])
    assert told.cost is not None
    assert told.cost < sum(price or 0.0 for price in prices.values())  # the pair is paid for once
    assert f"bought for every example for {told.cost:g} together:" in str(told)
    assert "reads   costs 9.5" in str(told)
    assert "reads   free" in str(told)


def test_saved_is_what_the_others_do_not_need_anyway(learner: kh.AutoLearner) -> None:
    """The broken twin takes the price alone: 4 for each of a pair that is paid for once."""
    kept = {worth.name: worth.saves for worth in learner.advice().kept}
    assert kept["free"] == 0.0
    assert (kept["cheap"], kept["dear"]) == (1.0, 9.5)
    assert (kept["left"], kept["right"]) == (0.0, 0.0)


def test_what_brings_most_for_its_money_comes_first(learner: kh.AutoLearner) -> None:
    """The broken twin ranks by what is lost: then the dear one comes first."""
    advice = learner.advice()
    order = [worth.name for worth in advice.kept]
    assert max(advice.kept, key=lambda worth: worth.lost).name == "dear"
    assert set(order[:3]) == {"free", "left", "right"}  # they save nothing
    assert order.index("cheap") < order.index("dear")
    values = [worth.per_money for worth in advice.kept]
    assert values == sorted(values, reverse=True)
    lost = [worth.lost for worth in advice.kept if math.isinf(worth.per_money)]
    assert lost == sorted(lost, reverse=True)


def test_fewer_features_cost_less(learner: kh.AutoLearner) -> None:
    fewer = learner.advice().fewer
    costs = [PROBLEM.cost([NAMES.index(name) for name in some.features]) for some in fewer]
    assert [some.cost for some in fewer] == costs
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == 0.0
    told = json.loads(json.dumps(learner.advice().as_json()))
    assert [row["cost"] for row in told["fewer"]] == costs
    assert all("saves" in row for row in told["kept"])


def test_without_prices_nothing_is_said_of_money() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    plain = kh.AutoLearner(kh.Problem(6, 2, 4), seed=0)
    plain.advance(X, X[:, 0] + 0.1 * rng.standard_normal(300))
    told = plain.explain()
    assert told.cost is None
    assert {line.price for line in told.lines} == {None}
    assert {worth.saves for worth in plain.advice().kept} == {None}
    text = f"{told}{plain.advice()}{plain.advice().as_json()}"
    assert not [word for word in ("'saves'", "saved", "'cost'", "for its money") if word in text]


def advised(kept: tuple[Worth, ...], fewer: tuple[Fewer, ...]) -> list[str]:
    advice = Advice(9, 9, kept, fewer, 0, "all rounds", 0, 0.0, 0, 0)
    return str(advice).splitlines()


def test_sentences_with_money() -> None:
    age, crp = Worth("age", 1.0, 0.3, 0.01, 0.0), Worth("crp", 1.0, 0.2, 0.01, 2.5)
    both, one = Fewer(("age", "crp"), 0.5, 0.0, 2.5), Fewer(("age",), 0.3, 0.01, 0.0)
    none = Fewer((), 0.0, 0.01, 0.0)
    said = advised((age, crp), (both, one, none))
    assert said[1].endswith("is explained, nothing saved")
    assert said[2].endswith("is explained, 2.5 saved")
    least = (
        "None can be left out for nothing; crp brings least for its money (20.0 % ± 1.0 % for 2.5)."
    )
    assert said[4] == least
    idle = Fewer(("age",), 0.4999, 0.01, 0.0)
    said = advised((age, crp), (both, idle, none))
    assert said[4] == (
        "crp could be left out: that costs nothing that can be told from chance, and saves 2.5 per "
        "example."
    )
    same = Fewer(("crp",), 0.4999, 0.01, 2.5)
    said = advised((age, crp), (both, same, none))
    assert said[4].endswith("told from chance, but saves nothing.")


def test_all_free_features_are_compared_by_what_is_lost() -> None:
    a, b = Worth("a", 1.0, 0.3, 0.01, 0.0), Worth("b", 1.0, 0.2, 0.01, 0.0)
    fewer = Fewer(("a", "b"), 0.5, 0.0, 0.0), Fewer(("a",), 0.3, 0.01, 0.0), Fewer((), 0, 0.01, 0.0)
    assert "b is missed least (20.0 % ± 1.0 %)." in advised((a, b), fewer)[4]


def test_lines_of_an_explanation() -> None:
    lines = (
        Line("age", "kept", 0.5, 120, 0.31, 0.02, price=0.0),
        Line("mri", "explored", 0.0, 3, price=1250.5),
    )
    said = str(Explanation(200, lines, {"all": 1.0}, 0.0, cost=1250.5)).splitlines()
    assert said[0] == "after 200 rounds, bought for every example for 1,250.5 together:"
    assert said[1].endswith("120 reads   free")
    assert said[2].endswith("3 reads   costs 1,250.5")
