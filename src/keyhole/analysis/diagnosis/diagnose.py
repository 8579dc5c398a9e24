"""Diagnose a stream: findings about its columns and label, guarantees that apply, what to use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from keyhole import theory
from keyhole.analysis.conditions import restricted_condition_number, rip
from keyhole.analysis.diagnosis.page import (
    Diagnosis,
    Fit,
    Guarantee,
    Recommendation,
    count,
    ends,
)
from keyhole.analysis.exact.best_subset import best_subset
from keyhole.analysis.findings import Finding, listed
from keyhole.analysis.first_look import Codes, FirstLook, Giveaway, first_findings
from keyhole.learners.blocks.draw.sampling import inclusion_uniform
from keyhole.learners.blocks.sums.column_stats import (
    ColumnFacts,
    ColumnSums,
    Dependence,
    dependence,
)
from keyhole.learners.blocks.sums.data_sums import (
    DataSums,
    Gram,
    gram_bytes,
    refuse_unless_stream_or_sums,
)
from keyhole.learners.blocks.sums.estimates import SecondMoments, available_case, second_moments
from keyhole.learners.blocks.sums.moments import Moments
from keyhole.learners.dantzig import default_burn_in
from keyhole.problem import BlockStream, DataError, Floats, Indices, Interval, Problem
from keyhole.problem.display import counted
from keyhole.problem.memory import refuse_beyond_memory

ALIKE_CORRELATION = 0.95  # correlation from which two features are hard to tell apart
HEAVY_KURTOSIS = 30.0  # kurtosis; a Gaussian has 3, an exponential variable 9


@dataclass(frozen=True, slots=True, eq=False)
class StreamFacts:
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
    codes: Codes = field(default_factory=dict)
    giveaways: Sequence[Giveaway] = ()


def findings(facts: StreamFacts, parts: Dependence) -> list[Finding]:
    """What is unusual, most harmful first."""
    names = facts.problem.label
    found = list(first_findings(facts.giveaways, facts.codes, facts.problem.d, names))
    if len(parts.constant):
        these = tuple(parts.constant.tolist())
        what = f"Drop columns that never change: {_list(facts, these)}."
        found.append(Finding("They carry no information.", what, these, "worth mending"))
    copies = [(j, i) for j, i in parts.copies if not _of_one_column(names(j), names(i))]
    if copies:
        pairs = [f"{names(j)} (repeats {names(i)})" for j, i in copies]
        what = f"Drop copies: {listed(pairs, 4)}."
        why = "A copy makes the isometry fail and splits the weight."
        found.append(Finding(why, what, tuple(j for j, _ in copies), "worth mending"))
    two = [j for j, i in parts.copies if _of_one_column(names(j), names(i))]
    if two:
        what = f"Leave levels as they are: {_list(facts, two)}."
        found.append(Finding("Of two levels of a column, one says what the other does.", what))
    if len(parts.computed):
        these = tuple(parts.computed.tolist())
        what = f"Drop columns that others determine: {_list(facts, these)}."
        why = "They are sums and differences of earlier columns (one-hot groups, totals)."
        found.append(Finding(why, what, these, "good to know"))
    found += _alike(facts, parts)
    found += _ranges(facts)
    return found + _labels(facts)


def _of_one_column(one: str, other: str) -> bool:
    """Whether two features are levels of a column.

    >>> _of_one_column("sex=f", "sex=m"), _of_one_column("age", "age_months")
    (True, False)
    """
    column, equals, _ = one.partition("=")
    return bool(equals) and other.startswith(f"{column}=")


def _list(facts: StreamFacts, features: Sequence[int] | NDArray[np.int64]) -> str:
    return listed([facts.problem.label(int(j)) for j in features])


def _alike(facts: StreamFacts, parts: Dependence) -> list[Finding]:
    """Pairs that are nearly the same feature."""
    kept = parts.kept
    if len(kept) < 2:
        return []
    C = facts.centred.scaled().G[np.ix_(kept, kept)]
    i, j = np.triu_indices(len(kept), 1)
    sizes = np.abs(C[i, j])
    order = np.argsort(-sizes, kind="stable")[: int((sizes >= ALIKE_CORRELATION).sum())]
    if not len(order):
        return []
    names = facts.problem.label
    first = [
        f"{names(int(kept[i[p]]))} and {names(int(kept[j[p]]))} ({C[i[p], j[p]]:.3f})"
        for p in order[:3]
    ]
    features = sorted({int(kept[p]) for p in np.concatenate([i[order], j[order]])})
    what = (
        f"With a correlation of {ALIKE_CORRELATION} or more: {counted(len(order), 'pair')}, first "
        f"{listed(first, 3)}. Learners find one or the other: judge by loss, not by which columns "
        "were found."
    )
    return [Finding(what, "Keep one of features that say the same.", tuple(features))]


def _ranges(facts: StreamFacts) -> list[Finding]:
    """Means, scales, tails and gaps of the columns."""
    columns, found = facts.columns, []
    sd = np.sqrt(np.maximum(np.diag(facts.centred.G), 0.0))
    alive = sd > 0.0
    off = np.flatnonzero(alive & (np.abs(facts.mean) > sd))
    unlike = alive.any() and sd[alive].max() > 2 * sd[alive].min()
    wide = np.zeros(len(sd), dtype=bool)
    if columns is not None:
        wide = (columns.low < -1.0) | (columns.high > 1.0)
    if len(off) or unlike or wide.any():
        why = []
        if len(off):
            why.append(f"means more than a standard deviation from 0: {len(off)}")
        if unlike:
            why.append(f"standard deviations go from {count(sd[alive].min())} to {count(sd.max())}")
        if wide.any():
            why.append(f"columns with values beyond 1 in size: {int(wide.sum())}")
        do = "Leave scales as they are: the learner centres and scales by itself."
        found.append(Finding(_sentence(why), do, tuple(np.flatnonzero(wide).tolist())))
    if columns is None:
        return found
    heavy = np.flatnonzero((columns.kurtosis > HEAVY_KURTOSIS) & ~columns.binary)
    if len(heavy):
        heavy = heavy[np.argsort(-columns.kurtosis[heavy], kind="stable")]
        many = counted(len(heavy), "column")
        rare = f"Rare huge values (kurtosis above {HEAVY_KURTOSIS:g}): {many}."
        do = f"Take logarithms of, or clip at a few standard deviations: {_list(facts, heavy)}."
        found.append(Finding(rare, do, tuple(heavy.tolist()), "worth mending"))
    gaps = np.flatnonzero(columns.absent > 0)
    if len(gaps):
        what = (
            f"Up to {columns.absent.max():.0%} of a column is missing; that is never taken for 0."
        )
        do = f"Leave gaps empty, they are left out: {_list(facts, gaps)}."
        found.append(Finding(what, do, tuple(gaps.tolist())))
    return found


def _sentence(parts: list[str]) -> str:
    text = "; ".join(parts) + "."
    return text[0].upper() + text[1:]


def _labels(facts: StreamFacts) -> list[Finding]:
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
    do = "Leave the label in its own units: the learner centres it by itself."
    return [Finding(_sentence(why), do)]


class ColumnObserver(FirstLook):
    """Sums of every column by itself, and beside the label."""

    def __init__(self, d: int) -> None:
        super().__init__(d)
        self.columns = ColumnSums(d)

    def add(self, X: NDArray[np.floating], y: Floats) -> None:
        """Add complete rows and their labels."""
        super().add(X, y)
        self.columns.add(X)


class StreamSums(ColumnObserver):
    """Sums of every column and every pair of columns, and the range of the labels.

    >>> sums = StreamSums(d=1)
    >>> sums.add(np.array([[1.0], [3.0]]), np.array([2.0, 6.0]))
    >>> sums.gram.n, sums.lowest, sums.highest
    (2, 2.0, 6.0)
    """

    def __init__(self, d: int) -> None:
        super().__init__(d)
        self.gram = Gram(d)
        self.lowest, self.highest = math.inf, -math.inf

    def add(self, X: NDArray[np.floating], y: Floats) -> None:
        """Add complete rows and their labels."""
        super().add(X, y)
        self.gram.add(X, y)
        if len(y):
            self.lowest = min(self.lowest, float(y.min()))
            self.highest = max(self.highest, float(y.max()))


ENOUGH_VIEWS = 100  # of a pair: its correlation is then known to about 0.1
FEW_VIEWS = 10
THRESHOLD_SCALES = (0.1, 0.05, 0.02, 0.01)  # threshold scales that are useful in practice


def diagnose(
    stream: BlockStream | DataSums, k: int, budget: int, *, seconds: float = 6.0
) -> Diagnosis:
    """Check a whole stream: what fits, what does not, and what to do.

    Parameters
    ----------
    stream
        Read once, O(d^2) memory. Or its sums, from `kh.sums`: tails of columns, codes such as 9999
        for missing, and columns that give the label away are not looked for in them; all else is
        the same.
    k, budget
        Sparsity of the models, and the number of features that may be read per example in all.
    seconds
        Nominal limit of the searches.

    Returns
    -------
    Diagnosis
        Print it: a page of what to do first, how often pairs of features will be read together,
        which guarantees of the paper can apply, and a learner with parameters.

    Guarantee
    ---------
    "Fails" is proven by this very data, up to rounding. "Not refuted" proves nothing: the theorems
    ask for every prefix or window, and for a model of the labels.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, _ = kh.streams.realizable(d=20, k=2, n=5000, seed=0)
    >>> report = kh.diagnose(stream, k=2, budget=8)
    >>> report.recommendation.code
    'kh.AutoLearner(problem, seed=0)'
    >>> report.proper.code
    'kh.DantzigLearner(problem, seed=0, noise_sd=0.13, threshold_scale=0.1)'
    >>> [g.verdict for g in report.guarantees]
    ['not refuted', 'open']
    """
    refuse_unless_stream_or_sums(stream)
    problem = Problem(stream.d, k, budget, stream.names)
    refuse_beyond_memory(
        f"a diagnosis, which compares every pair of {stream.d:,} features,",
        gram_bytes(stream.d, copies=4),
        "kh.hindsight(stream, k) screens such streams, and kh.play needs no diagnosis",
    )
    if isinstance(stream, DataSums):
        return _judge(_facts(stream, problem), seconds)
    sums = StreamSums(stream.d)
    for X, y in stream.blocks():
        sums.add(X, y)
    return diagnose_sums(sums, problem, seconds=seconds)


def _facts(sums: DataSums, problem: Problem) -> StreamFacts:
    """What is judged, from the sums of a data set."""
    gram = sums.gram
    if gram.n == 0:
        raise DataError("the sums are of no rows: there is nothing to diagnose")
    least, unknown = gram.centred(), np.zeros(sums.d)
    sd = np.sqrt(np.maximum(np.diag(least.G) / np.maximum(sums.counts, 1.0), 0.0))
    absent, binary = 1.0 - sums.counts / gram.n, np.zeros(sums.d, dtype=bool)
    columns = ColumnFacts(least.mean_x, sd, sums.low, sums.high, unknown, binary, absent)
    return _facts_of(gram, problem, sums.ends, columns)


def _facts_of(
    gram: Gram,
    problem: Problem,
    ends: tuple[float, float],
    columns: ColumnFacts,
    codes: Codes | None = None,
    giveaways: Sequence[Giveaway] = (),
) -> StreamFacts:
    least, n = gram.centred(), gram.n
    label = least.c / n, least.yy / n, least.mean_y, ends
    moments = second_moments(gram, centred=True)
    return StreamFacts(problem, n, moments, *label, columns, columns.mean, codes or {}, giveaways)


def diagnose_sums(sums: StreamSums, problem: Problem, *, seconds: float = 6.0) -> Diagnosis:
    """The same from sums over complete rows, such as those of a game that was observed."""
    if sums.gram.n == 0:
        raise DataError("the stream is empty: there is nothing to diagnose")
    ends, columns = (sums.lowest, sums.highest), sums.columns.facts()
    codes, giveaways = sums.codes.codes(), sums.links.giveaways()
    facts = _facts_of(sums.gram, counting_budget(problem), ends, columns, codes, giveaways)
    return _judge(facts, seconds)


def counting_budget(problem: Problem) -> Problem:
    """A problem whose budget counts features: as many as money buys at the mean price.

    At least k and at most all. Without prices it is the problem itself.

    >>> counting_budget(Problem(10, 2, 20, prices=[4] * 5 + [6] * 5)).budget
    4
    """
    if problem.prices is None:
        return problem
    whole, many = problem.cost(range(problem.d)), problem.d
    if whole > problem.budget:
        many = min(max(round(problem.d * problem.budget / whole), problem.k), problem.d)
    return Problem(problem.d, problem.k, many, problem.names)


def diagnose_moments(
    moments: Moments,
    k: int,
    budget: int,
    *,
    names: Sequence[str] | None = None,
    seconds: float = 6.0,
) -> Diagnosis:
    """The same from what a learner bought: moments of partially seen rows.

    Ranges, tails and copies cannot be seen in them, so there are fewer findings, and everything is
    an estimate; the page says so. `names` are the features', if they have any.

    Examples
    --------
    >>> from keyhole.learners.blocks.draw.sampling import uniform_subset
    >>> rng, moments = np.random.default_rng(0), Moments(6)
    >>> for t in range(2000):
    ...     x, features = rng.choice([-1.0, 1.0], 6), uniform_subset(0, t, 6, 3)
    ...     moments.add(features, x[features], x[0])
    >>> print(str(diagnose_moments(moments, 1, 4)).splitlines()[2])
    Looked at: only what a learner bought: every number below is an estimate.
    """
    problem = Problem(moments.d, k, budget, names)
    if moments.n == 0:
        raise DataError("the moments are of no rows: there is nothing to diagnose")
    estimate = available_case(moments, centred=True)
    label = estimate.b, max(estimate.c, 0.0), estimate.y_mean, None
    centred = second_moments(moments, centred=True)
    facts = StreamFacts(problem, moments.n, centred, *label, None, estimate.x_mean)
    return _judge(facts, seconds)


def _judge(facts: StreamFacts, seconds: float) -> Diagnosis:
    problem, partial = facts.problem, not facts.centred.complete
    sizes = np.abs(facts.mean) + np.sqrt(np.maximum(np.diag(facts.centred.G), 0.0))
    parts = dependence(facts.centred.G, sizes)
    if partial:  # estimates of a copy never agree to the last digit: nothing is dropped unseen
        rest = np.setdiff1d(np.arange(problem.d), parts.constant)
        parts = Dependence(parts.constant, (), np.empty(0, dtype=np.int64), rest)
    kept = parts.kept
    drop = tuple(int(j) for j in np.setdiff1d(np.arange(problem.d), kept))
    sparsity = min(3 * problem.k, max(len(kept), 1))
    nothing = Interval(0.0, math.inf, "no column varies")
    isometry, condition = nothing, Interval(1.0, math.inf, "no column varies")
    if len(kept):
        grid = np.ix_(kept, kept)
        centred = facts.centred
        moments = replace(centred, G=centred.G[grid], seen=centred.seen[grid])
        isometry = rip(moments, sparsity, seconds=seconds / 3)
        k = min(problem.k, len(kept))
        condition = restricted_condition_number(moments, k, seconds=seconds / 3)
    views, enough = _views(problem, facts.rounds)
    fit = None if partial else _fit(facts, kept, seconds / 3)
    return Diagnosis(
        problem=problem,
        rounds=facts.rounds,
        partial=partial,
        findings=tuple(findings(facts, parts)),
        drop=drop,
        rip=isometry,
        rip_sparsity=sparsity,
        condition=condition,
        pair_views=views,
        enough=enough,
        fit=fit,
        guarantees=(_realizable(isometry, sparsity, partial), _agnostic(facts, condition)),
        recommendation=_recommend(facts),
        proper=_proper(facts, views, fit),
    )


def _views(problem: Problem, rounds: int) -> tuple[float, int | None]:
    """How often a pair is explored, and the least budget with ENOUGH_VIEWS times."""

    def times(budget: int) -> float:
        k0 = Problem(problem.d, problem.k, budget).exploration
        if problem.d == 1:
            return float(rounds)
        return rounds * float(inclusion_uniform(problem.d, k0).pair(0, 1))

    enough = (b for b in range(problem.k, problem.d + 1) if times(b) >= ENOUGH_VIEWS)
    return times(problem.reads), next(enough, None)


def _fit(facts: StreamFacts, kept: Indices, seconds: float) -> Fit | None:
    """Shares of variance of the best k and of all features."""
    if facts.variance <= 0.0 or not len(kept):
        return None
    G, b = facts.centred.G[np.ix_(kept, kept)], facts.b[kept]
    best = best_subset(G, b, facts.variance, min(facts.problem.k, len(kept)), seconds=seconds)
    size = 1.0 / np.sqrt(np.diag(G))
    full = (b * size) @ np.linalg.lstsq(size[:, None] * G * size, b * size, rcond=1e-10)[0]
    return Fit(
        sparse=max(0.0, 1.0 - best.rss / facts.variance),
        full=min(1.0, float(full) / facts.variance),
        features=tuple(int(kept[j]) for j in best.support),
    )


def _realizable(isometry: Interval, sparsity: int, partial: bool) -> Guarantee:
    need = theory.RIP_REALIZABLE
    name, label = "Algorithm 1, regret like log T", "theorem:realizable"
    if isometry.low > need:
        why = (
            f"It needs an isometry constant of at most {need} at {sparsity} features, and some "
            f"{sparsity} features have {isometry.low:.2f}."
        )
        if partial:
            return Guarantee(name, label, "open", f"{why} (As estimated; not proven.)")
        return Guarantee(name, label, "fails", why)
    if isometry.high <= need and not partial:
        why = (
            f"All {sparsity}-subsets of the whole stream are within {need}. It also asks that of "
            "every prefix, and that labels are linear in at most k features plus noise."
        )
        return Guarantee(name, label, "not refuted", why)
    why = f"The constant is {ends(isometry)}; {need} at most would be needed."
    return Guarantee(name, label, "open", f"{why} (As estimated.)" if partial else why)


def _agnostic(facts: StreamFacts, condition: Interval) -> Guarantee:
    name, label = "Algorithm 2, regret like T^(2/3)", "theorem:adv"
    p = facts.problem
    if math.isinf(condition.low) and facts.centred.complete:
        why = f"Some {p.k} features are linearly dependent, so no condition number bounds them."
        return Guarantee(name, label, "fails", why)
    partial = not facts.centred.complete
    kappa = min(condition.low, 1e6)  # an estimated matrix may even look singular
    found = theory.agnostic_parameters(facts.rounds, p.d, p.k, p.reads, kappa=kappa)
    if found.usable:
        why = (
            f"It would take batches of {found.batch_size:.0f} rounds and {found.slots:.0f} played "
            f"features; condition numbers of all windows must stay near {kappa:.2g}."
        )
        return Guarantee(name, label, "open", why)
    # Of several reasons the last of "k1 > d", "k0/k1 < 1", "B < k1" says most to a person.
    why = f"Its parameters cannot be used on {facts.rounds:,} rounds: {found.reasons[-1]}."
    if partial:
        return Guarantee(name, label, "open", f"{why} (As estimated; not proven.)")
    return Guarantee(name, label, "fails", why)


def _recommend(facts: StreamFacts) -> Recommendation:
    why = (
        "Learns centres, scales and an intercept itself, needs no parameters, follows change; "
        f"predicts with the features it reads, and model() is one of at most {facts.problem.k}."
    )
    return Recommendation("auto", (), "kh.AutoLearner(problem, seed=0)", why)


def _proper(facts: StreamFacts, views: float, fit: Fit | None) -> Recommendation | None:
    p = facts.problem
    if views < FEW_VIEWS:
        return None
    k0 = p.exploration
    noise = 1.0 if fit is None else max(0.05, math.sqrt(max(1.0 - fit.sparse, 0.0)))
    sd = np.sqrt(np.maximum(np.diag(facts.centred.G), 0.0) * facts.variance)
    signal = float(np.abs(np.divide(facts.b, sd, out=np.zeros_like(sd), where=sd > 0)).max())
    scale, first = THRESHOLD_SCALES[-1], 0
    for scale in THRESHOLD_SCALES:
        if signal == 0.0:
            break
        first = theory.first_nonzero(p.d, k0, signal=signal, noise_sd=noise, constant=scale)
        if first <= max(facts.rounds // 16, 1):
            break
    waits = default_burn_in(p)
    first = max(first, 1 << waits.bit_length()) if first else 0
    noise = float(f"{noise:.2g}")
    when = f"its first model is due at round {first:,}" if first else "the label follows no feature"
    if first > facts.rounds:
        when += ", after the end of this stream: raise the budget"
    why = (
        f"If you need one model of {p.k} features that is fixed before an example is seen, say "
        "proper=True there; or take the paper's Algorithm 1: on centred and scaled columns, with "
        f"threshold_scale={scale:g}, {when}; use a smaller scale if it learns too late, a larger "
        "one if its weights are noise."
    )
    code = f"kh.DantzigLearner(problem, seed=0, noise_sd={noise:g}, threshold_scale={scale:g})"
    return Recommendation("dantzig", (("noise_sd", noise), ("threshold_scale", scale)), code, why)
