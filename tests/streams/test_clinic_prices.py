"""The price list of the clinic: it fits the tests, and money has to be spent with care."""

import itertools

import numpy as np
import pytest

from keyhole.problem import Floats, Problem, ProblemError
from keyhole.streams import CLINIC_BUDGET, clinic, clinic_prices, collect
from keyhole.streams.clinic import BLOOD_PANELS, FROM_BLOOD, PANELS, PRICES, TESTS

NAMES = tuple(test.name for test in TESTS)


def _problem(budget: float = CLINIC_BUDGET) -> Problem:
    return Problem(len(NAMES), 4, budget, NAMES, prices=clinic_prices())


def _places(*names: str) -> list[int]:
    return [NAMES.index(name) for name in names]


def test_the_list_fits_the_clinic() -> None:
    assert clinic(10).stream.names == NAMES
    fitted = clinic_prices().fitted(NAMES)
    assert fitted == clinic_prices(), "no name is unknown, none is missing"
    in_panels = {name for _, members in PANELS.values() for name in members}
    assert {*PRICES} | in_panels == {*NAMES}
    with pytest.raises(ProblemError, match="there is no feature 'age_years'"):
        clinic_prices().fitted(NAMES[1:])


def test_what_is_free_and_what_needs_blood() -> None:
    problem = _problem()
    assert problem.prices is not None
    free = problem.prices.paid_for([])
    assert {NAMES[j] for j in free} == {
        *("age_years", "heart_rate", "respiratory_rate", "temperature_c")
    }
    draw = problem.prices.items.index("blood_draw")
    drawn = {NAMES[j] for j, need in enumerate(problem.prices.needs) if draw in need}
    assert drawn == {*FROM_BLOOD, *(n for panel in BLOOD_PANELS for n in PANELS[panel][1])}
    assert len(drawn) == 31
    count = problem.prices.paid_for(_places("haemoglobin_g_dl"))
    assert len(count) == 4 + 6, "a full blood count is one order for six values"
    assert problem.cost(_places("haemoglobin_g_dl")) == 9.6
    assert problem.cost(_places("haemoglobin_g_dl", "mcv_fl", "crp_mg_l")) == 17.1
    assert problem.cost(_places("tsh_miu_l")) == problem.cost(_places("tsh_miu_l", "free_t4_ng_dl"))
    assert problem.cost(range(42)) == 125.3


def _explained(Z: Floats, e: Floats, features: list[int]) -> float:
    w = np.linalg.lstsq(Z[:, features], e, rcond=None)[0]
    return 1 - float(((e - Z[:, features] @ w) ** 2).sum() / (e**2).sum())


def test_money_matters() -> None:
    X, y = collect(clinic().stream)
    Z = np.nan_to_num((X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0))
    e = y - y.mean()
    problem = _problem()
    best = _places("age_years", "crp_mg_l", "creatinine_mg_dl", "haemoglobin_g_dl", "albumin_g_l")
    cheap = _places("age_years", "temperature_c", "esr_mm_h", "urea_mg_dl", "albumin_g_l")
    assert problem.affords(best)
    assert problem.cost(cheap) < problem.cost(best) / 2
    free = [j for j in range(42) if problem.cost([j]) == 0]
    explained = [_explained(Z, e, some) for some in (free, cheap, best)]
    # R2 from 4,000 rows has standard error at most 0.016, skewed values allowed for.
    assert explained[0] + 0.1 < explained[1] < explained[2] - 0.1
    assert explained[2] > 0.65
    assert max(problem.cost([j]) for j in range(42)) < CLINIC_BUDGET, "everything can be tried"
    dear = [j for j in range(42) if problem.cost([j]) > problem.cost(best) / 2]
    assert any(not problem.affords([*best, j]) for j in dear), "and not everything at once"


def test_a_budget_buys_eight_or_nine_orders() -> None:
    problem = _problem()
    assert problem.prices is not None
    rng = np.random.default_rng(0)
    orders, values = [], []
    for _ in range(300):
        bought: list[int] = []
        for j in rng.permutation(42).tolist():
            if problem.affords([*bought, j]):
                bought.append(j)
        orders.append(len(problem.prices.to_order(bought)))
        values.append(len(problem.prices.paid_for(bought)) - 4)
    assert 8 < np.mean(orders) < 9.5  # of 300 draws, standard error below 0.15
    assert 13 < np.mean(values) < 16  # below 0.3


def test_names_of_panels_are_no_tests() -> None:
    table = clinic_prices()
    assert not {*table.panels} & {*NAMES}
    for a, b in itertools.combinations(PANELS.values(), 2):
        assert not {*a[1]} & {*b[1]}, "only the blood draw is shared"
