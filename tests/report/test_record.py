"""A run: the ledger of `play`, hindsight, baselines, and what it takes to have it again."""

import json
from dataclasses import replace

import numpy as np
import pytest

import keyhole as kh
from keyhole.analysis.hindsight import PrefixSums
from keyhole.problem import Interval
from keyhole.report import Run, record
from keyhole.report.recorder import _equal_effort


def test_the_run_is_the_game(run: Run, hostile: kh.streams.ArrayStream) -> None:
    learner = kh.LEARNERS["auto"](run.problem, seed=7)
    ledger = kh.play(learner, hostile)
    assert run.ledger.loss == ledger.loss == run.loss[-1]
    assert np.array_equal(run.ledger.reads, ledger.reads)
    assert np.array_equal(run.reads.sum(axis=1), ledger.reads)
    assert np.array_equal(run.weights, learner.weights)
    assert run.intercept == learner.intercept
    assert run.saved == 1 - ledger.mean_reads / 8
    assert run.ledger.predictions.size == 0


def test_hindsight_regret_and_baselines_are_those_of_the_library(
    run: Run, hostile: kh.streams.ArrayStream
) -> None:
    best = kh.hindsight(hostile, 2, intercept=True)
    assert run.best.support.tolist() == best.support.tolist() == [1, 2]
    assert run.best.loss.high == pytest.approx(best.loss.high, rel=1e-9)
    assert run.total_regret == run.ledger.loss - run.best.loss
    assert run.regret.high[-1] == run.total_regret.high
    assert set(run.regret.rounds) <= set(run.ends)
    i = len(run.regret.rounds) // 2
    end = int(run.regret.rounds[i])
    part = kh.hindsight(kh.streams.take(hostile, end), 2, intercept=True)
    lost = run.loss[run.ends.tolist().index(end)]
    assert run.regret.high[i] == pytest.approx((lost - part.loss).high, rel=1e-9)
    mean, last, full = run.baselines
    assert [b.name for b in run.baselines] == ["running mean", "last value", "full information"]
    assert last.loss[-1] == kh.play(kh.LastValue(run.problem), hostile).loss
    assert mean.loss[-1] == kh.play(kh.RunningMean(run.problem), hostile).loss
    assert full.loss[-1] == kh.play(kh.LEARNERS["full"](kh.Problem(8, 2, 8)), hostile).loss
    assert (mean.reads, last.reads, full.reads) == (0, 0, 8)
    beside = kh.hindsight(hostile, 2, intercept=True, past=True)
    assert run.best_with_past is not None
    assert run.best_with_past.past is not None
    assert beside.past is not None
    assert run.best_with_past.loss.high == pytest.approx(beside.loss.high, rel=1e-9)
    assert run.best_with_past.loss.high < run.best.loss.high
    assert run.best_with_past.empty_loss == run.best.empty_loss
    assert run.best_with_past.past.weights == pytest.approx(beside.past.weights, rel=1e-6)
    assert run.spread == pytest.approx(np.nanstd(hostile.X, axis=0))


def test_models_through_the_origin() -> None:
    stream, truth = kh.streams.realizable(d=6, k=2, n=400, seed=1)
    learner = kh.OnlineGreedyLearner(kh.Problem(6, 2, 4), seed=0)
    run = record(learner, stream, centred=False, diagnosed=False, full=False)
    assert run.best.intercept == 0.0
    assert run.best.support.tolist() == truth.support.tolist()
    assert [b.name for b in run.baselines] == ["running mean", "last value"]
    assert run.diagnosis is None
    assert run.learner == "OnlineGreedyLearner"
    assert kh.regret(run.ledger, kh.hindsight(stream, 2, intercept=False)).high == pytest.approx(
        run.total_regret.high
    )


def test_an_open_search_gives_an_interval() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 60)) + 2 * rng.normal(size=(300, 1))  # alike: hard to search
    stream = kh.streams.ArrayStream(X, X.sum(axis=1) + 20 * rng.normal(size=300))
    learner = kh.RandomSubset(kh.Problem(60, 8, 10))
    run = record(learner, stream, seconds=0.0, full=False, diagnosed=False)
    assert run.best.loss.width > 0
    assert run.regret.low[-1] == run.total_regret.low
    assert run.regret.high[-1] >= run.total_regret.high


