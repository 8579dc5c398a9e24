"""Money on the command line: prices, limits, an exchange rate, a purse; books to the last cent."""

from pathlib import Path

import numpy as np
import pytest

import keyhole as kh
from tests.e2e.test_cli_refused import refused
from tests.helpers.cli import Cli, answer, in_this_process


@pytest.fixture
def cli() -> Cli:
    """The command in this process: there are many cases, and each would start one."""
    return in_this_process


LIST = """\
feature,price,panel
id,0,
rent,0,
rooms,0,
city,3,
inspection,25,
damp,,inspection
wiring,12.50,inspection
age,2,
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 flats with a categorical column, and price lists good and bad."""
    folder = tmp_path_factory.mktemp("flats")
    rng = np.random.default_rng(1)
    rows = ["id,rooms,city,damp,wiring,age,rent"]
    for i in range(300):
        rooms, city = int(rng.integers(1, 6)), ("Berlin", "Paris", "Rome")[rng.integers(3)]
        damp, wiring, age = rng.random(), rng.random(), int(rng.integers(1, 90))
        rent = 300 * rooms + (200 if city == "Paris" else 0) - 400 * damp + 100 * wiring - 2 * age
        rows.append(f"{i},{rooms},{city},{damp:.3f},{wiring:.3f},{age},{rent + rng.normal():.1f}")
    (folder / "flats.csv").write_text("\n".join(rows) + "\n")
    lists = {
        "good": LIST,
        "negative": LIST.replace("city,3", "city,-3"),
        "nan": LIST.replace("city,3", "city,nan"),
        "unknown": LIST.replace("city,3", "citi,3"),
        "no-member": LIST + "survey,5,\n",
        "no-fee": LIST.replace("inspection,25,\n", ""),
        "missing": LIST.replace("age,2,\n", ""),
        "dear": LIST.replace("rooms,0", "rooms,100")
        .replace("age,2", "age,50")
        .replace(",3,", ",60,"),
        "free": "feature,price\nrooms,0\ncity,0\ndamp,0\nwiring,0\nage,0\n",
    }
    for name, text in lists.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


def flats(folder: Path, prices: str = "good") -> tuple[object, ...]:
    path = folder / "flats.csv"
    return (path, "--target", "rent", "--ignore", "id", "--prices", folder / f"{prices}.csv")


def problem_of(folder: Path, k: int, budget: float) -> tuple[kh.streams.ReadStream, kh.Problem]:
    """The same with the library."""
    stream = kh.streams.read(folder / "flats.csv", target="rent", ignore=["id"])
    assert stream.names is not None
    table = kh.read_prices(folder / "good.csv").fitted(stream.names, stream.groups, ["id", "rent"])
    return stream, kh.Problem(stream.d, k, budget, stream.names, prices=table)


def test_a_limit_is_what_the_library_plays(cli: Cli, folder: Path) -> None:
    found = answer(cli("run", *flats(folder), "-b", 30.5, "-k", 2, "--seed", 3, "--json"))
    stream, problem = problem_of(folder, 2, 30.5)
    ledger = kh.play(kh.AutoLearner(problem, seed=3), stream)
    money = found["money"]
    assert (found["budget"], found["loss"]) == (30.5, ledger.loss)
    assert (money["spent"], money["most_spent"]) == (ledger.spent, ledger.most_spent)
    assert (money["full_cost"], money["full"]) == (300 * 42.5, 42.5)
    assert money["saved"] == pytest.approx(1 - ledger.spent / ledger.full_cost)
    assert money["spent_per_example"] == pytest.approx(ledger.spent / 300)
    assert {item: row["times"] for item, row in money["orders"].items()} == ledger.orders
    assert sum(row["spent"] for row in money["orders"].values()) == pytest.approx(ledger.spent)
    assert money["orders"]["city"]["price"] == 3  # a categorical column is one item
    assert money["price"]["wiring"] == 37.5  # with the panel that it needs
    assert money["left_out"] == ["id", "rent"]
    best = kh.hindsight(stream, cost=30.5, prices=problem, intercept=True)
    assert money["hindsight"]["loss"]["high"] == pytest.approx(best.loss.high, rel=1e-9)
    assert money["hindsight"]["cost"] == best.cost
    assert money["regret"]["high"] == pytest.approx(ledger.loss - best.loss.low, rel=1e-9)
    assert money["worth"] is money["total"] is money["purse"] is money["purse_left"] is None


