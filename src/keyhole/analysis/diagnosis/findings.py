"""What is unusual about the columns and the label, and what to do about it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from keyhole.analysis.diagnosis.page import Finding, count, listed
from keyhole.learners.blocks.sums.column_sums import ColumnFacts
from keyhole.learners.blocks.sums.redundancy import Dependence
from keyhole.learners.blocks.sums.second_moments import SecondMoments
from keyhole.problem import Floats, Problem
from keyhole.problem.display import counted

ALIKE = 0.95  # correlation from which two features are hard to tell apart
HEAVY = 30.0  # kurtosis; a Gaussian has 3, an exponential variable 9


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """Everything that is judged: moments without means, and what else was seen."""

    problem: Problem
    rounds: int
    centred: SecondMoments
    b: Floats  # E (x - mean)(y - mean)
    variance: float
    y_mean: float
    y_range: tuple[float, float] | None
    columns: ColumnFacts | None
    mean: Floats
    codes: Mapping[int, Mapping[float, int]] = field(default_factory=dict)  # at d: of the label


def findings(facts: Facts, parts: Dependence) -> list[Finding]:
    """What is unusual, most harmful first."""
    names = facts.problem.label
    found: list[Finding] = []
    if len(parts.constant):
        these = tuple(parts.constant.tolist())
        what = f"Drop columns that never change: {_list(facts, these)}."
        found.append(Finding("They carry no information.", what, these, "worth mending"))
    if parts.copies:
        pairs = [f"{names(j)} (repeats {names(i)})" for j, i in parts.copies]
        what = f"Drop copies: {listed(pairs, 4)}."
        why = "A copy makes the isometry fail and splits the weight."
        these = tuple(j for j, _ in parts.copies)
        found.append(Finding(why, what, these, "worth mending"))
    if len(parts.computed):
        these = tuple(parts.computed.tolist())
        what = f"Drop columns that others determine: {_list(facts, these)}."
        why = "They are sums and differences of earlier columns (one-hot groups, totals)."
        found.append(Finding(why, what, these, "good to know"))
    found += _codes(facts)
    found += _alike(facts, parts)
    found += _ranges(facts)
    return found + _labels(facts)


def _codes(facts: Facts) -> list[Finding]:
    """Numbers that most likely mean that a value is not known."""
    if not facts.codes:
        return []
    told = [
        f"{facts.problem.label(j) if j < facts.problem.d else 'the label'} "
        f"{' and '.join(f'{c:g} ({n:,} times)' for c, n in codes.items())}"
        for j, codes in facts.codes.items()
    ]
    why = "Far outside of all other values, and often: most likely codes for missing."
    do = f"Leave out what means no value (--missing auto, or missing='auto'): {listed(told, 4)}."
    features = tuple(j for j in facts.codes if j < facts.problem.d)
    return [Finding(why, do, features, "serious")]


def _list(facts: Facts, features: Sequence[int] | NDArray[np.int64]) -> str:
    return listed([facts.problem.label(int(j)) for j in features])


def _alike(facts: Facts, parts: Dependence) -> list[Finding]:
    """Pairs that are nearly the same feature."""
    kept = parts.kept
    if len(kept) < 2:
        return []
    C = facts.centred.scaled().G[np.ix_(kept, kept)]
    i, j = np.triu_indices(len(kept), 1)
    sizes = np.abs(C[i, j])
    order = np.argsort(-sizes, kind="stable")[: int((sizes >= ALIKE).sum())]
    if not len(order):
        return []
    names = facts.problem.label
    first = [
        f"{names(int(kept[i[p]]))} and {names(int(kept[j[p]]))} ({C[i[p], j[p]]:.3f})"
        for p in order[:3]
    ]
    features = sorted({int(kept[p]) for p in np.concatenate([i[order], j[order]])})
    what = (
        f"With a correlation of {ALIKE} or more: {counted(len(order), 'pair')}, first "
        f"{listed(first, 3)}. Learners find one or the other: judge by loss, not by which columns "
        "were found."
    )
    return [Finding(what, "Keep one of features that say the same.", tuple(features))]


def _ranges(facts: Facts) -> list[Finding]:
    """Means, scales, tails and gaps of the columns."""
    columns, found = facts.columns, []
    sd = np.sqrt(np.maximum(np.diag(facts.centred.G), 0.0))
    alive = sd > 0.0
    off = np.flatnonzero(alive & (np.abs(facts.mean) > sd))
    unlike = alive.any() and sd[alive].max() > 2 * sd[alive].min()
    wide = np.zeros(len(sd), dtype=bool) if columns is None else _outside(columns)
    if len(off) or unlike or wide.any():
        why = []
        if len(off):
            why.append(f"means more than a standard deviation from 0: {len(off)}")
        if unlike:
            why.append(f"standard deviations go from {count(sd[alive].min())} to {count(sd.max())}")
        if wide.any():
            why.append(f"columns with values beyond 1 in size: {int(wide.sum())}")
        do = "Standardise: subtract each column's mean, divide by its standard deviation."
        found.append(Finding(_sentence(why), do, tuple(np.flatnonzero(wide).tolist())))
    if columns is None:
        return found
    heavy = np.flatnonzero((columns.kurtosis > HEAVY) & ~columns.binary)
    if len(heavy):
        heavy = heavy[np.argsort(-columns.kurtosis[heavy], kind="stable")]
        rare = f"Rare huge values (kurtosis above {HEAVY:g}): {counted(len(heavy), 'column')}."
        do = f"Take logarithms of, or clip at a few standard deviations: {_list(facts, heavy)}."
        found.append(Finding(rare, do, tuple(heavy.tolist()), "worth mending"))
    gaps = np.flatnonzero(columns.absent > 0)
    if len(gaps):
        what = f"Up to {columns.absent.max():.0%} of a column is missing; it is left out, never 0."
        do = f"Know the gaps: {_list(facts, gaps)}."
        found.append(Finding(what, do, tuple(gaps.tolist())))
    return found


def _outside(columns: ColumnFacts) -> NDArray[np.bool_]:
    return (columns.low < -1.0) | (columns.high > 1.0)


def _sentence(parts: list[str]) -> str:
    text = "; ".join(parts) + "."
    return text[0].upper() + text[1:]


def _labels(facts: Facts) -> list[Finding]:
    """Range and centre of the label."""
    sd, why = math.sqrt(facts.variance), []
    if sd == 0.0:
        do = "Nothing to learn: the label is constant."
        return [Finding("It never changes.", do, (), "serious")]
    if abs(facts.y_mean) > 0.2 * sd:
        why.append(f"its mean is {facts.y_mean:.3g} at a standard deviation of {sd:.3g}")
    if facts.y_range is not None and max(map(abs, facts.y_range)) > 1.0:
        why.append(f"it runs from {facts.y_range[0]:.4g} to {facts.y_range[1]:.4g}")
    if not why:
        return []
    do = f"Centre the label and divide it by its standard deviation, {sd:.3g}."
    return [Finding(_sentence(why), do)]
