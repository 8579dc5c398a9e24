"""keyhole run: from a file to an answer, in text and JSON, from CSV, Parquet and standard input."""

import re
from pathlib import Path

import numpy as np
import pytest

import keyhole as kh
from tests.helpers.cli import Cli, answer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Patients of the clinic as a file, and twelve columns of some as files of all kinds."""
    folder = tmp_path_factory.mktemp("clinic")
    patients, _ = kh.streams.clinic(500, seed=3)
    kh.streams.write(patients, folder / "clinic.parquet", target="days")
    X, y = kh.streams.collect(kh.streams.take(patients, 250))
    few = kh.streams.ArrayStream(X[:, :12], y, (patients.names or ())[:12])
    for name in ("few.csv", "few.csv.gz", "few.parquet"):
        kh.streams.write(few, folder / name, target="days")
    return folder


def test_files_of_all_kinds_and_the_library_agree(here: Cli, folder: Path) -> None:
    options = ("--target", "days", "--budget", 6, "--sparsity", 3, "--seed", 5, "--json")
    csv = answer(here("run", folder / "few.csv", *options))
    packed, parquet = (
        answer(here("run", folder / name, *options)) for name in ("few.csv.gz", "few.parquet")
    )
    piped = answer(here("run", "-", *options, stdin=(folder / "few.csv").read_text()))
    keys = ["loss", "model", "sparse_model", "bought", "hindsight", "regret", "r2_running_mean"]
    for other in (packed, parquet, piped):
        assert {key: csv[key] for key in keys} == {key: other[key] for key in keys}

    stream = kh.streams.read(folder / "few.csv", target="days")
    problem = kh.Problem(stream.d, 3, 6, stream.names)
    ledger = kh.play(kh.AutoLearner(problem, seed=5), stream)
    mean, last = (kh.play(make(problem), stream) for make in (kh.RunningMean, kh.LastValue))
    best = kh.hindsight(stream, 3, intercept=True)
    learner = kh.AutoLearner(problem, seed=5)
    kh.play(learner, stream)
    model = learner.model()
    assert model.errors is not None
    assert csv["sparse_model"]["errors"] == dict(zip(model.names, model.errors, strict=True))
    assert set(csv["sparse_model"]["shares"]) == set(model.names)
    assert csv["rounds"] == 250
    assert csv["loss"] == ledger.loss
    assert csv["first_round"] == {"loss": ledger.first_loss}
    later = (ledger.loss - ledger.first_loss) / 249
    assert csv["after_first"]["mean_loss"] == pytest.approx(later, rel=1e-12)
    assert csv["label_variance"] == pytest.approx(best.empty_loss / 250, rel=1e-9)
    assert csv["after_first"]["r2"] == pytest.approx(1 - later / csv["label_variance"], rel=1e-9)
    assert csv["r2"] == pytest.approx(1 - ledger.mean_loss / csv["label_variance"], rel=1e-9)
    assert csv["last_tenth"]["rounds"] == 25
    assert set(csv["baselines"]) == {"running mean", "last value", "full information"}
    assert csv["reads_per_example"] == ledger.mean_reads
    assert csv["r2_running_mean"] == pytest.approx(1 - ledger.loss / mean.loss, rel=1e-12)
    assert csv["r2_last_value"] == pytest.approx(1 - ledger.loss / last.loss, rel=1e-12)
    beside = kh.hindsight(stream, 3, intercept=True, past=True).loss.high
    assert csv["hindsight_with_past"]["loss"]["high"] == pytest.approx(beside, rel=1e-9)
    assert csv["baselines"]["last value"]["loss"] == last.loss
    assert isinstance(csv["regret"], dict)
    assert csv["regret"]["high"] == pytest.approx(ledger.loss - best.loss.low, rel=1e-9)
    assert isinstance(csv["bought"], dict)
    assert sum(csv["bought"].values()) == ledger.reads.sum()


def test_the_summary_says_what_was_asked_for(here: Cli, folder: Path) -> None:
    done = here("run", folder / "clinic.parquet", "-t", "days", "-b", 8, "-k", 4, "--explain")
    assert done.returncode == 0, done.stderr
    for words in (
        "500 rounds, 42 features, target days",
        "8 of 42",
        "81% saved",
        "How good it is",
        "mean squared loss  typical error  last 50 rounds      R2",
        "reading everything",
        "running mean of the label",
        "last value of the label",
        "best 4 features in hindsight",
        "best 4 features in hindsight and the past",
        "regret against the best 4 features in hindsight",
        "the variance of the label.",
        "These figures leave out the first round, in which ",
        "The model of at most 4 weights: days =",
        "While playing, auto uses other weights",
        "× crp_mg_l",
        "How often each feature was bought",
        "and 30 more",
        "bought for every example",
        "\nAdvice\nafter 500 rounds:\n  without crp_mg_l",
    ):
        assert words in done.stdout
    model = done.stdout.split("weights: days =\n")[1].split("\n\n")[0].splitlines()
    assert len(model) > 2
    for line in model[1:-1]:
        assert re.fullmatch(
            r"  +[+-][\d.,e+-]+  ± [\d.,e+-]+ +× \w+ +in the model \d+% of the time( +among .*)?",
            line,
        )


def test_without_a_file_the_clinic_is_played(here: Cli) -> None:
    found = answer(here("run", "--rounds", 300, "--learner", "random", "-b", 8, "-k", 4, "--json"))
    assert (found["features"], found["rounds"], found["learner"]) == (42, 300, "random")
    assert (found["budget"], found["sparsity"]) == (8, 4)
    assert found["sizes"] == {"how": "given", "curve": None}
    assert not found["interrupted"]


def test_sizes_are_chosen_from_the_first_rows(here: Cli) -> None:
    found = answer(here("run", "--rounds", 250, "--learner", "mean", "--json"))
    curve = kh.budget_curve(kh.streams.take(kh.streams.clinic().stream, 200), most=16)
    assert (found["budget"], found["sparsity"]) == (curve.budget, curve.sparsity)
    assert found["sizes"]["curve"]["rows"] == 200
    assert found["sizes"]["curve"]["explained"] == pytest.approx(curve.explained.tolist(), abs=1e-9)
    assert curve.recommendation in found["sizes"]["how"]
    said = here("run", "--rounds", 250, "--learner", "mean").stdout.splitlines()[1]
    assert said == found["sizes"]["how"]
    assert said.startswith(
        f"Budget {curve.budget} and sparsity {curve.sparsity} from the first 200 rows, "
    )


def test_one_size_follows_from_the_other(here: Cli, tmp_path: Path) -> None:
    X = np.random.default_rng(1).normal(size=(100, 14))
    kh.streams.write(kh.streams.ArrayStream(X, X[:, :5].sum(1)), tmp_path / "rows.csv", target="y")
    options = ("run", tmp_path / "rows.csv", "-t", "y", "--learner", "mean", "--json")
    budget = answer(here(*options, "-b", 4))
    assert (budget["budget"], budget["sparsity"]) == (4, 3)  # 3 of 4 are kept, 1 explores
    assert budget["sizes"]["how"].startswith("Sparsity 3, what a budget of 4 keeps. ")
    sparsity = answer(here(*options, "-k", 9))
    assert (sparsity["budget"], sparsity["sparsity"]) == (10, 9)  # 9 of 10 are kept
    assert sparsity["sizes"]["curve"] is None
    assert sparsity["sizes"]["how"].startswith("Budget 10: enough to keep 9 features")


def test_small_files_get_small_budgets_unless_told(here: Cli, tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text("a,b,y\n" + "1,2,3\n2,1,4\n" * 20)
    found = answer(here("run", tmp_path / "two.csv", "-t", "y", "--json"))
    assert (found["features"], found["budget"], found["sparsity"]) == (2, 2, 2)
    assert "by default: 40 rows are too few for a curve." in found["sizes"]["how"]


def test_usual_sizes_where_nothing_is_explained(here: Cli, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    noise = kh.streams.ArrayStream(rng.normal(size=(300, 10)), rng.normal(size=300))
    kh.streams.write(noise, tmp_path / "noise.csv", target="y")
    found = answer(here("run", tmp_path / "noise.csv", "-t", "y", "--learner", "mean", "--json"))
    assert (found["budget"], found["sparsity"]) == (8, 4)
    assert "no number of features up to 10 is seen to explain" in found["sizes"]["how"]


def test_a_constant_label_has_no_r2(here: Cli, tmp_path: Path) -> None:
    (tmp_path / "flat.csv").write_text("a,b,y\n" + "1,2,0\n2,1,0\n" * 30)
    found = answer(here("run", tmp_path / "flat.csv", "-t", "y", "--json"))
    assert found["r2_running_mean"] is found["r2_last_value"] is None


def test_rows_without_a_target_and_columns_to_ignore(here: Cli, tmp_path: Path) -> None:
    rows = "".join(f"{i},{i % 7};5,{i % 3},{'' if i % 10 == 0 else i % 7}\n" for i in range(200))
    (tmp_path / "odd.csv").write_text(
        ("id,size,kind,y\n" + rows).replace(",", "|").replace(";", ",")
    )
    found = answer(
        here(
            *("run", tmp_path / "odd.csv", "-t", "y", "--ignore", "id", "--categorical", "kind"),
            *("--separator", "|", "--decimal", ",", "--json", "-l", "random", "-b", 2),
        )
    )
    assert (found["rounds"], found["rows_without_target"], found["features"]) == (180, 20, 4)
    assert isinstance(found["bought"], dict)
    assert set(found["bought"]) == {"size", "kind=0", "kind=1", "kind=2"}


def test_full_information_gets_the_budget_it_needs(here: Cli) -> None:
    found = answer(here("run", "--rounds", 60, "--learner", "full", "-k", 2, "--json"))
    assert found["reads_per_example"] == 42