def test_the_summary_says_it_in_money(cli: Cli, folder: Path) -> None:
    done = cli("run", *flats(folder), "-b", 30, "-k", 2)
    assert done.returncode == 0, done.stderr
    for words in (
        "Prices of 'id', 'rent' in",
        "money spent per example",
        "of 30  at most 30 for one",
        "saved of 12,750 for everything",
        "best model for the same money in hindsight",
        "regret against it",
        "How often each feature was bought, and what it costs alone",
        "rooms        free  100.0%",
        "What was ordered, most money first",
        "inspection     25",
    ):
        assert words in done.stdout, done.stdout


def test_an_exchange_rate(cli: Cli, folder: Path) -> None:
    options = ("--worth", 0.01, "-k", 2)
    found = answer(cli("run", *flats(folder), *options, "--json"))
    money, (stream, problem) = found["money"], problem_of(folder, 2, 42.5)
    ledger = kh.play(kh.AutoLearner(problem, worth=0.01), stream)
    assert found["budget"] == 42.5  # the price of everything
    assert found["settings"] == {"worth": 0.01}
    assert money["total"] == ledger.total(0.01)
    best = kh.hindsight(stream, prices=problem, worth=0.01, intercept=True)
    assert best.total is not None
    assert money["hindsight"]["total"]["high"] == pytest.approx(best.total.high, rel=1e-9)
    assert money["regret"]["low"] == pytest.approx(ledger.total(0.01) - best.total.high, rel=1e-6)
    assert "J = 0.01 × loss + money" in cli("run", *flats(folder), *options).stdout


def test_a_purse_is_never_overdrawn(cli: Cli, folder: Path) -> None:
    options = ("--purse", 3000.5, "-b", 35, "-k", 2)
    found = answer(cli("run", *flats(folder), *options, "--json"))
    money = found["money"]
    assert money["purse"] == 3000.5
    assert money["spent"] + money["purse_left"] == 3000.5
    assert money["most_spent"] <= 35
    assert money["complete_rows"] == 0
    assert found["settings"] == {"purse": 3000.5, "horizon": 300}
    assert "left of the purse" in cli("run", *flats(folder), *options).stdout


def test_complete_rows_come_first_if_a_tenth_of_the_purse_buys_them(cli: Cli, folder: Path) -> None:
    found = answer(cli("run", *flats(folder), "--purse", 12000, "-k", 2, "--json"))
    assert found["money"]["complete_rows"] >= 25  # 12,000 / 10 / 42.5 = 28


def test_a_budget_is_chosen_in_money(cli: Cli, folder: Path) -> None:
    found = answer(cli("run", *flats(folder), "--learner", "mean", "--json"))
    stream, problem = problem_of(folder, 1, 42.5)
    curve = kh.budget_curve(kh.streams.take(stream, 200), prices=problem)
    assert (found["budget"], found["sparsity"]) == (curve.budget, curve.sparsity)
    assert found["sizes"]["curve"]["limits"] == curve.limits.tolist()
    assert curve.recommendation in found["sizes"]["how"]
    assert found["sizes"]["how"].startswith(f"Budget {curve.budget:g} and sparsity ")


def test_where_it_cannot_be_chosen_an_amount_is_named(cli: Cli, folder: Path) -> None:
    done = cli("run", *flats(folder), "--rounds", 40)
    refused(done, "40 rows are too few", "use --budget 11", "42.5 that everything costs")
    assert answer(cli("run", *flats(folder), "--rounds", 40, "-b", 11, "--json"))["sparsity"] == 4


