"""What learners are by name, and what their classes do unless told otherwise."""

import inspect
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.base import LearnerBase
from keyhole.learners.registry import learner_classes, learner_row, make_learner

# What classes do unless told otherwise, beside the seed 0. A change here moves transcripts.
DEFAULTS: dict[str, dict[str, Any]] = {
    "AELRLearner": {"radius": 1.0, "data_dependent": False, "rate": None, "clip": False},
    "AERRLearner": {"radius": 1.0, "data_dependent": False, "rate": None, "clip": False},
    "DSOSLRCLearner": {
        "threshold_scale": 0.05,
        "noise_sd": None,
        "failure_probability": 0.05,
        "weighting": "ratio",
        "clip": False,
    },
    "DSPOSLRCLearner": {
        "threshold_scale": 0.03,
        "noise_sd": None,
        "failure_probability": 0.05,
        "weighting": "ratio",
        "growth": 1.2,
        "clip": False,
    },
    "DualAveragingLearner": {
        "gradient": "residual",
        "radius": None,
        "schedule": "adaptive",
        "clip": False,
    },
    "EpsilonGreedyLearner": {"epsilon": 1.0, "decay": 1 / 3, "ridge": 1.0},
    "ExploreThenCommitLearner": {"horizon": None, "exploration": None, "ridge": 1.0},
    "FixedSubset": {"support": None, "intercept": True, "ridge": 1.0, "clip": False},
    "FullInformation": {"ridge": 1.0, "clip": False},
    "HardThresholdingLearner": {
        "hybrid": False,
        "batch_size": None,
        "growth": 1.25,
        "step_size": None,
        "clip": False,
    },
    "OnlineGreedyLearner": {
        "batch_size": None,
        "slots": None,
        "kappa": None,
        "horizon": None,
        "ridge": 1.0,
        "parts": None,
        "clip": False,
    },
    "OnlineLassoLearner": {"scale": 1.0, "clip": False},
    "OnlineOMPLearner": {"ridge": 1.0},
    "RandomSubset": {"ridge": 1.0, "clip": False},
    "SubsetExpertsLearner": {"radius": 1.0, "horizon": None, "clip": False},
}
PRESETS: dict[str, dict[str, Any]] = {
    "DantzigLearner": {"noise_sd": 1.0, "failure_probability": 0.05},
    "OnlineGreedyLearner": {"kappa": 1.5},
}
BYTES_PER_PAIR = {  # of features, at most, where tables of pairs are kept
    "AutoLearner": 24.0,
    "DantzigLearner": 48.0,
    "DSOSLRCLearner": 48.0,
    "DSPOSLRCLearner": 48.0,
    "EpsilonGreedyLearner": 24.0,
    "ExploreThenCommitLearner": 24.0,
    "FixedSubset": 40.0,
    "FullInformation": 40.0,
    "OnlineGreedyLearner": 8.0,
    "OnlineLassoLearner": 48.0,
    "OnlineOMPLearner": 24.0,
    "PracticalDantzig": 48.0,
    "RandomSubset": 40.0,
}


def defaults_of(made: Any) -> dict[str, Any]:
    parameters = inspect.signature(made).parameters
    found = {
        k: v.default for k, v in parameters.items() if v.default is not inspect.Parameter.empty
    }
    return {"seed": 0, **found}


def test_arguments_of_classes_and_presets_unless_given() -> None:
    found = {name: defaults_of(learner_classes()[name]) for name in DEFAULTS}
    problem = kh.Problem(12, 2, 12)
    for learner in (kh.DSOSLRCLearner(problem), kh.DSPOSLRCLearner(problem)):  # of their base, too
        found[type(learner).__name__] |= learner.settings()
    wanted = {name: {"seed": 0, **given} for name, given in DEFAULTS.items()}
    assert repr(sorted_deeply(found)) == repr(sorted_deeply(wanted))  # 1 is not 1.0
    printed = kh.DantzigLearner(problem, seed=4, noise_sd=0.5)
    assert (printed.seed, printed.clip, printed.weighting) == (4, False, "exact")
    assert (printed.threshold_scale, printed.failure_probability) == (1.0, 0.05)
    for name, more in PRESETS.items():
        preset: Any = learner_classes()[name]
        assert defaults_of(preset.as_printed) == {"seed": 0, **more}


def sorted_deeply(table: dict[str, dict[str, Any]]) -> list[tuple[str, list[tuple[str, Any]]]]:
    return [(name, sorted(row.items())) for name, row in sorted(table.items())]


def test_memory_for_pairs_of_features() -> None:
    """Of all features, of those that are bought, or of those of a model."""
    problem = kh.Problem(50, 2, 30)
    wide = {"FixedSubset": 2, "RandomSubset": 30}
    for name, each in BYTES_PER_PAIR.items():
        cls = learner_classes()[name]
        assert issubclass(cls, LearnerBase)
        alone = getattr(cls, "BYTES_PER_FEATURE", 0.0)
        told = 2048 * (12 * 30 + 32) if name == "AutoLearner" else 0  # rows it can correct
        assert cls.memory(problem) == each * wide.get(name, 50) ** 2 + 50 * alone + told, name


@pytest.mark.parametrize("name", kh.LEARNERS)
def test_a_row_says_what_its_learner_does(name: str) -> None:
    """Which budget it needs; whether it has an intercept, learnt after labels about 100."""
    row, problem = kh.LEARNERS[name], kh.Problem(6, 2, 5)
    learner: Any = make_learner(name, problem, 0)
    assert (learner.seed, learner.round, learner.intercept) == (0, 0, 0.0)
    assert not learner.weights.any()
    assert learner.problem.budget == (6 if row.reads_everything else 5)
    X = np.random.default_rng(0).uniform(-1, 1, (60, 6))
    kh.play(learner, kh.streams.ArrayStream(X, 100 + X[:, 0]))
    learner.ask()
    assert (learner.intercept != 0.0) == row.has_intercept
    if row.reads_everything:
        with pytest.raises(kh.ProblemError, match="make the problem with budget=6"):
            row(problem)
    else:
        assert getattr(row(problem), "seed", None) == 0


def test_who_is_compared_unless_told_otherwise() -> None:
    """What plays in seconds: the library's own, Algorithm 2, and two marks to measure them by."""
    compared = {name for name, row in kh.LEARNERS.items() if row.compared}
    assert compared == {"auto", "online-greedy", "random", "full"}


@pytest.mark.parametrize("name", ["atuo", "", 3, None, ["auto"]])
def test_a_name_that_nobody_has_is_refused(name: Any) -> None:
    with pytest.raises(kh.ProblemError, match="there is no learner"):
        learner_row(name)


def test_a_fixed_support_is_of_the_features_there_are() -> None:
    problem = kh.Problem(6, 2, 4)
    for good in ([], [0], [5], [0, 5], [5, 0, 3, 3], [0, 1, 2, 3]):
        made = kh.FixedSubset(problem, support=good)
        assert made.ask().features.tolist() == sorted(set(good))
    for wrong in ([-1], [-1, 3], [6], [0, 6]):
        with pytest.raises(kh.ProblemError, match="support must lie between 0 and 5"):
            kh.FixedSubset(problem, support=wrong)
    with pytest.raises(kh.ProblemError, match="support has 5 features, the budget is 4"):
        kh.FixedSubset(problem, support=[0, 1, 2, 3, 4])
