"""The learners by name: one row each, from which everything else that lists learners is derived.

A learner's class is imported when it is first needed, so listing them costs nothing.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from keyhole.problem import Learner, Problem, ProblemError, nearest
from keyhole.saving.snapshot import StatefulLearner

Group = Literal["recommended", "paper", "literature", "baseline", "reference"]
Treatment = Literal["by price", "any reads", "reads nothing", "reads all", "refuses"]


@dataclass(frozen=True, slots=True)
class LearnerRow:
    """A learner under its name. Called with a problem and a seed, it makes one.

    Parameters
    ----------
    name
        What users type.
    made_by
        "module:Class", the module within `keyhole.learners`.
    summary
        One line for lists of learners.
    group
        Where it comes from, or what it is there for.
    settings
        Arguments the class is called with, beside the problem and the seed. By name, no learner
        explodes: those that do not stay within the range of the labels by themselves get `clip`.
    preset
        The class method that makes it, if not the class itself.
    reads_everything
        Whether it needs budget = d: a reference, not a rival.
    has_intercept
        Whether its models have one. If not, columns and label should be centred.
    compared
        Whether `keyhole compare` plays it unless told otherwise.
    prices
        What it does with the prices of a problem: buys by score and price, within the money; reads
        any `problem.reads` features, for it knows no prices; reads nothing, or everything, so that
        they change nothing; or refuses.
    learns_by
        The round by which it has half the loss of the running mean on `testing.easy_stream`, and
        conformance checks that: twice what the worst of 16 seeds took. None: it claims nothing.
    """

    name: str
    made_by: str
    summary: str
    group: Group
    settings: Mapping[str, Any] = field(default_factory=dict)
    preset: str | None = None
    reads_everything: bool = False
    has_intercept: bool = True
    compared: bool = False
    prices: Treatment = "any reads"
    learns_by: int | None = None

    @property
    def cls(self) -> type[StatefulLearner]:
        """The class that makes it."""
        module, _, name = self.made_by.partition(":")
        found = getattr(importlib.import_module(f"keyhole.learners.{module}"), name)
        return cast(type[StatefulLearner], found)

    def __call__(self, problem: Problem, *, seed: int = 0) -> Learner:
        """A new learner for this problem."""
        # The protocol of learners says nothing about how they are made.
        make: Any = self.cls if self.preset is None else getattr(self.cls, self.preset)
        learner: Learner = make(problem, seed=seed, **self.settings)
        return learner


CLIPPED: Mapping[str, Any] = {"clip": True}  # predictions cut off at the range of labels so far
PRINTED: Mapping[str, Any] = {"horizon": 100_000}  # the T of the printed algorithms, by name

_ROWS = (
    LearnerRow(
        "auto",
        "auto:AutoLearner",
        "No noise level, horizon, scale or constant: learns what it needs from what it buys.",
        "recommended",
        compared=True,
        prices="by price",
        learns_by=256,
    ),
    LearnerRow(
        "zero",
        "nothing_read:Zero",
        "Reads nothing and predicts 0.",
        "baseline",
        has_intercept=False,
        prices="reads nothing",
    ),
    LearnerRow(
        "mean",
        "nothing_read:RunningMean",
        "Reads nothing and predicts the mean of the labels so far: what any learner should beat.",
        "baseline",
        prices="reads nothing",
    ),
    LearnerRow(
        "last-value",
        "nothing_read:LastValue",
        "Reads nothing and predicts the label told last: hard to beat where labels change slowly.",
        "baseline",
        prices="reads nothing",
    ),
    LearnerRow(
        "fixed",
        "baselines:FixedSubset",
        "Buys the same features every round and predicts by VAW on them.",
        "baseline",
        settings=CLIPPED,
        prices="by price",
    ),
    LearnerRow(
        "random",
        "baselines:RandomSubset",
        "Buys one random subset of `budget` features every round: spending without choosing.",
        "baseline",
        settings=CLIPPED,
        compared=True,
        prices="by price",
    ),
    LearnerRow(
        "full",
        "baselines:FullInformation",
        "Buys everything: what a learner could do if looking were free.",
        "reference",
        settings=CLIPPED,
        reads_everything=True,
        compared=True,
        prices="reads all",
        learns_by=64,
    ),
    LearnerRow(
        "dantzig",
        "dantzig:DantzigLearner",
        "Algorithm 1 for labels of about unit size: an upper bound for the noise, a practical C.",
        "paper",
        settings={"noise_sd": 1.0, "threshold_scale": 0.02, "clip": True},
        has_intercept=False,
        learns_by=4096,
    ),
    LearnerRow(
        "dantzig-printed",
        "dantzig:DantzigLearner",
        "Algorithm 1 to the letter, for 100,000 rounds: predicts 0 for most of them.",
        "paper",
        settings=PRINTED,
        preset="as_printed",
        has_intercept=False,
        prices="refuses",
    ),
    LearnerRow(
        "dantzig-data",
        "practical_dantzig:PracticalDantzig",
        "Algorithm 1, everything measured: no noise level, no constant.",
        "paper",
        learns_by=128,
    ),
    LearnerRow(
        "online-greedy",
        "online_greedy:OnlineGreedyLearner",
        "Algorithm 2, put together for practice: no horizon, no bounds.",
        "paper",
        settings=CLIPPED,
        has_intercept=False,
        compared=True,
        prices="by price",
        learns_by=512,
    ),
    LearnerRow(
        "online-greedy-printed",
        "online_greedy:OnlineGreedyLearner",
        "Algorithm 2 to the letter, with the theorem's sizes for 100,000 rounds.",
        "paper",
        settings=PRINTED,
        preset="as_printed",
        has_intercept=False,
        prices="refuses",
    ),
    LearnerRow(
        "dual-averaging",
        "dual_averaging:DualAveragingLearner",
        "Dual averaging: sum estimated gradients, play the k largest coordinates of the iterate.",
        "literature",
        settings=CLIPPED,
        has_intercept=False,
        learns_by=128,
    ),
    LearnerRow(
        "iht",
        "hard_thresholding:HardThresholdingLearner",
        "Gradient steps on partial reads, each cut back to k features.",
        "literature",
        settings=CLIPPED,
        has_intercept=False,
        learns_by=256,
    ),
    LearnerRow(
        "iht-hybrid",
        "hard_thresholding:HardThresholdingLearner",
        "Hard thresholding that refines the model on its support between two searches.",
        "literature",
        settings={"hybrid": True, "clip": True},
        has_intercept=False,
        learns_by=256,
    ),
    LearnerRow(
        "aerr",
        "aerr:AERRLearner",
        "Attribute-efficient ridge regression: projected gradient on a ball, gradients estimated.",
        "literature",
        settings=CLIPPED,
        has_intercept=False,
        learns_by=1024,
    ),
    LearnerRow(
        "ddaerr",
        "aerr:AERRLearner",
        "AERR that draws features by their second moments, which it measures.",
        "literature",
        settings={"data_dependent": True, "clip": True},
        has_intercept=False,
        learns_by=1024,
    ),
    LearnerRow(
        "aelr",
        "aelr:AELRLearner",
        "Attribute-efficient lasso regression: EG+- on the l1 ball, gradients estimated.",
        "literature",
        settings=CLIPPED,
        has_intercept=False,
        learns_by=1024,
    ),
    LearnerRow(
        "ddaelr",
        "aelr:AELRLearner",
        "AELR that draws features by their second moments, which it measures.",
        "literature",
        settings={"data_dependent": True, "clip": True},
        has_intercept=False,
        learns_by=512,
    ),
    LearnerRow(
        "subset-experts",
        "subset_experts:SubsetExpertsLearner",
        "Every k-subset of the features is an expert with its own weights; one of them plays.",
        "literature",
        settings=CLIPPED,
        has_intercept=False,
        learns_by=512,
    ),
    LearnerRow(
        "ds-poslrc",
        "ds_poslrc:DSPOSLRCLearner",
        "Plays the k largest weights of a Dantzig program, and explores outside of them.",
        "literature",
        settings=CLIPPED,
        has_intercept=False,
        learns_by=256,
    ),
    LearnerRow(
        "ds-oslrc",
        "ds_oslrc:DSOSLRCLearner",
        "Explores at rounds 1, 4, 9, ...; in between, online Newton steps on the chosen support.",
        "literature",
        settings=CLIPPED,
        has_intercept=False,
        learns_by=256,
    ),
    LearnerRow(
        "explore-commit",
        "explore_commit:ExploreThenCommitLearner",
        "Reads random features for a while, selects k by orthogonal matching pursuit, plays those.",
        "literature",
        prices="by price",
        learns_by=256,
    ),
    LearnerRow(
        "epsilon-greedy",
        "epsilon_greedy:EpsilonGreedyLearner",
        "Reads the features most correlated with the label, now and then any; plays the best k.",
        "literature",
        prices="by price",
        learns_by=128,
    ),
    LearnerRow(
        "online-lasso",
        "online_lasso:OnlineLassoLearner",
        "Reads everything and plays the lasso of all rows so far.",
        "reference",
        settings=CLIPPED,
        reads_everything=True,
        prices="reads all",
        learns_by=128,
    ),
    LearnerRow(
        "online-omp",
        "online_omp:OnlineOMPLearner",
        "Reads everything and plays VAW on the k features of forward selection.",
        "reference",
        reads_everything=True,
        prices="reads all",
        learns_by=64,
    ),
)

LEARNERS: dict[str, LearnerRow] = {row.name: row for row in _ROWS}

# Those that keep nothing for every pair of features, for streams of very many of them; "auto" does
# for pairs of some, as many as go with the budget.
SLIM = (
    "auto",
    *("mean", "last-value", "dual-averaging", "iht", "iht-hybrid"),
    *("aerr", "ddaerr", "aelr", "ddaelr"),
)

# Classes that are made around another learner, and by no name; with the module of each.
AROUND = {"YesNoLearner": "yes_no"}


def learner_row(name: str) -> LearnerRow:
    """The learner of that name, or an error with the nearest."""
    if not isinstance(name, str) or name not in LEARNERS:
        hint = nearest(name, tuple(LEARNERS)) or f": there are {', '.join(LEARNERS)}"
        raise ProblemError(f"there is no learner {name!r}{hint}")
    return LEARNERS[name]


def make_learner(name: str, problem: Problem, seed: int) -> Learner:
    """A learner by name. One that reads everything gets the budget it needs: all features."""
    row = learner_row(name)
    if row.reads_everything:
        problem = problem.whole()
    return row(problem, seed=seed)


def learner_classes() -> dict[str, type[StatefulLearner]]:
    """All classes of learners by their names: what `keyhole.load` finds."""
    rows = {row.made_by.partition(":")[2]: row for row in _ROWS}
    return {name: row.cls for name, row in rows.items()}


def learner_class(name: str) -> type[StatefulLearner] | None:
    """The learner class of that name, None if keyhole has none."""
    for row in _ROWS:
        if row.made_by.partition(":")[2] == name:
            return row.cls
    if name in AROUND:
        found = getattr(importlib.import_module(f"keyhole.learners.{AROUND[name]}"), name)
        return cast(type[StatefulLearner], found)
    return None
