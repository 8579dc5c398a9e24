"""The learners, one algorithm per file; LEARNERS knows them by name."""

from __future__ import annotations

from typing import Protocol

from keyhole.learners.aelr import AELRLearner
from keyhole.learners.aerr import AERRLearner
from keyhole.learners.auto import AutoLearner
from keyhole.learners.baselines import FixedSubset, FullInformation, RandomSubset, RunningMean, Zero
from keyhole.learners.dantzig import DantzigLearner
from keyhole.learners.dantzig_data import PracticalDantzig
from keyhole.learners.ds_oslrc import DSOSLRCLearner
from keyhole.learners.ds_poslrc import DSPOSLRCLearner
from keyhole.learners.dual_averaging import DualAveragingLearner
from keyhole.learners.epsilon_greedy import EpsilonGreedyLearner
from keyhole.learners.explore_commit import ExploreThenCommitLearner
from keyhole.learners.hard_thresholding import HardThresholdingLearner
from keyhole.learners.online_greedy import OnlineGreedyLearner
from keyhole.learners.online_lasso import OnlineLassoLearner
from keyhole.learners.online_omp import OnlineOMPLearner
from keyhole.learners.subset_experts import SubsetExpertsLearner
from keyhole.problem import Learner, Problem, ProblemError, nearest
from keyhole.snapshot import StatefulLearner


class LearnerFactory(Protocol):
    """How every learner in LEARNERS can be made: from a problem and a seed alone."""

    def __call__(self, problem: Problem, *, seed: int = 0) -> Learner: ...


def _dantzig(problem: Problem, *, seed: int = 0) -> Learner:
    """Algorithm 1 for labels of about unit size: an upper bound for the noise, a practical C."""
    return DantzigLearner(problem, seed=seed, noise_sd=1.0, threshold_scale=0.02)


def _dantzig_data(problem: Problem, *, seed: int = 0) -> Learner:
    """Algorithm 1, everything measured: no noise level, no constant."""
    return DantzigLearner(problem, seed=seed, threshold="data")


def _online_greedy(problem: Problem, *, seed: int = 0) -> Learner:
    """Algorithm 2, put together for practice: no horizon, no bounds."""
    return OnlineGreedyLearner(problem, seed=seed)


def _hybrid(problem: Problem, *, seed: int = 0) -> Learner:
    """Hard thresholding that refines the model on its support between two searches."""
    return HardThresholdingLearner(problem, seed=seed, hybrid=True)


def _ddaerr(problem: Problem, *, seed: int = 0) -> Learner:
    """AERR that draws features by their second moments, which it measures."""
    return AERRLearner(problem, seed=seed, data_dependent=True)


def _ddaelr(problem: Problem, *, seed: int = 0) -> Learner:
    """AELR that draws features by their second moments, which it measures."""
    return AELRLearner(problem, seed=seed, data_dependent=True)


LEARNERS: dict[str, LearnerFactory] = {
    "auto": AutoLearner,
    "zero": Zero,
    "mean": RunningMean,
    "fixed": FixedSubset,
    "random": RandomSubset,
    "full": FullInformation,
    "dantzig": _dantzig,
    "dantzig-data": _dantzig_data,
    "online-greedy": _online_greedy,
    "dual-averaging": DualAveragingLearner,
    "iht": HardThresholdingLearner,
    "iht-hybrid": _hybrid,
    "aerr": AERRLearner,
    "ddaerr": _ddaerr,
    "aelr": AELRLearner,
    "ddaelr": _ddaelr,
    "subset-experts": SubsetExpertsLearner,
    "ds-poslrc": DSPOSLRCLearner,
    "ds-oslrc": DSOSLRCLearner,
    "explore-commit": ExploreThenCommitLearner,
    "epsilon-greedy": EpsilonGreedyLearner,
    "online-lasso": OnlineLassoLearner,
    "online-omp": OnlineOMPLearner,
}

# These read all features, whatever the budget: references, not rivals.
EVERYTHING = frozenset({"full", "online-lasso", "online-omp"})

# What `keyhole.load` finds by the name of the class.
CLASSES: tuple[type[StatefulLearner], ...] = (
    AutoLearner,
    Zero,
    RunningMean,
    FixedSubset,
    RandomSubset,
    FullInformation,
    DantzigLearner,
    PracticalDantzig,
    OnlineGreedyLearner,
    DualAveragingLearner,
    HardThresholdingLearner,
    AERRLearner,
    AELRLearner,
    SubsetExpertsLearner,
    DSPOSLRCLearner,
    DSOSLRCLearner,
    ExploreThenCommitLearner,
    EpsilonGreedyLearner,
    OnlineLassoLearner,
    OnlineOMPLearner,
)


def factory(name: str) -> LearnerFactory:
    """The learner of that name, or an error with the nearest."""
    if name not in LEARNERS:
        hint = nearest(name, tuple(LEARNERS)) or f": there are {', '.join(LEARNERS)}"
        raise ProblemError(f"there is no learner {name!r}{hint}")
    return LEARNERS[name]


def make_learner(name: str, problem: Problem, seed: int) -> Learner:
    """A learner by name. Those in EVERYTHING get the budget they need: all features."""
    make = factory(name)
    if name in EVERYTHING:
        problem = Problem(problem.d, problem.k, problem.d, problem.names)
    return make(problem, seed=seed)
