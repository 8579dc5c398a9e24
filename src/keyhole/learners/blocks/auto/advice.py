"""Advice while a learner plays: what features are worth, what fewer or more do, what changed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from keyhole.learners.blocks.auto.joint_fit import Joint, least_missed, lost_without
from keyhole.problem.display import counted

SURE = 2.0  # standard errors that make a difference
CLEAR = 0.5  # what the longest memory must lose more of late to say that something changes
SAID_OF_STEPS = 0.05  # the share that must stop after a step for it to be named
TOO_LITTLE = 0.0005  # of the variance: 0.0 % as it is printed
CANNOT_TELL = (
    "What more features would bring cannot be told from what was read of them: `keyhole advise "
    "FILE` tells it from examples that are known in full."
)


@dataclass(frozen=True, slots=True)
class Worth:
    """A feature that is kept: what is lost without it, as a share of the label's variance.

    The other kept features are fitted anew for that. `error` is the standard error of `lost`.
    `saves` is how much less the kept features cost without it: nothing if it is free, or if another
    one needs all that it needs. None without prices.
    """

    name: str
    weight: float
    lost: float
    error: float
    saves: float | None = None

    @property
    def per_money(self) -> float:
        """What is lost for each unit of money saved; infinite where nothing is saved."""
        return self.lost / self.saves if self.saves else math.inf


@dataclass(frozen=True, slots=True)
class Fewer:
    """The best so many of the kept features: the share of the variance they explain, its error.

    The error is that of the difference to all kept features together. With no feature left, that
    is the error of what all of them explain. `cost` is what they cost per example; None without
    prices.
    """

    features: tuple[str, ...]
    explained: float
    error: float
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class More:
    """The best so many of the features that are not kept, and what they would add to the kept ones.

    As shares of the label's variance, `most` at most, to two standard errors, and `least` at least,
    0 where that may be chance. Two that help only together may add more than `most`.
    """

    count: int
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class StepLine:
    """A step of examples that are bought step by step: the items that it buys.

    `goes_on` is the share of the examples that got so far for which going on was worth its price,
    fading; None where that is not known, and at the last step. `error` is the squared error of
    predictions after it, of all that got so far: of later steps those are fewer, harder, and longer
    ago. None before there were any.
    """

    items: tuple[str, ...]
    goes_on: float | None
    error: float | None

    def __str__(self) -> str:
        what = ", ".join(self.items) or "what is free"
        known = "" if self.error is None else f"   squared error {self.error:.3g} after it"
        return f"{what}{known}{'' if self.goes_on is None else f'   {self.goes_on:.0%} go on'}"


@dataclass(frozen=True, slots=True)
class Advice:
    """What to stop buying, what fewer or more features would do, whether something changed lately.

    Attributes
    ----------
    round
        How many rounds were asked so far.
    told
        How many labels were learnt from; those of a batch count when it is over.
    kept
        The features worth their price so far, the most valuable first; with prices, those first
        that bring most for the money they cost beside the others.
    fewer
        All kept features, then one less, and so on: each time the one that is missed least goes.
    searching
        How many of the features bought for an example now are not kept: they look for better ones.
    leader, since, ahead
        The memory whose kept features predicted best of late, after how many labels it took the
        lead, and by how much more, as a share, the longest memory lost of late. A memory that
        forgets may lead on a steady stream, too, by much where data are wide and it found a feature
        first: `changed` says whether something changed.
    contradicted
        Whether the leading memory has other weights for the same features than the longest, by more
        than chance explains. It is looked at only where the longest is far behind.
    waiting, oldest
        Open tickets, and how many rounds ago the oldest was asked.
    more
        What 1, 2, 4, ... more kept features would add, up to as many as are kept; not where all
        that can be said is that it is no more than is left. It is about features that enough was
        read of.
    untold
        Of how many features that are not kept too little was read to say.
    set_aside, misled
        How many rows of history were set aside, because what was learnt from them predicted far
        worse than the mean of the labels, and after how many labels, told since they were studied,
        that was found out. 0 where there was none, or it did not mislead.
    steps
        The steps of the current batch, where examples are bought step by step.
    budget
        What may be spent on an example; None without prices. The kept features may cost more
        together: not all of them are bought for one example then.

    Examples
    --------
    >>> age, bmi = Worth("age", 0.5, 0.31, 0.02), Worth("bmi", 0.01, 0.001, 0.001)
    >>> both, one = Fewer(("age", "bmi"), 0.4, 0.0), Fewer(("age",), 0.399, 0.001)
    >>> fewer = (both, one, Fewer((), 0.0, 0.02))
    >>> print(Advice(500, 500, (age, bmi), fewer, 2, "all rounds", 0, 0.0, 0, 0))
    after 500 rounds:
      without age    31.0 % ± 2.0 % less of the variance is explained
      without bmi     0.1 % ± 0.1 % less of the variance is explained
    The 2 kept features explain 40 % ± 2 % of the variance.
    bmi could be left out: that costs nothing that can be told from chance.
    2 more are bought for each example to look for better ones.
    The memory of all rounds predicts best: nothing has changed that would matter.
    """

    round: int
    told: int
    kept: tuple[Worth, ...]
    fewer: tuple[Fewer, ...]
    searching: int
    leader: str
    since: int
    ahead: float
    waiting: int
    oldest: int
    more: tuple[More, ...] = ()
    untold: int = 0
    set_aside: int = 0
    misled: int = 0
    contradicted: bool = False
    steps: tuple[StepLine, ...] = ()
    budget: float | None = None

    @property
    def known(self) -> bool:
        """Whether what the kept features explain can be told from nothing."""
        if not self.fewer:
            return False
        return self.fewer[0].explained > SURE * self.fewer[-1].error

    def tells(self, worth: Worth) -> bool:
        """Whether what is lost without a feature is not anything from nothing to all there is."""
        if not self.known:
            return False
        low, high = worth.lost - SURE * worth.error, worth.lost + SURE * worth.error
        return low > 0.0 or high < self.fewer[0].explained

    @property
    def idle(self) -> tuple[str, ...]:
        """The features that could all be left out at a loss that may well be chance.

        None if that were all of them: then it is not known what they explain.
        """
        if not self.fewer:
            return ()
        most, enough = self.fewer[0], self.fewer[0]
        for fewer in self.fewer[1:]:
            if most.explained - fewer.explained > SURE * fewer.error:
                break
            enough = fewer
        if not enough.features:
            return ()
        return tuple(name for name in most.features if name not in enough.features)

    @property
    def changed(self) -> bool:
        """Whether what was learnt long ago misleads: it predicts far worse, and is contradicted."""
        return self.ahead > CLEAR and self.contradicted

    @property
    def sentences(self) -> tuple[str, ...]:
        """What follows from the figures, in words: the budget, changes, labels that are late."""
        if not self.kept:
            nothing = "Nothing is known to be useful yet, so no advice."
            known = self._larger() if self.more else []
            return (nothing, *known, *self._history(), *self._late())
        about = *self._budget(), *self._larger(), *self._steps(), self._change()
        return (*about, *self._history(), *self._late())

    def as_json(self) -> dict[str, Any]:
        """Everything, for machines."""
        told = {**asdict(self), "idle": list(self.idle), "changed": self.changed}
        if not self.steps:
            del told["steps"]
        told["known"] = self.known
        if self.budget is None:
            del told["budget"]
        for money, rows in (("saves", told["kept"]), ("cost", told["fewer"])):
            for row in rows:
                if row[money] is None:
                    del row[money]
        return told

    def __str__(self) -> str:
        wide = max((len(worth.name) for worth in self.kept), default=0)
        text = [f"after {counted(self.round, 'round')}:"]
        for worth in self.kept:
            about = "what would be lost is not known yet"
            if self.tells(worth):
                figures = f"{_percent(worth.lost, 1):>7} ± {_percent(worth.error, 1)}"
                about = f"{figures} less of the variance is explained"
            text.append(f"  without {worth.name:<{wide}}  {about}{_saved(worth)}")
        return "\n".join([*text, *self.sentences])

    def _budget(self) -> list[str]:
        """What the budget buys, and what could be saved."""
        text = [self._explained()]
        least = self.kept[-1]
        if not self.known:
            pass  # nor is it known what could be left out
        elif self.idle:
            text.append(
                f"{', '.join(self.idle)} could be left out: that costs nothing that can be told "
                f"from chance{self._money_saved()}."
            )
        elif not least.saves:
            least = min(reversed(self.kept), key=lambda worth: worth.lost)
            text.append(
                f"None can be left out for nothing; {least.name} is missed least "
                f"({_percent(least.lost, 1)} ± {_percent(least.error, 1)})."
            )
        else:
            text.append(
                f"None can be left out for nothing; {least.name} brings least for its money "
                f"({_percent(least.lost, 1)} ± {_percent(least.error, 1)} for {least.saves:,.10g})."
            )
        if self.searching:
            more = f"{self.searching} more {'is' if self.searching == 1 else 'are'} bought"
            text.append(f"{more} for each example to look for better ones.")
        return text

    def _explained(self) -> str:
        """What all kept features explain; where that may be nothing, no more than its limit."""
        many, error = len(self.kept), self.fewer[-1].error if self.fewer else 1.0
        who = "the only kept feature explains" if many == 1 else f"the {many} kept features explain"
        level = self.fewer[0].explained if self.fewer else 0.0
        if self.known:
            said = f"{_percent(level)} ± {_percent(error)} of the variance."
            return f"{who[0].upper()}{who[1:]} {said}"
        most = level + SURE * error
        limit = f": at most {_percent(most)} of the variance" if most < 1.0 else ""
        return f"What {who} is not known yet{limit}."

    def _larger(self) -> list[str]:
        """What more features would bring, as far as that can be told."""
        left = 1.0 - (self.fewer[0].explained if self.fewer else 0.0)
        more = [one for one in self.more if one.most < left]  # else nothing is said by it
        if not more:
            return [CANNOT_TELL] if self.untold or self.more else []
        said = f"One more kept feature would explain {_between(more[0])} more of the variance"
        if len(more) > 1:
            said += f", {more[-1].count} more {_between(more[-1])}"
        text = [f"{said}."]
        if self.untold:
            others = f"{counted(self.untold, 'other feature')} too little was read to say what"
            text.append(f"Of {others} {'it' if self.untold == 1 else 'they'} would add.")
        return text

    def _steps(self) -> list[str]:
        """After which step enough is known of most examples."""
        left, after = 1.0, list[str]()
        for step in self.steps:
            if step.goes_on is None:
                break
            stop, left = left * (1.0 - step.goes_on), left * step.goes_on
            if stop >= SAID_OF_STEPS:
                after.append(f"of {_percent(stop)} after {', '.join(step.items) or 'what is free'}")
        if not after:
            return []
        return [f"Step by step, enough is known {', '.join(after)}; {_percent(left)} go further."]

    def _money_saved(self) -> str:
        """What is saved by leaving out what is idle; nothing is said without prices.

        No more than the budget was spent on an example before.
        """
        before, after = self.fewer[0].cost, self.fewer[len(self.idle)].cost
        if before is None or after is None:
            return ""
        if self.budget is not None:
            before = min(before, self.budget)
        saved = max(round(before - after, 9), 0.0)
        return f", and saves {saved:,.10g} per example" if saved else ", but saves nothing"

    def _change(self) -> str:
        if self.ahead <= 0.0:
            return (
                f"The memory of {self.leader} predicts best: nothing has changed that would matter."
            )
        best = f"The memory of {self.leader} predicts best, since label {self.since:,}"
        behind = f"{_percent(self.ahead)} more of late"
        if self.changed:
            return (
                f"{best}; the longest memory loses {behind}: something changes, and what was "
                "learnt long ago misleads."
            )
        return f"{best}; the longest memory loses {behind}: no clear sign of a change."

    def _history(self) -> list[str]:
        if not self.set_aside:
            return []
        rows, labels = counted(self.set_aside, "row"), counted(self.misled, "label")
        return [
            f"The history of {rows} misled and was set aside after {labels}: what it taught "
            "predicted far worse than the mean of the labels."
        ]

    def _late(self) -> list[str]:
        if not self.waiting:
            return []
        missing = "1 label is" if self.waiting == 1 else f"{self.waiting:,} labels are"
        return [
            f"{missing} missing, the oldest for {counted(self.oldest, 'round')}: nothing is learnt "
            "from those examples until they come."
        ]


def _between(more: More) -> str:
    most = _percent(more.most, 1)
    return f"at most {most}" if more.least < TOO_LITTLE else f"{_percent(more.least, 1)} to {most}"


def _percent(share: float, digits: int = 0) -> str:
    return f"{100.0 * share:,.{digits}f} %"


def _saved(worth: Worth) -> str:
    if worth.saves is None:
        return ""
    return f", {worth.saves:,.10g} saved" if worth.saves else ", nothing saved"


def worths(
    fit: Joint, names: Sequence[str], cost: Callable[[Sequence[int]], float] | None = None
) -> tuple[tuple[Worth, ...], tuple[Fewer, ...]]:
    """What each feature of a fit is worth, and what fewer and fewer of them explain.

    `cost` is what some of the features, by their place among the names, cost together.

    >>> import numpy as np
    >>> from keyhole.learners.blocks.auto.joint_fit import joint_fit
    >>> from keyhole.learners.blocks.sums.memories import memories, remember
    >>> rng = np.random.default_rng(0)
    >>> X, kept = rng.standard_normal((400, 3)), memories(3, [np.inf])
    >>> remember(kept, np.arange(3), X, 2.0 * X[:, 0] + X[:, 2] + rng.standard_normal(400))
    >>> fit = joint_fit(kept, 0, np.arange(3), abs(X).max(axis=0), 6.0)
    >>> for worth in worths(fit, ["a", "b", "c"])[0]:
    ...     print(worth.name, round(worth.lost, 2), round(worth.error, 2))
    a 0.69 0.04
    c 0.14 0.02
    b 0.0 0.0
    """
    single = [lost_without(fit, [i]) for i in range(len(names))]
    every = range(len(names))

    def price(gone: Sequence[int]) -> float | None:
        return None if cost is None else cost([i for i in every if i not in gone])

    def saves(i: int) -> float | None:
        whole, without = price(()), price((i,))
        return None if whole is None or without is None else round(whole - without, 9)

    kept = [
        Worth(name, float(fit.weights[i]), *single[i], saves(i)) for i, name in enumerate(names)
    ]
    order = least_missed(fit)
    whole = lost_without(fit, order)[0]
    fewer = list[Fewer]()
    for gone in range(len(order) + 1):
        lost, error = lost_without(fit, order[:gone])
        some = tuple(name for i, name in enumerate(names) if i not in order[:gone])
        fewer.append(Fewer(some, max(whole - lost, 0.0), error, price(order[:gone])))
    ranked = sorted(kept, key=lambda worth: (-worth.per_money, -worth.lost))
    return tuple(ranked), tuple(fewer) if names else ()
