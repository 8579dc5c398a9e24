"""What learners are by name, and what their classes do unless told otherwise: one table each."""

import inspect
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.base import LearnerBase
from keyhole.learners.registry import learner_classes, learner_row, make_learner

DEFAULTS: dict[str, dict[str, Any]] = {
    "AELRLearner": {"radius": 1.0, "data_dependent": False, "rate": None, "clip": False},
    "AERRLearner": {"radius": 1.0, "data_dependent": False, "rate": None, "clip": False},
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
    "LastValue": {},
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
    "RunningMean": {},
    "SubsetExpertsLearner": {"radius": 1.0, "horizon": None, "clip": False},
    "Zero": {},
}
PRESETS: dict[str, dict[str, Any]] = {
    "DantzigLearner": {"noise_sd": 1.0, "failure_probability": 0.05},
    "OnlineGreedyLearner": {"kappa": 1.5},
}


def defaults_of(made: Any) -> dict[str, Any]:
    parameters = inspect.signature(made).parameters
    return {k: v.default for k, v in parameters.items() if v.default is not inspect.Parameter.empty}


@pytest.mark.parametrize("name", DEFAULTS)
def test_arguments_of_classes_unless_given(name: str) -> None:
    wanted = {"seed": 0, **DEFAULTS[name]}
    found = defaults_of(learner_classes()[name])
    assert {"seed": 0, **found} == wanted
    assert all(type(found[key]) is type(wanted[key]) for key in found)


@pytest.mark.parametrize("name", PRESETS)
def test_arguments_of_presets_unless_given(name: str) -> None:
    found = defaults_of(learner_classes()[name].as_printed)  # type: ignore[attr-defined]
    assert {"seed": 0, **found} == {"seed": 0, **PRESETS[name]}


@pytest.mark.parametrize("name", kh.LEARNERS)
def test_the_seed_is_0_unless_given(name: str) -> None:
    problem = kh.Problem(6, 2, 6)
    learner: Any = kh.LEARNERS[name](problem)
    assert learner.seed == 0
    made: Any = kh.LEARNERS[name].cls
    assert defaults_of(made).get("seed", 0) == 0


# Bytes for each pair of features, and whether its models have an intercept.
PAIRS: dict[str, tuple[float, bool]] = {
    "auto": (24.0, True),
    "zero": (0.0, False),
    "mean": (0.0, True),
    "last-value": (0.0, True),
    "fixed": (40.0, True),
    "random": (40.0, True),
    "full": (40.0, True),
    "dantzig": (48.0, False),
    "dantzig-printed": (48.0, False),
    "dantzig-data": (48.0, True),
    "online-greedy": (8.0, False),
    "online-greedy-printed": (8.0, False),
    "dual-averaging": (0.0, False),
    "iht": (0.0, False),
    "iht-hybrid": (0.0, False),
    "aerr": (0.0, False),
    "ddaerr": (0.0, False),
    "aelr": (0.0, False),
    "ddaelr": (0.0, False),
    "subset-experts": (0.0, False),
    "ds-poslrc": (48.0, False),
    "ds-oslrc": (48.0, False),
    "explore-commit": (24.0, True),
    "epsilon-greedy": (24.0, True),
    "online-lasso": (48.0, True),
    "online-omp": (24.0, True),
}


@pytest.mark.parametrize("name", kh.LEARNERS)
def test_memory_for_pairs_of_features(name: str) -> None:
    cls = kh.LEARNERS[name].cls
    assert issubclass(cls, LearnerBase)
    assert PAIRS[name][0] == cls.BYTES_PER_PAIR
    wide = {"fixed": 2, "random": 30}.get(name, 50)  # of how many features the pairs are
    alone = 50 * getattr(cls, "BYTES_PER_FEATURE", 0.0)  # of each feature, beside its pairs
    assert cls.memory(kh.Problem(50, 2, 30)) == PAIRS[name][0] * wide**2 + alone


@pytest.mark.parametrize("name", kh.LEARNERS)
def test_models_have_an_intercept_or_have_none(name: str) -> None:
    """After labels about 100, one that has an intercept has learnt it."""
    row = kh.LEARNERS[name]
    assert row.has_intercept == PAIRS[name][1]
    X = np.random.default_rng(0).uniform(-1, 1, (60, 6))
    learner = make_learner(name, kh.Problem(6, 2, 5), 0)
    kh.play(learner, kh.streams.ArrayStream(X, 100 + X[:, 0]))
    learner.ask()
    assert (learner.intercept != 0.0) == row.has_intercept


def test_those_that_read_everything_get_the_budget_they_need() -> None:
    whole = {name for name, row in kh.LEARNERS.items() if row.reads_everything}
    assert whole == {"full", "online-lasso", "online-omp"}
    for name in kh.LEARNERS:
        made = make_learner(name, kh.Problem(6, 2, 5), 3)
        assert made.problem.budget == (6 if name in whole else 5)
    for name in whole:
        with pytest.raises(kh.ProblemError, match="make the problem with budget=6"):
            kh.LEARNERS[name](kh.Problem(6, 2, 5))


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
