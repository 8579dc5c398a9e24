"""Reports in money: the bill adds up, the frontier, the rate, the purse; nothing without prices."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import keyhole as kh
from keyhole import plots
from keyhole.report import Run, record
from keyhole.report.page import page
from keyhole.report.plots import svg
from keyhole.report.tables import money_facts, money_page, price_of
from keyhole.report.traces import Trace

PANELS = {"<b>lab</b>": ("2.50", [1, 2, 4])}
PRICES = (0, 1, 0, 3, "0.25", 6, 0, 2)


def priced(hostile: kh.streams.ArrayStream, budget: float = 7.0) -> kh.Problem:
    return kh.Problem(8, 2, budget, hostile.names, prices=PRICES, panels=PANELS)


def recorded(learner: kh.AutoLearner, stream: kh.streams.ArrayStream) -> Run:
    return record(learner, stream, name="auto", seed=7, seconds=1.0, diagnosed=False)


@pytest.fixture(scope="module")
def limited(hostile: kh.streams.ArrayStream) -> Run:
    learner = kh.AutoLearner(priced(hostile), seed=7)
    return record(learner, hostile, name="auto", seed=7, seconds=1.0)


@pytest.fixture(scope="module")
def rated(hostile: kh.streams.ArrayStream) -> Run:
    return recorded(kh.AutoLearner(priced(hostile), seed=7, worth=0.5), hostile)


@pytest.fixture(scope="module")
def pursed(hostile: kh.streams.ArrayStream) -> Run:
    learner = kh.AutoLearner(priced(hostile, 20), seed=7, purse=2000, horizon=700)
    return recorded(learner, hostile)


def test_money_at_the_ends_of_bins_is_that_of_the_ledger(
    limited: Run, hostile: kh.streams.ArrayStream
) -> None:
    assert limited.spending is not None
    spent = limited.spending.spent
    assert spent[-1] == limited.ledger.spent
    end = int(limited.ends[len(limited.ends) // 2])
    part = kh.play(kh.AutoLearner(limited.problem, seed=7), kh.streams.take(hostile, end))
    assert spent[len(limited.ends) // 2] == part.spent
    assert (np.diff(spent) >= 0).all()


def test_a_trace_folds_money_as_it_folds_losses() -> None:
    """A twin that kept the first of two neighbours would be a bin behind."""
    problem = kh.Problem(2, 1, "0.30", prices=["0.10", "0.20"])
    trace = Trace(2, 4, problem.prices)
    kh.play(
        kh.FixedSubset(problem, support=[1]),
        kh.streams.ArrayStream(np.ones((13, 2)), np.ones(13)),
        observers=[trace],
    )
    assert trace.ends.tolist() == [4, 8, 12, 13]
    assert trace.spent.tolist() == [0.8, 1.6, 2.4, 2.6]  # exact: 0.2 times 13 in floats is not


def test_the_yardstick_is_the_best_that_the_budget_buys(
    limited: Run, hostile: kh.streams.ArrayStream
) -> None:
    p = limited.problem
    best = kh.hindsight(hostile, 2, cost=7, prices=p, intercept=True)
    assert limited.best.loss.high == pytest.approx(best.loss.high, rel=1e-9)
    assert p.affords(limited.best.support)
    assert limited.yardstick == "best 2 features for 7 in hindsight"
    assert kh.hindsight(hostile, 2, cost=1, prices=p, intercept=True).loss.low > best.loss.high


def test_the_frontier_is_that_of_the_library(limited: Run, hostile: kh.streams.ArrayStream) -> None:
    assert limited.spending is not None
    found = limited.spending.frontier
    assert found is not None
    library = kh.frontier(hostile, prices=limited.problem, intercept=True)
    for point in found.points:  # both know the truth, up to what time allowed
        other = library.at(point.cost).loss
        assert max(point.loss.low, other.low) <= min(point.loss.high, other.high) * (1 + 1e-9)
    best = kh.hindsight(hostile, cost=7, prices=limited.problem, intercept=True)
    assert found.at(7).loss.high == pytest.approx(best.loss.high, rel=1e-9)
    assert [p.cost for p in found.points] == sorted(p.cost for p in found.points)
    figure = plots.frontier(found, (3.0, 1000.0))
    assert figure.axes[0].get_xlabel() == "money per example"


def test_the_bill_adds_up_to_what_was_spent(limited: Run) -> None:
    money = money_page(limited)
    assert money is not None
    rows = {row.item: row for row in money.bills}
    assert limited.problem.prices is not None
    assert set(rows) == set(limited.problem.prices.items)
    came_to = sum(float(row.spent.replace(",", "")) for row in money.bills)
    assert came_to == pytest.approx(limited.ledger.spent, abs=1e-6)
    assert money.total == f"{limited.ledger.spent:,.2f}"
    for item, times in limited.ledger.orders.items():
        assert rows[item].times == f"{times:,}"
    assert rows["<b>lab</b>"].price == "2.50"
    assert rows["<b>lab</b>"].gives.startswith("for <script>")
    assert money.free.startswith("2 are free: age")
    spent = [float(row.spent.replace(",", "")) for row in money.bills]
    assert spent == sorted(spent, reverse=True)


def test_a_price_is_that_of_the_feature_alone(limited: Run) -> None:
    shown = [price_of(limited, j) for j in range(8)]
    assert shown == ["free", "3.50", "2.50", "3.00", "2.75", "6.00", "free", "2.00"]


@pytest.mark.usefixtures("blank_pictures")
def test_the_page_says_it_all_in_money(limited: Run) -> None:
    text, ledger = page(limited), limited.ledger
    for heading in ("The bill", "Loss and money", "Money over time"):
        assert re.search(f"<h[23]>{heading}</h[23]>", text)
    assert "<h3>The purse</h3>" not in text
    assert "worth × loss + money" not in text
    facts = {fact.name: fact for fact in money_facts(limited)}
    assert list(facts) == ["spent per example", "money saved", "most expensive example"]
    assert facts["spent per example"].number == f"{ledger.spent / 700:.2f}"
    assert facts["money saved"].number == f"{1 - ledger.spent / (700 * 14.75):.0%}"
    assert facts["most expensive example"].note == "the limit is 7.00"
    assert ledger.most_spent <= 7
    assert "<th>money per example</th>" in text
    assert "<b>lab</b>" not in text  # escaped
    assert "&lt;b&gt;lab&lt;/b&gt;" in text
    assert "reads saved" not in text
    whole = re.search(r"<bdi>reading everything</bdi></td><td>8</td><td>(.*?)</td>", text)
    assert whole is not None
    assert whole[1] == "14.75"


@pytest.mark.usefixtures("blank_pictures")
def test_prices_stand_beside_what_was_bought(limited: Run) -> None:
    labels = [label.get_text() for label in plots.reads(limited).axes[0].get_yticklabels()]
    assert "age · free" in labels
    assert "年齢 · 2.00" in labels
    rows = page(limited).split("<h2>The model in numbers</h2>")[1].split("</section>")[0]
    assert "<th>price</th>" in rows
    assert rows.count("<tr>") == rows.count("</tr>")
    widths = {row.count("<td") for row in rows.split("<tr>")[2:]}
    assert widths == {9}


@pytest.mark.usefixtures("blank_pictures")
def test_the_rate_stands_beside_its_comparator(rated: Run, hostile: kh.streams.ArrayStream) -> None:
    money = rated.spending
    assert money is not None
    assert money.worth == 0.5
    best = kh.hindsight(hostile, worth=0.5, prices=rated.problem, intercept=True)
    assert best.total is not None
    assert money.best_total is not None
    assert money.best_total.total is not None
    assert money.best_total.total.high == pytest.approx(best.total.high, rel=1e-9)
    facts = {fact.name: fact for fact in money_facts(rated)}
    total = rated.ledger.total(0.5) / 700
    assert facts["worth × loss + money"].number == f"{total:.4g}"
    assert f"{best.total.high / 700:.4g}" in facts["worth × loss + money"].note
    text = page(rated)
    assert "<th>worth × loss + money</th>" in text
    assert "best for what it is worth in hindsight" in text
    mean = rated.baselines[0].later_mean(700)  # the running mean costs nothing
    row = text.split("<bdi>running mean of the label</bdi>")[1].split("</tr>")[0]
    assert f"<td>0.00</td><td>{mean:.4g}</td><td>{mean**0.5:.4g}</td>" in row
    assert f"<td>{mean / 2:.4g}</td>" in row


@pytest.mark.usefixtures("blank_pictures")
def test_a_purse_is_drawn_from_full_to_what_is_left(pursed: Run) -> None:
    money = pursed.spending
    assert money is not None
    assert money.left is not None
    assert money.left[-1] == pytest.approx(2000 - pursed.ledger.spent)
    assert (money.left >= 0).all()
    assert money.allowed == 2.85  # 2000 / 700, rounded down: less than the budget of 20
    assert pursed.yardstick == "best 2 features for 2.85 in hindsight"
    assert pursed.best.cost is not None
    assert pursed.best.cost <= 2.85
    figure = plots.purse(pursed)
    evenly, left = figure.axes[0].get_lines()
    assert list(np.asarray(evenly.get_ydata())) == [2000, 0]
    assert float(np.asarray(left.get_ydata())[0]) == 2000
    assert "<text" in svg(figure, "purse")
    assert "<h3>The purse</h3>" in page(pursed)
    fact = money_facts(pursed)[-1]
    assert fact.name == "left in the purse"
    assert fact.number == f"{2000 - pursed.ledger.spent:,.2f}"
    assert fact.note == "of 2,000.00, after 700 of 700 examples"


def test_the_summary_has_money_only_where_there_is_any(
    run: Run, limited: Run, rated: Run, pursed: Run
) -> None:
    assert "money" not in run.summary()
    for priced_run in (limited, rated, pursed):
        told = json.loads(json.dumps(priced_run.summary()))["money"]
        assert told["spent"] == priced_run.ledger.spent
        assert told["frontier"][0]["cost"] == 0.0
    assert json.loads(json.dumps(pursed.summary()))["money"]["purse_left"] >= 0


@pytest.mark.usefixtures("blank_pictures")
def test_without_prices_nothing_is_said_of_money(run: Run) -> None:
    assert run.spending is None
    assert money_facts(run) == []
    assert money_page(run) is None
    text = page(run)
    assert "money" not in text.split("<h2>Diagnosis</h2>")[0].split("</style>", 1)[1]
    for draw in (plots.spending, plots.purse):
        with pytest.raises(kh.ProblemError, match="no prices"):
            draw(run)


def test_no_purse_no_picture(limited: Run) -> None:
    with pytest.raises(kh.ProblemError, match="no purse"):
        plots.purse(limited)


@pytest.mark.usefixtures("blank_pictures")
def test_learners_that_know_no_prices_are_reported_in_money_too(
    hostile: kh.streams.ArrayStream,
) -> None:
    learner = kh.RandomSubset(priced(hostile, 12), seed=1)
    run = record(learner, hostile, seconds=0.5, full=False)
    assert run.spending is not None
    assert run.spending.worth is run.spending.purse is None
    assert run.diagnosis is not None
    assert "<h2>The bill</h2>" in page(run)


@pytest.mark.usefixtures("blank_pictures")
def test_a_page_without_a_frontier(rated: Run) -> None:
    """Where the tables for it do not fit in memory."""
    assert rated.spending is not None
    text = page(replace(rated, spending=replace(rated.spending, frontier=None, best_total=None)))
    assert "<h3>Loss and money</h3>" not in text
    assert "any number" not in text
    assert "<h3>Money over time</h3>" in text
    assert "a unit of squared error is worth 0.5" in text
