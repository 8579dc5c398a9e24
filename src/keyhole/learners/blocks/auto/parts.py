"""What AutoLearner is put together from, and what of it follows from the problem."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from keyhole.core.numbers import log
from keyhole.errors import shortened
from keyhole.learners.blocks.auto.chain import chain_memory
from keyhole.learners.blocks.auto.experts import EXPERTS, ExpertKind
from keyhole.learners.blocks.shapes.trees import DEEPEST
from keyhole.problem import (
    DataError,
    Problem,
    ProblemError,
    positive_number,
    real_number,
    real_numbers,
    whole_number,
)

DENSE = 1024  # features, up to which pairs of all are known
ACTIVE, PER_READ = 256, 8  # beyond: how many at least, and for each that is read
FARTHEST = 100.0  # a kink: predictions are never so far out, and squares must not overflow


class Sizes(NamedTuple):
    """Shares of a budget, and the standard errors that make a feature significant."""

    pool: int
    slots: int
    net: int
    threshold: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoParts:
    """What AutoLearner is put together from. The defaults are the learner as it was measured.

    Parameters
    ----------
    taus
        How many rounds each memory looks back, the longest first; math.inf: all.
    experts
        The kinds of experts that are mixed: `AutoParts().experts` with some left out, or more.
    pool
        How many features are kept at most. None: as many as the budget buys.
    slots
        How many features the safety net plays; 0: no net. None: a twelfth of the budget, none
        below a budget of 12, where it takes more than it is worth; half of `net` if that is given.
    net
        How many features the safety net reads in all. None: twice its slots, or all features where
        all are read.
    threshold
        Standard errors that make a feature significant. None: sqrt(2 ln d).
    bolder
        Standard errors by which it is lower for memories that forget.
    optimism
        Standard errors by which exploration lets a correlation be off.
    far
        Times its largest value so far: beyond that a value is cut off before it is used to predict.
        A value beyond what was seen by .75 times this and the range is implausible.
    shortest, longest, growth
        A batch that begins after t rounds has t // growth rounds, from `shortest` to `longest`.
    bold
        The prior weight of the bold average; the experts share the rest.
    kinks
        Where the last layer may bend a prediction, in units of how far predictions are from the
        mean label as a rule, from -100 to 100. (): a straight line; None: predictions are left as
        they are.
    layer_memory
        How many rounds the last layer looks back.
    active
        How many features the memories know pairs of: what is chosen and played is chosen among
        them. At least as many as are read. None: all of them up to 1,024 features; beyond, eight
        times as many as are read, at least 256.
    ring
        How many of the rows told last are kept: shapes are fitted to them, and a wrong value or
        label among them can be corrected.
    trees, depth
        How many trees shapes have, and how many levels each of them.

    Examples
    --------
    >>> short = AutoParts(taus=(1024.0, 64.0), threshold=2.5)
    >>> short.sizes(Problem(d=100, k=4, budget=24))
    Sizes(pool=24, slots=2, net=4, threshold=2.5)
    >>> without = tuple(kind for kind in EXPERTS if kind.features != "everything")
    >>> len(AutoParts(experts=without).experts)
    5
    """

    taus: tuple[float, ...] = (math.inf, 1024.0, 64.0)
    experts: tuple[ExpertKind, ...] = EXPERTS
    pool: int | None = None
    slots: int | None = None
    net: int | None = None
    threshold: float | None = None
    bolder: float = 0.8
    optimism: float = 0.35
    far: float = 2.0
    shortest: int = 4
    longest: int = 16
    growth: int = 64
    bold: float = 0.9
    kinks: tuple[float, ...] | None = (-1.2, -0.4, 0.4, 1.2)
    layer_memory: float = 2000.0
    active: int | None = None
    ring: int = 2048
    trees: int = 64
    depth: int = 3

    def __post_init__(self) -> None:
        checked: dict[str, object] = {"taus": _taus(self.taus), "experts": _kinds(self.experts)}
        for name, least in (("pool", 1), ("slots", 0), ("net", 0), ("active", 1)):
            given = getattr(self, name)
            checked[name] = None if given is None else whole_number(name, given, least)
        for name, floor in (("threshold", 0.0), ("bolder", -math.inf), ("optimism", 0.0)):
            given = getattr(self, name)
            checked[name] = None if given is None else real_number(name, given, floor)
        checked["far"] = real_number("far", self.far, 1.0)
        checked["shortest"] = whole_number("shortest", self.shortest, 1)
        checked["longest"] = whole_number("longest", self.longest, self.shortest)
        checked["ring"] = whole_number("ring", self.ring, 0)
        checked["growth"] = whole_number("growth", self.growth, 1)
        checked["bold"] = real_number("bold", self.bold, 0.0, 1.0)
        if checked["bold"] == 1.0:
            raise ProblemError("bold must be below 1, or no single expert is heard; got 1")
        checked["kinks"] = None if self.kinks is None else _kinks(self.kinks)
        checked["layer_memory"] = positive_number("layer_memory", self.layer_memory)
        checked["trees"] = whole_number("trees", self.trees, 1)
        checked["depth"] = whole_number("depth", self.depth, 1)
        if self.depth > DEEPEST:
            raise ProblemError(
                f"depth must be at most {DEEPEST} levels of a tree, got {self.depth}"
            )
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def memory(self, problem: Problem) -> float:
        """About how many bytes memories, a batch, the last layer, the ring and shapes take."""
        layer = 0 if self.kinks is None else len(self.kinks)
        batch = float(self.longest) * (problem.width + 1)
        seats = self.seats(problem)
        resting = problem.d if seats < problem.d else 0
        pairs, singles = len(self.taus) * (seats + 1.0) ** 2, (4.0 * len(self.taus) + 2.0) * resting
        told = self.ring * (1.5 * problem.width + 4.0)
        numbers = pairs + singles + batch + 3.0 * layer**2 + told
        return 8.0 * numbers + chain_memory(problem.width, self.ring, self.trees, self.depth)

    def seats(self, problem: Problem) -> int:
        """How many features the memories know pairs of; d if all of them.

        >>> AutoParts().seats(Problem(d=20, k=2, budget=8))
        20
        >>> AutoParts().seats(Problem(d=100_000, k=4, budget=50))
        400
        """
        width = problem.width
        if self.active is None:
            return (
                problem.d if problem.d <= DENSE else min(problem.d, max(ACTIVE, PER_READ * width))
            )
        if self.active < width:
            raise ProblemError(
                f"active must be at least {width}, the features that are read, got {self.active}"
            )
        return min(problem.d, self.active)

    def sizes(self, problem: Problem, counted: bool | None = None) -> Sizes:
        """Who gets how much of a budget: what is given, and what follows from the rest.

        From a budget of 12 features on the net gets a sixth, of which half plays and half reads
        uniformly. What is kept, and what explores, is decided before every batch. Where features
        differ in price, or a purse or an exchange rate is given (`counted` is False), there is no
        net.

        >>> AutoParts().sizes(Problem(d=48, k=1, budget=24))[:3]
        (24, 2, 4)
        >>> AutoParts().sizes(Problem(d=48, k=1, budget=6))[:3]
        (6, 0, 0)
        """
        d, width = problem.d, problem.width
        slots, net, pool, threshold = self.slots, self.net, self.pool, self.threshold
        if threshold is None:
            threshold = math.sqrt(2.0 * log(max(d, 2)))
        if not (problem.counted if counted is None else counted):
            for name, given in (("pool", pool), ("slots", slots), ("net", net)):
                if given is not None:
                    raise ProblemError(
                        f"{name} counts features, and with prices the money decides: leave "
                        f"{name}={given} out of the parts"
                    )
            return Sizes(width, 0, 0, threshold)
        if slots is None:
            slots = width // 12 if net is None else (net + 1) // 2
        if net is None:
            net = 2 * slots if width < d else d if slots else 0
        most = width if width == d else width - 1  # one is left to be kept
        if not (slots <= net <= most and (slots > 0 or net == 0)):
            raise ProblemError(
                f"the safety net plays slots={slots} of the net={net} features it reads: with "
                f"budget {width} it needs slots <= net <= {most}, and net=0 with slots=0"
            )
        most = width if width == d else width - net
        if pool is not None and pool > most:
            raise ProblemError(
                f"pool must be at most {most}, what the safety net (net={net}) leaves of the "
                f"budget {width}, got {pool}"
            )
        return Sizes(width if pool is None else pool, slots, net, threshold)


def _numbers(values: Sequence[float]) -> tuple[float, ...]:
    """A list of numbers as floats; (nan,) for anything else."""
    try:
        array = real_numbers("parts", values)
    except DataError:
        return (math.nan,)
    return tuple(array.tolist()) if array.ndim == 1 else (math.nan,)


def _taus(taus: Sequence[float]) -> tuple[float, ...]:
    spans = _numbers(taus)
    falling = all(a > b for a, b in itertools.pairwise(spans))
    if not (spans and falling and spans[-1] > 0.0):
        raise ProblemError(
            "taus must be positive numbers of rounds, the longest first and no two alike, "
            f"got {shortened(taus)}"
        )
    return spans


def _kinds(experts: Sequence[ExpertKind]) -> tuple[ExpertKind, ...]:
    kinds = tuple(experts) if isinstance(experts, list | tuple) else ()
    if not (kinds and all(isinstance(kind, ExpertKind) for kind in kinds)):
        raise ProblemError(
            f"experts must be a tuple of kinds of experts, such as AutoParts().experts, "
            f"got {experts!r}"
        )
    return kinds


def _kinks(kinks: Sequence[float]) -> tuple[float, ...]:
    places = _numbers(kinks)
    if not all(abs(kink) <= FARTHEST for kink in places):
        raise ProblemError(
            f"kinks must be numbers from -{FARTHEST:g} to {FARTHEST:g}, or None for no layer, "
            f"got {shortened(kinks)}"
        )
    return places


USUAL = AutoParts()
