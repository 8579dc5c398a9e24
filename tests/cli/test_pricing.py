"""Amounts and price lists as they are typed."""

import pytest

import keyhole as kh
from keyhole.cli.options import MoneyOptions, PriceOptions, SizeOptions
from keyhole.cli.sizes import make_problem, make_problems, parse_budgets, suggested_budget
from keyhole.cli.source import Source, open_pricing, prices_for
from keyhole.cli.spending import CompleteRows, SpendingRule, capped, read_spending_rule


def clinic() -> Source:
    stream = kh.streams.clinic(60).stream
    return Source(stream, "clinic", "days", pricing=open_pricing("clinic", stream))


def test_budgets_of_money() -> None:
    assert parse_budgets(["12.50,4"], money=True) == [4, 12.5]
    assert parse_budgets(["0.1-0.3:0.1"], money=True) == [0.1, 0.2, 0.3]  # exact, not 0.30000000004
    assert parse_budgets(["0"], money=True) == [0]
    for typed, words in (("1e3", "not an amount"), ("-4", "not an amount"), ("4,4.0", "twice")):
        with pytest.raises(kh.ProblemError, match=words):
            parse_budgets([typed], money=True)
    problems = make_problems(clinic(), [10.0, 30.0], None)
    assert [(p.budget, p.k, p.prices is None) for p in problems] == [(10, 4, False), (30, 4, False)]


def test_the_best_of_a_purse_may_cost_what_an_example_gets() -> None:
    problem = make_problem(clinic(), SizeOptions(30.0, 4))
    assert problem.prices is not None
    deal = SpendingRule(purse=100.0, horizon=40).deal(problem)
    assert deal is not None
    assert (deal.limit, deal.worth) == (25, None)  # 2.5, in tenths
    rich = SpendingRule(purse=1e6, horizon=40).deal(problem)
    assert rich is not None
    assert rich.limit == 300  # the cap
    assert SpendingRule().deal(kh.Problem(3, 1, 2)) is None


def test_a_rate_or_a_purse_may_buy_everything() -> None:
    source = clinic()
    assert source.pricing is not None
    money = MoneyOptions(PriceOptions("clinic"), purse=50.0)
    spending = read_spending_rule(money, source)
    assert spending == SpendingRule(purse=50.0, horizon=60)
    assert capped(SizeOptions(), spending, source.pricing).budget == 125.3
    assert capped(SizeOptions(9.5), spending, source.pricing).budget == 9.5
    assert capped(SizeOptions(), SpendingRule(), source.pricing).budget is None


def test_an_amount_that_would_do_buys_something() -> None:
    for prices in ([100, 200], [3, 3, 3, 3], [0, 50]):
        shop = kh.Problem(len(prices), 1, 1000, prices=prices).prices
        assert shop is not None
        assert kh.Problem(len(prices), 1, suggested_budget(shop), prices=shop).width >= 1


def test_prices_of_a_saved_learner_go_by_name() -> None:
    """Rows for what is no feature are left out; a feature without a price is refused."""
    names = kh.streams.clinic(1).stream.names
    assert names is not None
    assert prices_for("clinic", names[:5]).cost(range(5)) > 0
    with pytest.raises(kh.ProblemError, match="no price for 'shoe_size'"):
        prices_for("clinic", (*names, "shoe_size"))


def test_complete_rows_are_counted_up_to_the_first_gap() -> None:
    stream, _ = kh.streams.realizable(d=4, k=1, n=200, seed=0)
    watching, twin = CompleteRows(), kh.FullInformation(kh.Problem(4, 1, 4))
    kh.play(twin, stream, observers=[watching])
    assert watching.count == 200
    watching = CompleteRows()
    kh.play(kh.RandomSubset(kh.Problem(4, 1, 3)), stream, observers=[watching])
    assert watching.count == 0