def test_no_point_of_the_regret_curve_was_searched_better_than_the_others() -> None:
    """Features that were found late are tried on every prefix; bounds stay those of each search."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    y = 3 * X[:, 4] + X[:, 1] + 0.1 * rng.normal(size=200) + 7
    prefixes = []
    for end in (60, 200):
        sums = PrefixSums(6, past=False)
        sums.add(X[:end], y[:end])
        prefixes.append(sums.prefix(True))
    early, late = prefixes[0].best(1, 1.0), prefixes[1].best(1, 1.0)
    assert late.support.tolist() == [4]
    # As if the first search had got no further than feature 2, and nothing were proven of either.
    weak = Interval(0.5, prefixes[0].loss_of(np.array([2])), "stopped")
    worse = replace(early, loss=weak, weights=np.eye(6)[2])
    found = _equal_effort([weak, late.loss], [worse, late], prefixes)
    assert found[0].high == pytest.approx(early.loss.high, rel=1e-9)
    assert weak.high > 2 * found[0].high  # what a curve without it would fall by
    assert found[0].low == 0.5
    assert found[1] == late.loss
    part, label = X[:60, [4]] - X[:60, [4]].mean(), y[:60] - y[:60].mean()
    fit = np.linalg.lstsq(part, label, rcond=None)[0]
    assert found[0].high == pytest.approx(float(((label - part @ fit) ** 2).sum()), rel=1e-9)


def test_full_information_is_left_out_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keyhole.report.recorder.FULL_WORK", 100.0)
    stream, _ = kh.streams.realizable(d=6, k=1, n=50, seed=1)
    run = record(kh.RunningMean(kh.Problem(6, 1, 2)), stream, diagnosed=False)
    assert [b.name for b in run.baselines] == ["running mean", "last value"]
    assert run.notes == (
        "Full information was not played: 6 features in 50 rounds would take too long.",
    )


def test_the_summary_is_json(run: Run) -> None:
    summary = json.loads(json.dumps(run.summary(), allow_nan=False))
    assert summary["rounds"] == 700
    assert summary["seed"] == 7
    assert summary["budget"] == 4
    assert summary["model"]["weights"] == {
        run.problem.label(int(j)): run.weights[j] for j in run.support
    }
    for key, numbers in (("errors", run.errors), ("shares", run.shares)):
        assert numbers is not None
        known = {run.problem.label(int(j)): numbers[j] for j in run.support}
        assert summary["model"][key] == known
        without = json.loads(json.dumps(replace(run, **{key: None}).summary()))  # type: ignore[arg-type]
        assert without["model"][key] is None
    assert sum(summary["bought"].values()) == int(run.ledger.reads.sum())
    assert summary["baselines"]["last value"]["loss"] == run.baselines[1].loss[-1]
    assert run.best_with_past is not None
    assert summary["hindsight_with_past"]["loss"]["high"] == run.best_with_past.loss.high
    assert list(summary["hindsight_with_past"]["past"])[:2] == ["last label", "label before last"]
    assert "past" not in summary["hindsight"]
    assert replace(run, best_with_past=None).summary()["hindsight_with_past"] is None
    assert run.advice is not None
    assert summary["advice"] == json.loads(json.dumps(run.advice.as_json()))
    assert replace(run, advice=None).summary()["advice"] is None
    assert summary["versions"]["keyhole"] == kh.__version__
    endless = replace(run.best, loss=kh.Interval(0.0, float("inf"), "not searched"))
    assert replace(run, best=endless).summary()["regret"] == {
        "low": None,
        "high": run.ledger.loss,
        "how": "not searched",
    }


def test_stages_and_progress_are_told() -> None:
    stream, _ = kh.streams.realizable(d=6, k=1, n=50, seed=1)
    stages: list[str] = []
    rounds: list[int] = []
    record(
        kh.RandomSubset(kh.Problem(6, 1, 2)),
        stream,
        name="random",
        seconds=0.5,
        stage=stages.append,
        progress=lambda ledger: rounds.append(ledger.rounds),
    )
    searches = [words for words in stages if words.startswith("the best 1 features in hindsight, ")]
    assert stages == [
        *("random plays", "the best 1 features in hindsight"),
        *searches,
        "diagnosis",
    ]
    count = len(searches) - 1
    assert searches[0].endswith(f", of the rounds up to 1: 1 of {count}, about 0.5 s in all")
    assert searches[-2].endswith(f" up to 50: {count} of {count}, about 0.5 s in all")
    assert searches[-1].endswith(", beside earlier labels: about 0.5 s")
    assert rounds[-1] == 50


def test_what_cannot_be_recorded_is_refused() -> None:
    problem = kh.Problem(2, 1, 1)
    learner = kh.RandomSubset(problem)
    with pytest.raises(kh.DataError, match="empty"):
        record(learner, kh.streams.ArrayStream(np.empty((0, 2)), np.empty(0)))
    stream = kh.streams.ArrayStream(np.ones((3, 2)), np.ones(3))
    with pytest.raises(kh.ProblemError, match="bins must be at least 2"):
        record(learner, stream, bins=1)
    with pytest.raises(kh.ProblemError, match="k must be"):
        record(learner, stream, k=3)
    assert learner.round == 0
    kh.play(learner, stream)
    with pytest.raises(kh.ProblemError, match="has played 3 rounds"):
        record(learner, stream)


def test_one_round_is_a_run() -> None:
    stream = kh.streams.ArrayStream([[1.0, 2.0]], [3.0], names=["a", "b"])
    run = record(kh.RandomSubset(kh.Problem(2, 1, 1)), stream)
    assert run.ends.tolist() == [1]
    assert run.problem.names == ("a", "b")


def test_a_run_after_history_says_so_and_counts_nothing_of_it() -> None:
    stream, _ = kh.streams.realizable(d=8, k=2, n=400, seed=1)
    X, y = kh.streams.collect(stream)
    old, new = (kh.streams.ArrayStream(X[p], y[p]) for p in (slice(150), slice(150, 400)))
    learner, other = (kh.AutoLearner(kh.Problem(8, 2, 4), seed=0) for _ in range(2))
    rows = learner.study(old)
    run = record(learner, new, history=rows, full=False, diagnosed=False)
    assert (run.history, run.ledger.rounds, run.summary()["history_rows"]) == (150, 250, 150)
    assert run.ledger.loss == kh.play(other, new, history=old).loss
    assert any("studied history" in note for note in run.notes)
    plain = record(kh.RunningMean(kh.Problem(8, 2, 4)), new, full=False, diagnosed=False)
    assert (plain.history, plain.notes) == (0, ())


def test_a_run_after_a_history_that_misled_says_so() -> None:
    stream, _ = kh.streams.realizable(d=8, k=2, n=400, seed=1)
    X, y = kh.streams.collect(stream)
    learner = kh.AutoLearner(kh.Problem(8, 2, 4), seed=0)
    rows = learner.study(kh.streams.ArrayStream(X[:150], -y[:150]))
    new = kh.streams.ArrayStream(X[150:], y[150:])
    run = record(learner, new, history=rows, full=False, diagnosed=False)
    after = learner.advice().misled
    assert 0 < after < 250
    assert run.notes[0].endswith(f"The history misled, and was set aside after {after} labels.")


def test_only_who_advises_is_asked() -> None:
    stream, _ = kh.streams.realizable(d=5, k=1, n=60, seed=0)
    problem = kh.Problem(d=5, k=1, budget=3)
    quiet = record(kh.RandomSubset(problem), stream, diagnosed=False, full=False)
    assert quiet.advice is None
    learner = kh.AutoLearner(problem)
    told = record(learner, stream, diagnosed=False, full=False)
    assert told.advice == learner.advice()
