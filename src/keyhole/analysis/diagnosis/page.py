"""The page of a diagnosis: findings, guarantees and a recommendation, as text and HTML."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from keyhole.analysis.findings import COPED_WITH, listed, paragraph
from keyhole.analysis.findings import Finding as Finding
from keyhole.analysis.findings import Severity as Severity
from keyhole.problem import Interval, Problem
from keyhole.problem.display import counted, html_table

Verdict = Literal["fails", "open", "not refuted"]
NO_PROMISE = (
    "A guarantee that does not apply does not mean that the learner fails, only that nobody has "
    "promised it."
)
VERDICT_WORDS = {"fails": "does not apply", "open": "cannot be told", "not refuted": "may apply"}


@dataclass(frozen=True, slots=True)
class Guarantee:
    """Whether a theorem of the paper can be relied on. There is no verdict "holds": its
    assumptions on labels and on every prefix of the stream cannot be proven from data."""

    algorithm: str
    label: str
    verdict: Verdict
    why: str


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A learner by its name in LEARNERS, its parameters, how to make it, and the reason."""

    learner: str
    parameters: tuple[tuple[str, float], ...]
    code: str
    why: str


@dataclass(frozen=True, slots=True)
class Fit:
    """Shares of the label's variance: by the best k features found, by all; and those features."""

    sparse: float
    full: float
    features: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Does the data fit, and what to expect; print it.

    Parameters
    ----------
    problem
        Features, sparsity, budget.
    rounds
        Rows that were looked at.
    partial
        Whether only what a learner bought was seen. Everything is an estimate then.
    findings
        What is unusual about the columns and the label, and what to do.
    drop
        Features that add nothing: constant, copies, computed from others.
    rip
        epsilon of `definition:RIP` at sparsity `rip_sparsity` (3k, or all features if fewer), after
        centring, scaling and dropping.
    condition
        The restricted condition number at sparsity k, likewise.
    pair_views
        How often two given features are read together over the stream by uniform exploration.
    enough
        The least budget at which that is 100 times; None if no budget is enough.
    fit
        How well linear models do; None for partially seen rows.
    guarantees, recommendation
        What theory says, and what to use.
    proper
        What to use if one model of k features is needed, chosen before an example is seen; None if
        pairs of features are read together too rarely for that.
    """

    problem: Problem
    rounds: int
    partial: bool
    findings: tuple[Finding, ...]
    drop: tuple[int, ...]
    rip: Interval
    rip_sparsity: int
    condition: Interval
    pair_views: float
    enough: int | None
    fit: Fit | None
    guarantees: tuple[Guarantee, ...]
    recommendation: Recommendation
    proper: Recommendation | None

    def __repr__(self) -> str:
        rows, found = counted(self.rounds, "row"), counted(len(self.findings), "finding")
        return f"<Diagnosis of {rows}: {found}, use {self.recommendation.code}>"

    def _repr_html_(self) -> str:
        rows = [(finding.what, finding.do) for finding in self.findings]
        rows.append((self.recommendation.why, f"Use {self.recommendation.code}"))
        title = f"Does this stream fit? {counted(self.rounds, 'row')}, {self.problem.d:,} features"
        return html_table(title, rows, ("finding", "what to do"))

    def __str__(self) -> str:
        return self.page()

    def page(self, *, everything: bool = False, typed: bool = False) -> str:
        """The page; with every finding, or without those that AutoLearner copes with by itself.

        `typed`: for somebody at a terminal, who has options.
        """
        to_do = self._to_do(everything, typed)
        return "\n".join([*self._head(), *to_do, *self._expected(), *self._theory()])

    def _head(self) -> list[str]:
        p = self.problem
        seen = "every value of every row"
        if self.partial:
            seen = "only what a learner bought: every number below is an estimate"
        return [
            "DOES THIS STREAM FIT?",
            f"{self.rounds:,} rounds, {p.d} features; models of {p.k}, {p.budget} read per example",
            f"Looked at: {seen}.",
        ]

    def _to_do(self, everything: bool, typed: bool) -> list[str]:
        shown = [f for f in self.findings if everything or f.severity != COPED_WITH]
        folded = len(self.findings) - len(shown)
        lines = ["", "WHAT TO DO FIRST"]
        if not shown:
            lines.append("Nothing: the columns look as they should.")
        for number, finding in enumerate(shown, start=1):
            lines += paragraph(f"{number}. {finding.words(typed=typed)}", indent=3)
        if folded:
            more = f"{counted(folded, 'more finding') if shown else counted(folded, 'finding')}"
            where = "--all shows" if typed else "`findings` has"
            it = "it" if folded == 1 else "them"
            lines.append(f"({more} that the learner copes with by itself: {where} {it}.)")
        return lines

    @property
    def outlook(self) -> tuple[str, ...]:
        """What to expect, a paragraph each."""
        p, explore = self.problem, self.problem.exploration
        every = self.rounds / self.pair_views if self.pair_views else math.inf
        text = f"With {explore} of {p.d} features drawn at random per round, two given features "
        if self.pair_views:
            text += (
                f"are read together about {count(self.pair_views)} times (once in "
                f"{count(every)} rounds): their correlation gets known to about "
                f"±{1 / math.sqrt(self.pair_views):.2g}."
            )
        else:
            text += "are never read together: no correlation can be learnt."
        if self.pair_views < 100:
            text += (
                f" That is little. For 100 times, raise the budget to {self.enough}."
                if self.enough
                else " That is little, and the stream is too short for 100 times at any budget."
            )
        if self.fit is None:
            return (text,)
        best = listed([p.label(j) for j in self.fit.features])
        whose = f"The best {p.k} features found explain"
        if p.k == 1:
            whose = "The best feature found explains"
        fit = (
            f"{whose} {self.fit.sparse:.0%} of the label's variance, all features together "
            f"{self.fit.full:.0%}. {'It is' if p.k == 1 else 'They are'}: {best}."
        )
        return text, fit

    @property
    def measured(self) -> str:
        """What the guarantees are judged by."""
        after = f" after dropping {counted(len(self.drop), 'column')}" if self.drop else ""
        return (
            f"Measured on centred and scaled columns{after}: isometry constant at "
            f"{self.rip_sparsity} features {ends(self.rip)} (0 is perfect, 1 or more hopeless), "
            f"condition number at {self.problem.k} features {ends(self.condition)} (1 is perfect)."
        )

    def _expected(self) -> list[str]:
        lines = ["", "WHAT TO EXPECT"]
        return lines + [line for text in self.outlook for line in paragraph(text)]

    def _theory(self) -> list[str]:
        lines = ["", "WHICH GUARANTEES APPLY", *paragraph(self.measured)]
        for g in self.guarantees:
            lines += paragraph(
                f"- {g.algorithm} ({g.label}) {VERDICT_WORDS[g.verdict].upper()}. {g.why}", 2
            )
        lines += paragraph(NO_PROMISE)
        lines += ["", "RECOMMENDED"]
        for advice in (self.recommendation, self.proper):
            if advice is not None:
                lines += [*paragraph(advice.why), f"    {advice.code}"]
        return lines


def count(number: float) -> str:
    """A number of times, as people say it: 1,234 or 0.3."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def ends(interval: Interval) -> str:
    """An interval in words.

    >>> ends(Interval(0.5, 0.5, "")), ends(Interval(0.5, math.inf, "")), ends(Interval(1, 2, ""))
    ('0.5', 'at least 0.5', 'between 1 and 2')
    """
    if f"{interval.low:.3g}" == f"{interval.high:.3g}":
        return "infinite" if math.isinf(interval.low) else f"{interval.low:.3g}"
    if math.isinf(interval.high):
        return f"at least {interval.low:.3g}"
    return f"between {interval.low:.3g} and {interval.high:.3g}"