def test_all_free(cli: Cli, folder: Path) -> None:
    found = answer(cli("run", *flats(folder, "free"), "--json"))
    assert (found["budget"], found["reads_per_example"], found["money"]["spent"]) == (0, 7, 0)


def test_the_clinic_has_a_price_list(cli: Cli) -> None:
    options = ("--rounds", 12, "-b", 12, "-k", 1, "--json")
    found = answer(cli("run", "--prices", "clinic", *options))
    assert found["money"]["orders"]["blood_draw"]["price"] == 5
    assert found["money"]["most_spent"] <= 12
    assert found["bought"]["age_years"] == 12  # free


def test_compare(cli: Cli, folder: Path) -> None:
    options = ("--seeds", 1, "--jobs", 1)
    done = cli("compare", *flats(folder), "-b", 35, "-k", 2, *options)
    assert done.returncode == 0, done.stderr
    assert "35 may be spent per example" in done.stdout
    assert "random" in done.stdout  # buys by price too
    found = answer(cli("compare", *flats(folder), "--budgets", "3,37.50", *options, "--json"))
    assert found["budgets"] == [3, 37.5]
    stream, problem = problem_of(folder, 1, 37.5)
    for cost, loss in zip((3, 37.5), found["hindsight_by_budget"], strict=True):
        best = kh.hindsight(stream, cost=cost, prices=problem, intercept=True)
        assert loss["high"] == pytest.approx(best.loss.high, rel=1e-9)
    cells = {cell["budget"]: cell for cell in found["cells"] if cell["learner"] == "auto"}
    assert all(cell["spent"]["mean"] <= budget for budget, cell in cells.items())
    purse = answer(cli("compare", *flats(folder), "--purse", 900, "-k", 1, *options, "--json"))
    assert [row["learner"] for row in purse["learners"]] == ["auto"]
    assert purse["games"][0]["purse_left"] >= 0
    worth = answer(cli("compare", *flats(folder), "--worth", 0.01, "-k", 1, *options, "--json"))
    game = worth["games"][0]
    assert game["total"] == pytest.approx(0.01 * game["loss"] + 300 * game["spent"])
    regret = game["total"] - worth["hindsight_total"]["high"]
    assert game["regret"]["low"] == pytest.approx(regret)


def test_advise_and_diagnose(cli: Cli, folder: Path, tmp_path: Path) -> None:
    stream, problem = problem_of(folder, 1, 42.5)
    curve = kh.budget_curve(stream, prices=problem)
    done = cli("advise", *flats(folder), "--plot", tmp_path / "curve.png")
    assert done.returncode == 0, done.stderr
    assert str(curve) in done.stdout
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    found = answer(cli("advise", *flats(folder), "--json"))
    assert all(found[key] == value for key, value in curve.as_json().items())
    assert found["prices"]["left_out"] == ["id", "rent"]
    told = answer(cli("diagnose", *flats(folder), "-b", 20, "-k", 2, "--json"))
    assert (told["prices"]["budget"], told["prices"]["counted"]) == (20, 3)  # 7 * 20 / 42.5


def test_predict_says_what_it_costs(cli: Cli, folder: Path, tmp_path: Path) -> None:
    model, out = tmp_path / "model.npz", tmp_path / "out.csv"
    ran = cli("run", *flats(folder), "-b", 30, "-k", 2, "--save", model, "--json")
    assert ran.returncode == 0, ran.stderr
    found = answer(cli("predict", model, folder / "flats.csv", "--out", out, "--json"))
    _, problem = problem_of(folder, 2, 30)
    assert problem.names is not None
    each = problem.cost([problem.names.index(name) for name in found["features"]])
    assert (found["cost_per_row"], found["cost"]) == (each, 300 * each)
    prices = ("--prices", folder / "free.csv")
    free = answer(cli("predict", model, folder / "flats.csv", "--out", out, *prices, "--json"))
    assert free["cost_per_row"] == 0
    said = cli("predict", model, folder / "flats.csv", "--out", out).stdout
    assert f"{each:g} per row" in said


