"""Scores: the first round apart, one denominator, the last tenth, what everybody knows."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import keyhole as kh
from keyhole.analysis.diagnosis.page import Finding
from keyhole.report import Run, record
from keyhole.report.conclusions import findings, headline, to_buy
from keyhole.report.number_format import brief
from keyhole.report.tables import scores
from keyhole.report.traces import FoldingSums, PredictionTrace, RecentLoss

FAR = 1.3e6  # the mean of labels whose deviation is a hundredth of it


@pytest.fixture(scope="module")
def far() -> tuple[kh.streams.ArrayStream, Run]:
    """Labels far from 0: what is lost in the first round is most of all that is lost."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 6))
    y = FAR + 1e4 * (2 * X[:, 1] - X[:, 4] + 0.3 * rng.normal(size=600))
    stream = kh.streams.ArrayStream(X, y, [f"s{j}" for j in range(6)])
    problem = kh.Problem(6, 2, 4, stream.names)
    learner = kh.AutoLearner(problem, seed=0)
    return stream, record(learner, stream, name="auto", target="use (kWh)", diagnosed=False)


def test_the_first_round_is_apart_everywhere(far: tuple[kh.streams.ArrayStream, Run]) -> None:
    stream, run = far
    ledger = kh.play(kh.AutoLearner(run.problem, seed=0), stream)
    losses = (stream.y - ledger.predictions) ** 2
    assert losses[0] > losses[1:].sum()  # or it would not matter
    ours = scores(run)[0]
    assert ours.ours
    assert ours.mean.high == pytest.approx(losses[1:].mean(), rel=1e-6)
    assert ours.error == pytest.approx(math.sqrt(losses[1:].mean()), rel=1e-6)
    told = json.loads(json.dumps(run.summary(), allow_nan=False))
    assert told["first_round"] == {"loss": losses[0]}
    assert told["loss"] == ledger.loss  # what was there before means what it meant
    assert told["after_first"]["mean_loss"] == pytest.approx(losses[1:].mean(), rel=1e-6)
    regret = told["after_first"]["regret"]["high"]
    assert regret == pytest.approx(run.total_regret.high - losses[0], rel=1e-9)
    mean = told["baselines"]["running mean"]
    assert mean["first_loss"] == stream.y[0] ** 2
    assert told["r2"] < -1 < 0.8 < told["after_first"]["r2"] == run.later_r2


def test_every_r2_is_one_minus_the_mean_loss_over_one_variance(run: Run) -> None:
    variance = run.best.empty_loss / run.ledger.rounds
    for row in scores(run):
        assert row.r2 == pytest.approx(1 - row.mean.high / variance, rel=1e-12)
    names = [row.who for row in scores(run)]
    assert names == [
        "auto",
        "best 2 features in hindsight",
        "best 2 features in hindsight and the past",
        "reading everything",
        "running mean of the label",
        "last value of the label",
    ]
    assert scores(run)[1].r2 == run.best.r2


@pytest.mark.parametrize("rounds", [2, 3, 9, 10, 1000, 1023, 5000, 20_000])
def test_the_last_tenth(rounds: int) -> None:
    y = np.random.default_rng(rounds).normal(size=rounds)
    stream, recent = kh.streams.ArrayStream(np.zeros((rounds, 1)), y), RecentLoss()
    kh.play(kh.RunningMean(kh.Problem(1, 1, 1)), stream, observers=[recent])
    ledger = kh.play(kh.RunningMean(kh.Problem(1, 1, 1)), stream)
    many, mean = recent.last_tenth
    assert 1 <= many < rounds
    # To a bin, of which there are 512 at least.
    assert abs(many - rounds / 10) <= max(1.0, rounds / 512)
    assert mean == pytest.approx(((y - ledger.predictions) ** 2)[-many:].mean(), rel=1e-9)


def test_of_one_round_there_is_no_last_tenth() -> None:
    stream, recent = kh.streams.ArrayStream([[1.0]], [2.0]), RecentLoss()
    kh.play(kh.RunningMean(kh.Problem(1, 1, 1)), stream, observers=[recent])
    assert recent.last_tenth.rounds == 0
    assert math.isnan(recent.last_tenth.mean_loss)


