"""Registry of the learners by name: one row each, from which all other lists are derived.

A learner's class is imported when it is first needed, so listing them costs nothing.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, cast

from keyhole.problem import Learner, Problem, ProblemError, nearest
from keyhole.problem.display import html_table
from keyhole.problem.state import StatefulLearner

Group = Literal["recommended", "paper", "literature", "baseline", "reference"]
Treatment = Literal["by price", "any reads", "reads nothing", "reads all", "refuses"]
Memory = Literal["O(1)", "O(budget^2)", "O(d)", "O(d^2)", "O(d^k)"]


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
    memory
        How what it keeps grows. Those with O(d^2) and O(d^k) are for thousands of features at most,
        or for tens; what does not fit they refuse before they allocate it.
    within_labels
        Whether its predictions stay within the range of the labels so far.
    sparse
        Whether its models have at most k features; if not, they have at most the budget.
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
    memory: Memory = "O(d^2)"
    within_labels: bool = True
    sparse: bool = True
    learns_by: int | None = None

    @property
    def promises(self) -> dict[str, Any]:
        """What it says of itself that conformance checks: `testing.learner_checks(**promises)`."""
        names = ("learns_by", "prices", "within_labels", "sparse")
        return {name: getattr(self, name) for name in names}

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


CLIP_SETTINGS: Mapping[str, Any] = {"clip": True}  # predictions within the range of labels so far
HORIZON_SETTINGS: Mapping[str, Any] = {"horizon": 100_000}  # the T of the printed algorithms

# What several rows share; a row may override it.
_blind = partial(LearnerRow, group="baseline", prices="reads nothing", memory="O(1)")
_literature = partial(
    LearnerRow, group="literature", settings=CLIP_SETTINGS, has_intercept=False, memory="O(d)"
)
_printed = partial(
    LearnerRow,
    group="paper",
    settings=HORIZON_SETTINGS,
    preset="as_printed",
    has_intercept=False,
    prices="refuses",
    within_labels=False,
)
_reference = partial(LearnerRow, group="reference", reads_everything=True, prices="reads all")

_ROWS = (
    LearnerRow(
        "auto",
        "auto:AutoLearner",
        "The one to use: needs no noise level, horizon, scale or constant.",
        "recommended",
        compared=True,
        prices="by price",
        learns_by=256,
        memory="O(d)",
    ),
    _blind(
        "zero",
        "baselines:Zero",
        "Reads nothing and predicts 0.",
        has_intercept=False,
        within_labels=False,
    ),
    _blind(
        "mean",
        "baselines:RunningMean",
        "Reads nothing and predicts the mean of the labels so far; every learner should beat it.",
    ),
    _blind(
        "last-value",
        "baselines:LastValue",
        "Reads nothing and predicts the last label; hard to beat if labels change slowly.",
    ),
    LearnerRow(
        "fixed",
        "baselines:FixedSubset",
        "Buys the same features every round and fits online ridge regression (VAW) to them.",
        "baseline",
        settings=CLIP_SETTINGS,
        prices="by price",
        memory="O(budget^2)",
    ),
    LearnerRow(
        "random",
        "baselines:RandomSubset",
        "Buys the same random subset of `budget` features every round.",
        "baseline",
        settings=CLIP_SETTINGS,
        compared=True,
        prices="by price",
        memory="O(budget^2)",
        sparse=False,
    ),
    _reference(
        "full",
        "baselines:FullInformation",
        "Buys everything: what a learner could do if features were free.",
        settings=CLIP_SETTINGS,
        compared=True,
        learns_by=64,
        sparse=False,
    ),
    LearnerRow(
        "dantzig",
        "dantzig:DantzigLearner",
        "Algorithm 1, with a noise level and a constant C that suit labels of about unit size.",
        "paper",
        settings={"noise_sd": 1.0, "threshold_scale": 0.02, "clip": True},
        has_intercept=False,
        learns_by=4096,
    ),
    _printed(
        "dantzig-printed",
        "dantzig:DantzigLearner",
        "Algorithm 1 as printed, for 100,000 rounds; predicts 0 for most of them.",
    ),
    LearnerRow(
        "dantzig-data",
        "practical_dantzig:PracticalDantzig",
        "Algorithm 1 with every constant estimated from the data.",
        "paper",
        learns_by=128,
    ),
    LearnerRow(
        "online-greedy",
        "online_greedy:OnlineGreedyLearner",
        "Algorithm 2 for practical use: needs no horizon and no bounds.",
        "paper",
        settings=CLIP_SETTINGS,
        has_intercept=False,
        compared=True,
        prices="by price",
        learns_by=512,
        sparse=False,
    ),
    _printed(
        "online-greedy-printed",
        "online_greedy:OnlineGreedyLearner",
        "Algorithm 2 as printed, with the theorem's sizes for 100,000 rounds.",
        sparse=False,
    ),
    _literature(
        "dual-averaging",
        "dual_averaging:DualAveragingLearner",
        "Dual averaging of estimated gradients; plays the k largest weights.",
        learns_by=128,
    ),
    _literature(
        "iht",
        "hard_thresholding:HardThresholdingLearner",
        "Iterative hard thresholding: gradient steps on partial reads, cut back to k features.",
        learns_by=256,
    ),
    _literature(
        "iht-hybrid",
        "hard_thresholding:HardThresholdingLearner",
        "Hard thresholding that refits the model on its features between searches.",
        settings={"hybrid": True, "clip": True},
        learns_by=256,
    ),
    _literature(
        "aerr",
        "attribute_efficient:AERRLearner",
        "Attribute-efficient ridge regression: projected steps along estimated gradients.",
        learns_by=1024,
    ),
    _literature(
        "ddaerr",
        "attribute_efficient:AERRLearner",
        "AERR that samples features by their measured second moments.",
        settings={"data_dependent": True, "clip": True},
        learns_by=1024,
    ),
    _literature(
        "aelr",
        "attribute_efficient:AELRLearner",
        "Attribute-efficient lasso regression: EG+- on the l1 ball with estimated gradients.",
        learns_by=1024,
    ),
    _literature(
        "ddaelr",
        "attribute_efficient:AELRLearner",
        "AELR that samples features by their measured second moments.",
        settings={"data_dependent": True, "clip": True},
        learns_by=512,
    ),
    _literature(
        "subset-experts",
        "subset_experts:SubsetExpertsLearner",
        "Every k-subset of the features is an expert; one of them plays each round.",
        memory="O(d^k)",
        learns_by=512,
    ),
    _literature(
        "ds-poslrc",
        "ds_poslrc:DSPOSLRCLearner",
        "Plays the k largest weights of a Dantzig program and explores the other features.",
        learns_by=256,
        memory="O(d^2)",
    ),
    _literature(
        "ds-oslrc",
        "ds_oslrc:DSOSLRCLearner",
        "Explores in rounds 1, 4, 9, ...; online Newton steps on the chosen features otherwise.",
        learns_by=256,
        memory="O(d^2)",
    ),
    LearnerRow(
        "explore-commit",
        "explore_commit:ExploreThenCommitLearner",
        "Reads random features at first, then commits to k chosen by orthogonal matching pursuit.",
        "literature",
        prices="by price",
        learns_by=256,
    ),
    LearnerRow(
        "epsilon-greedy",
        "epsilon_greedy:EpsilonGreedyLearner",
        "Reads the features most correlated with the label, sometimes others; plays the best k.",
        "literature",
        prices="by price",
        learns_by=128,
    ),
    _reference(
        "online-lasso",
        "online_lasso:OnlineLassoLearner",
        "Reads everything and plays the lasso of all rows so far.",
        settings=CLIP_SETTINGS,
        learns_by=128,
        sparse=False,
    ),
    _reference(
        "online-omp",
        "online_omp:OnlineOMPLearner",
        "Reads everything and fits the k features of forward selection.",
        learns_by=64,
    ),
)


class Learners(dict[str, LearnerRow]):
    """The learners by name, shown as a list of names."""

    def __repr__(self) -> str:
        return f"<{len(self)} learners: {', '.join(self)}>"

    def _repr_html_(self) -> str:
        rows = [(name, row.group, row.summary) for name, row in self.items()]
        return html_table("Learners", rows, ("name", "group", "what it is"))


LEARNERS = Learners({row.name: row for row in _ROWS})

# Those that choose among very many features, with a few numbers for each.
LINEAR_MEMORY_LEARNERS = tuple(row.name for row in _ROWS if row.memory == "O(d)")

# Classes that are made around another learner, and by no name; with the module of each.
WRAPPER_MODULES = {"YesNoLearner": "yes_no"}


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
    if name in WRAPPER_MODULES:
        found = getattr(importlib.import_module(f"keyhole.learners.{WRAPPER_MODULES[name]}"), name)
        return cast(type[StatefulLearner], found)
    return None
