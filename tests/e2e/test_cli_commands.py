"""The other commands: compare, diagnose, simulate, theory, learners."""

from pathlib import Path

import pytest

import keyhole as kh
from tests.helpers.cli import Cli, answer


def test_compare_plays_what_the_library_plays(here: Cli, tmp_path: Path) -> None:
    stream, _ = kh.streams.clinic(500)
    kh.streams.write(stream, tmp_path / "clinic.parquet", target="days")
    learners = ("--learner", "random", "--learner", "mean", "--learner", "full")
    options = ("-t", "days", "-b", 6, "-k", 3, "--seeds", 3, "--jobs", 1, "--json")
    found = answer(here("compare", tmp_path / "clinic.parquet", *learners, *options))
    assert [row["learner"] for row in found["learners"]] == ["random", "mean", "full"]
    assert [row["reads_everything"] for row in found["learners"]] == [False, False, True]
    assert [row["reads"]["mean"] for row in found["learners"]] == [6, 0, 42]
    assert [row["games"] for row in found["learners"]] == [3, 3, 3]

    problem = kh.Problem(42, 3, 6, stream.names)
    losses = [kh.play(kh.RandomSubset(problem, seed=s), stream).loss for s in range(3)]
    random, mean, _ = found["learners"]
    played = [game["loss"] for game in found["games"] if game["learner"] == "random"]
    assert played == pytest.approx(losses, rel=1e-12)
    assert random["mean_loss"]["mean"] == pytest.approx(sum(losses) / 3 / 500, rel=1e-12)
    assert random["mean_loss"]["error"] > 0
    # The best constant is the yardstick of every R2, and of normalised regret.
    running = kh.play(kh.RunningMean(problem), stream)
    variance = found["label_variance"]
    assert mean["r2"]["mean"] == pytest.approx(1 - running.mean_loss / variance, rel=1e-9)
    later = running.later_mean_loss
    assert mean["after_first"]["r2"]["mean"] == pytest.approx(1 - later / variance, abs=1e-12)
    assert mean["after_first"]["mean_loss"]["mean"] == pytest.approx(later, rel=1e-12)
    assert mean["first_loss"] == {"mean": running.first_loss, "error": 0}
    assert found["known"]["running_mean"]["first_loss"] == running.first_loss
    assert found["known"]["full"]["loss"] == found["full_loss"]
    assert mean["last_tenth_loss"]["mean"] == found["known"]["running_mean"]["last_tenth_loss"]
    assert found["running_mean_loss"] == kh.play(kh.RunningMean(problem), stream).loss
    assert found["last_value_loss"] == kh.play(kh.LastValue(problem), stream).loss
    best = kh.hindsight(stream, 3, intercept=True)
    assert found["best_constant_loss"] == pytest.approx(500 * variance, rel=1e-9)
    beside = kh.hindsight(stream, 3, intercept=True, past=True)
    assert found["hindsight_with_past_loss"]["high"] == pytest.approx(beside.loss.high, rel=1e-9)
    gap = best.empty_loss - best.loss.high
    normalised = (losses[0] - best.loss.high) / gap
    first = next(g for g in found["games"] if g["learner"] == "random" and g["seed"] == 0)
    assert first["regret"]["high"] / gap == pytest.approx(normalised, rel=1e-9)


def test_compare_as_a_table(here: Cli) -> None:
    names = ("-l", "random", "-l", "mean", "-l", "last-value", "-l", "full")
    sizes = ("-b", 8, "-k", 4)
    done = here("compare", *names, *sizes, "--seeds", 3, "-j", 1, "--rounds", 300)
    assert done.returncode == 0, done.stderr
    for words in (
        "normalised",
        "full (all 42)",
        "±",
        "Best 4 features in hindsight",
        "and the past",
    ):
        assert words in done.stdout
    losses = [
        kh.play(make(kh.Problem(42, 4, 8)), kh.streams.clinic(300)[0]).later_mean_loss
        for make in (kh.RunningMean, kh.LastValue)
    ]
    mean, last = (f"{loss:.4g}" for loss in losses)
    for words in (
        " by reading everything (",
        f" {mean} by the running mean of the label (",
        f" {last} by its last value (",
        " in the last tenth)",
        "The first round is in none of these figures: ",
    ):
        assert words in done.stdout
    # Neither baseline is worse than itself, whatever rounding makes of the mean of three games.
    assert "Worse than the mean of the labels so far: last-value.\n" in done.stdout
    assert "Worse than the last label" not in done.stdout


def test_diagnose(here: Cli) -> None:
    sizes = ("-b", 8, "-k", 4)
    page = here("diagnose", "--rounds", 500, *sizes)
    assert page.returncode == 0, page.stderr
    assert page.stdout.startswith("DOES THIS STREAM FIT?")
    found = answer(here("diagnose", "--rounds", 500, "--json", *sizes))
    assert found["rounds"] == 500
    assert found["problem"] == {**found["problem"], "d": 42, "k": 4, "budget": 8}
    assert found["recommendation"]["learner"] in kh.LEARNERS


@pytest.mark.parametrize(
    "kind", ["clinic", "realizable", "ill-conditioned", "padded-hard", "switching", "leaders"]
)
def test_simulate_writes_what_it_says(here: Cli, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "made.parquet"
    options = ("-d", 30, "-k", 4, "-n", 200, "--seed", 7, "--target", "label", "--json")
    found = answer(here("simulate", kind, *options, "--out", path))
    stream = kh.streams.read(path, target="label")
    assert (found["rows"], found["features"]) == (stream.rounds, stream.d) == (200, stream.d)
    assert set(found["weights"]) <= set(stream.names or ())
    assert found["weights"]


def test_simulated_rows_can_be_piped_into_a_run(cli: Cli, here: Cli) -> None:
    rows = here("simulate", "realizable", "-d", 10, "-k", 2, "-n", 300, "--out", "-").stdout
    found = answer(
        cli("run", "-", "-t", "y", "-l", "random", "-b", 4, "-k", 2, "--json", stdin=rows)
    )
    assert (found["rounds"], found["features"]) == (300, 10)


def test_theory(here: Cli) -> None:
    numbers = ("-d", 20, "-k", 2, "-b", 8, "--rounds", 5000)
    found = answer(here("theory", *numbers, "--noise-sd", 0.5, "--json"))
    expected = kh.theory.realizable_regret(5000, 20, 2, 6).value
    assert found["realizable"]["regret, short form"]["value"] == expected
    assert found["agnostic_parameters"]["reasons"]
    page = here("theory", *numbers)
    assert "theorem:adv" in page.stdout
    assert "Cannot be used" in page.stdout
    alone = here("theory", "-d", 20, "-k", 8, "-b", 8)
    assert "raise --budget above --sparsity" in alone.stdout


def test_learners(here: Cli) -> None:
    found = answer(here("learners", "--json"))
    assert {row["name"] for row in found["learners"]} == set(kh.LEARNERS)
    assert all(row["memory"] == kh.LEARNERS[row["name"]].memory for row in found["learners"])
    assert all(row["what"] for row in found["learners"])
    assert "online-greedy" in here("learners").stdout