def test_folding_sums_do_not_depend_on_the_blocks() -> None:
    numbers = np.random.default_rng(0).integers(0, 9, (2, 345)).astype(float)
    whole, parts = FoldingSums(2, 16), FoldingSums(2, 16)
    whole.add(numbers)
    for start in range(0, 345, 7):
        parts.add(numbers[:, start : start + 7])
    np.testing.assert_array_equal(whole.totals, parts.totals)
    np.testing.assert_array_equal(whole.ends, parts.ends)
    starts = np.append(0, whole.ends[:-1])
    expected = [numbers[:, a:b].sum(axis=1) for a, b in zip(starts, whole.ends, strict=True)]
    np.testing.assert_array_equal(whole.totals, np.array(expected).T)


def test_residuals_and_variance_are_those_of_the_rounds() -> None:
    rng = np.random.default_rng(2)
    y = 50 + rng.normal(size=700)
    stream, trace = kh.streams.ArrayStream(np.zeros((700, 1)), y), PredictionTrace(bins=8)
    ledger = kh.play(kh.RunningMean(kh.Problem(1, 1, 1)), stream, observers=[trace])
    residuals, first = y - ledger.predictions, 1  # without round 1, in which 50 is missed
    for i, end in enumerate(trace.ends.tolist()):
        assert trace.residual[i] == pytest.approx(residuals[first:end].mean())
        assert trace.error[i] == pytest.approx(math.sqrt((residuals[first:end] ** 2).mean()))
        first = end
    assert trace.variance == pytest.approx(float(np.var(y)))


def test_the_headline_says_what_to_buy_what_it_saves_and_how_good_it_is(
    far: tuple[kh.streams.ArrayStream, Run],
) -> None:
    _, run = far
    buy, good = headline(run)
    assert to_buy(run) == ["s1", "s4"]
    assert buy == (
        f"Buy s1 and s4 to predict use (kWh): learning that took {run.ledger.mean_reads:.3g} of 6 "
        f"features per example and saved {run.saved:.0%} of all reads."
    )
    assert f"typically off by {brief(math.sqrt(run.ledger.later_mean_loss))}, against" in good
    assert "for the running mean and" in good
    assert f"they explain {run.later_r2:.0%} of what varies" in good
    assert f"the best 2 features in hindsight {run.best.r2:.0%}." in good


def test_a_headline_of_nothing() -> None:
    rng = np.random.default_rng(1)
    stream = kh.streams.ArrayStream(rng.normal(size=(300, 3)), rng.normal(size=300))
    run = record(kh.RunningMean(kh.Problem(3, 1, 1)), stream, diagnosed=False)
    buy, good = headline(run)
    assert buy.startswith("No feature was found that helps to predict y; ")
    assert "they explain nothing (R² " in good


def test_findings_come_by_severity_and_say_what_is_wrong(run: Run) -> None:
    def severities(of: Run) -> list[str]:
        return [finding.severity for finding in findings(of)]

    told = severities(run)
    order = ["serious", "worth mending", "good to know"]
    assert told == sorted(told, key=order.index)
    assert "serious" not in told
    mean = run.baselines[0]
    beaten = replace(run, baselines=(replace(mean, loss=0.1 * run.loss), *run.baselines[1:]))
    first = findings(beaten)[0]
    assert isinstance(first, Finding)
    assert first.severity == "serious"
    assert "no better than the mean" in first.what
    lately = replace(run, recent=run.recent._replace(mean_loss=3 * run.ledger.later_mean_loss))
    assert any("3.0 times that of the whole game" in f.what for f in findings(lately))
    last = replace(run.baselines[1], loss=0.1 * run.loss, first_loss=0.0)
    follow = replace(run, baselines=(mean, last, run.baselines[2]))
    assert any("last value of the label predicts better" in f.what for f in findings(follow))