@pytest.mark.parametrize("kind", ["clinic", "panel", "heavy"])
def test_simulated_price_lists_are_read_again(cli: Cli, tmp_path: Path, kind: str) -> None:
    rows, prices = tmp_path / "rows.csv", tmp_path / "prices.csv"
    done = cli("simulate", kind, "--rows", 60, "--out", rows, "--prices", prices, "--seed", 2)
    assert done.returncode == 0, done.stderr
    stream = kh.streams.read(rows, target="y")
    assert stream.names is not None
    table = kh.read_prices(prices).fitted(stream.names, stream.groups, ["y"])
    problem = kh.Problem(stream.d, 1, 10**6, stream.names, prices=table)
    if kind == "clinic":
        listed = kh.streams.clinic_prices()
        meant = kh.Problem(stream.d, 1, 10**6, stream.names, prices=listed)
    else:
        meant = kh.streams.priced_suite(kind, 60, seed=2).loose
    rng = np.random.default_rng(0)
    for _ in range(50):
        bought = np.flatnonzero(rng.random(stream.d) < 0.1)
        assert problem.cost(bought) == meant.cost(bought)


@pytest.mark.parametrize(
    ("prices", "words"),
    [
        ("negative", ["negative.csv, line 5", "'city' is negative"]),
        ("nan", ["nan.csv, line 5", "'nan'"]),
        ("unknown", ["unknown.csv, line 5", "did you mean 'city'?"]),
        ("no-member", ["no-member.csv, line 10", "'survey'"]),
        ("no-fee", ["no-fee.csv", "'inspection' has no fee"]),
        ("missing", ["missing.csv", "no price for 'age'"]),
        ("dear", ["20 buys nothing", "cheapest"]),
        ("none", ["there is no file"]),
    ],
)
@pytest.mark.parametrize("command", ["run", "advise"])
def test_bad_price_lists_are_one_line(
    cli: Cli, folder: Path, command: str, prices: str, words: list[str]
) -> None:
    if command == "advise" and prices == "dear":
        return  # there is no budget to be too small
    budget = ("-b", 20) if command == "run" else ()
    refused(cli(command, *flats(folder, prices), *budget), *words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-b", "nan"], ["budget", "nan"]),
        (["-b", "-3"], ["budget", "-3"]),
        (["-b", "20", "-k", "9"], ["--sparsity 9", "6"]),
        (["--worth", "0"], ["--worth", "positive"]),
        (["--purse", "-1"], ["--purse", "-1"]),
        (["--worth", "1", "--purse", "9"], ["--worth and --purse"]),
        (["--worth", "1", "-l", "random"], ["--worth is for auto", "random"]),
        (["--purse", "9", "-l", "full"], ["--purse is for auto", "full"]),
        (["-l", "dual-averaging", "-b", "30", "-k", "3"], ["knows no prices"]),
    ],
    ids=lambda value: " ".join(value) if value[0].startswith("-") else "",
)
def test_amounts_that_cannot_be_used(
    cli: Cli, folder: Path, arguments: list[str], words: list[str]
) -> None:
    refused(cli("run", *flats(folder), *arguments), *words)


def test_money_needs_prices(cli: Cli, folder: Path) -> None:
    plain = (folder / "flats.csv", "-t", "rent")
    refused(cli("run", *plain, "--worth", 3), "--worth 3", "--prices")
    refused(cli("compare", *plain, "--purse", 3), "--purse 3", "--prices")
    refused(cli("run", *plain, "--budget", 2.5), "--budget 2.5", "without --prices")
    refused(cli("compare", *flats(folder), "--budgets", "3,x"), "'x' is not an amount of money")
    several = ("--budgets", "3,9", "--worth", 3)
    refused(cli("compare", *flats(folder), *several), "--worth cannot be used with --budgets")
    refused(cli("simulate", "needle", "--out", "x.csv", "--prices", "p.csv"), "needle has no")
    refused(cli("advise", "state.npz", "--prices", "clinic"), "--prices clinic", "state.npz")
