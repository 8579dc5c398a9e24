"""AutoLearner once more: plain NumPy, written from docs/algorithms/auto-rules.md.

`bug` is a mistake to make, for tests that must notice it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

import keyhole as kh
from keyhole.learners.blocks.auto.engine import (
    ALIKE,
    FEWEST,
    FIRST,
    LAYER_ROUNDS,
    LOOK_OUT,
    SURE,
    WORSE,
)
from keyhole.learners.blocks.auto.experts import EXPERTS, ExpertKind
from keyhole.learners.blocks.draw.sampling import complement_subset, uniforms
from keyhole.problem import Floats
from tests.helpers.auto_active import BUGS as SEAT_BUGS
from tests.helpers.auto_active import ActiveSet
from tests.helpers.auto_pieces import (
    Layer,
    Memory,
    Mixture,
    Selection,
    Vaw,
    centre_of,
    greedy_gains,
    normals,
    select,
)
from tests.helpers.auto_reach import BUGS as REACH_BUGS
from tests.helpers.auto_reach import Reach

BUGS = (
    "the net's losses are not weighted",
    "gains are not divided by rows",
    "exploration ignores the leading memory",
    "bolder has the wrong sign",
    "the last layer forgets nothing",
    "errors in place of labels",
    "the last layer learns within a batch",
)
MANY_BUG = "many features: the rate is not rounded"
STUDY_BUGS = (
    "history is charged to the experts",
    "after history, all batches look out",
    "the leader is not kept first",
    "older rows do not fade",
    "rows of history are rounds",
    "history that misleads is trusted",
    "what was studied is not new again",
    "the last layer keeps what it learnt",
    "history is judged by what it lost before",
    "who predicted well before is believed",
)


class Word(NamedTuple):
    """What the learner itself has: its judges' losses of late, what its memories choose.

    With prices also those of the chosen features of which rounding leaves exactly 0; and where not
    all features have a seat, who has one after this batch was filled.
    """

    late: Floats
    chosen: list[list[int]]
    vanished: Sequence[list[int]] = ()
    who: Sequence[int] = ()


@dataclass
class Choice:
    """What is found before a batch: who leads, what is chosen, kept, played by the net, read."""

    lead: int
    found: list[Selection]
    kept: list[int]
    slots: list[int]
    read: list[int]


@dataclass
class Batch:
    """The features S, p and what a loss counts (slots x d), centres, VAWs, and what was told."""

    S: list[int]
    p: Floats
    weight: Floats
    slots: list[int]
    centre: Floats  # of all features
    label: float
    peak: Floats
    vaws: list[Vaw | None]
    rows: list[Floats] = field(default_factory=list)
    labels: list[float] = field(default_factory=list)


class Transcription:
    """AutoLearner by the rules.

    In the first batches rounding may decide: memories start alike, and so do features when as many
    are to be chosen as rows were seen. Where numbers agree to nine digits, the learner's `word` on
    their order is taken.
    """

    def __init__(
        self,
        problem: kh.Problem,
        parts: kh.AutoParts,
        seed: int,
        proper: bool,
        past: bool,
        bug: str = "",
    ) -> None:
        self.d, self.k, self.budget = problem.d, problem.k, problem.reads
        self.parts, self.seed, self.proper, self.bug = parts, seed, proper, bug
        self._share()
        self.values: list[list[float]] = [[] for _ in range(self.d)]
        self.labels: list[float] = []
        self.peak = np.zeros(self.d)
        self.reach = [Reach(parts.far, bug) for _ in range(self.d + 1)]  # the label's last
        self.memories = [Memory(self.d, tau) for tau in parts.taus]
        self.active = ActiveSet(problem, parts, seed, bug)
        for memory in self.memories:
            memory.there = self.active.there
        # Kind, memory (None: nothing, -1: the leading one) and whether it is heard.
        self.experts: list[tuple[ExpertKind, int | None, bool]] = []
        there = [(kind.features, kind.memory) for kind in parts.experts]
        silent = [kind for kind in EXPERTS[:2] if (kind.features, "each") not in there]
        for kind in (*parts.experts, *silent):
            heard = kind not in silent and (kind.proper or not proper)
            fixed = {"longest": 0, "leading": -1, "nothing": None}
            each = range(len(parts.taus)) if kind.memory == "each" else [fixed[kind.memory]]
            self.experts += [(kind, m, heard) for m in each]
        self.judges = [
            next(e for e, (kind, at, _) in enumerate(self.experts) if (kind.features, at) == key)
            for key in (("kept", m) for m in range(len(parts.taus)))
        ]
        heard_by = np.array([float(heard) for *_, heard in self.experts])
        self.mixture = Mixture(heard_by, parts.bold)
        self.L, self.s = np.zeros((self.slots, self.d)), np.zeros(self.slots)
        self.largest = np.zeros(self.slots)
        self.t = self.b = self.studied = self.aside = 0
        self.found = ""  # about labels, by the last of them
        self.lost_before, self.since = 0.0, list[float]()
        self.base = (0, 0.0, 0.0)  # labels that count as alike: how many, their mean and squares
        self.in_model, self.counted = np.zeros(self.d, dtype=np.int64), 0
        kinks = parts.kinks if not proper else () if past else None
        self.last = None if kinks is None else Layer(kinks, past, parts.layer_memory, bug)

    def _share(self) -> None:
        d, budget, parts = self.d, self.budget, self.parts
        slots = max(1, budget // 12) if budget >= 6 else 0
        self.slots = slots if parts.slots is None else parts.slots
        net = (d if self.slots else 0) if budget == d else 2 * self.slots
        self.net = net if parts.net is None else parts.net
        explored = budget // 8 if self.slots else max(1, budget // 8)
        pool = max(1, budget - self.net - explored)
        pool = d if budget == d else pool
        self.pool = pool if parts.pool is None else parts.pool
        threshold = math.sqrt(2.0 * math.log(max(d, 2)))
        self.threshold = threshold if parts.threshold is None else parts.threshold

    def size(self) -> int:
        """Rounds of the batch that begins now."""
        parts = self.parts
        return min(parts.longest, max(parts.shortest, self.t // self.active.growth))

    def choose(self, word: Word) -> Batch:
        """The next batch."""
        self.b += 1
        return self._choose(self.b, word)

    def study(self, row: Floats, y: float, keep: float, word: Word) -> None:
        """One row of history: played, charged to no one, and taken in whole."""
        layers = [self.mixture] + ([] if self.last is None else [self.last.judge])
        batch = self._choose(FIRST + self.studied, word)
        losses = [layer.L for layer in layers]
        self.play(batch, row, y)
        if self.bug != STUDY_BUGS[0]:
            for layer, L in zip(layers, losses, strict=True):
                layer.L = 0.0 * L if self.found == "was wild" else L
        self.t -= 0 if self.bug == STUDY_BUGS[4] else 1
        y = batch.labels[0]
        believed, row = self._needs(batch, 0), row.copy()
        for j in np.flatnonzero(~np.isnan(row)).tolist():
            row[j] = self._heed(j, float(row[j]), believed)
        row = self._cut(row, list(range(self.d)))
        self.labels.append(y)
        arrived = ~np.isnan(row)
        for j in np.flatnonzero(arrived).tolist():
            self.values[j].append(float(row[j]))
        centre = np.array([centre_of(values) for values in self.values])
        z = np.append(np.nan_to_num(row - centre), 1.0)
        self.peak = np.maximum(self.peak, np.abs(z[:-1]))
        keep = 1.0 if self.bug == STUDY_BUGS[3] else keep
        arrived_there, products = arrived.astype(float), self.active.of_row(z)
        self.memories[0].study(z, arrived_there, y - self._label()[0], keep, products)
        self._weigh(batch, (row - centre)[None, :])
        self.studied += 1
        if self.bug != STUDY_BUGS[8]:
            self.lost_before, self.since = float(self.mixture.L[self.judges[0]]), []

    def _label(self) -> tuple[float, float]:
        """Centre and sample variance of the labels; NaN and 0 before any."""
        n, mean, squares = self.base
        if n == 0 and not self.labels:
            return math.nan, 0.0
        reference = mean if n else self.labels[0]  # to keep digits
        x = np.array(self.labels) - reference
        n += len(x)
        shift = float(x.sum()) / n
        variance = (squares + float(x @ x) - n * shift**2) / (n - 1) if n > 1 else 0.0
        m, variance = reference + shift, max(variance, 0.0)
        return (m * max(0.0, 1.0 - 2.0 * variance / (n * m * m)) if m != 0.0 else 0.0), variance

    def _set_aside(self) -> None:
        """Forget history that misleads."""
        lost, y = float(self.mixture.L[self.judges[0]]) - self.lost_before, np.array(self.since)
        rounds = len(y)
        mean = float(sum((y[t] - y[:t].mean()) ** 2 for t in range(1, rounds)))
        before, old = self._label()
        scatter = max(old, mean / max(rounds, 1))
        much = lost > WORSE * mean and lost - mean > SURE * scatter
        if rounds < FEWEST or not much or self.bug == STUDY_BUGS[5]:
            return
        now, told = float(np.var(y)), self.base[0] + len(self.labels)
        self.base, self.labels = (told, float(y.mean()), now * told), []
        moved = before - self._label()[0]
        alike = old < ALIKE * now < ALIKE**2 * old and moved**2 < ALIKE * now
        if alike:
            self.memories[0].become(self.memories[1] if len(self.memories) > 1 else None)
        for memory in self.memories:
            if alike:
                memory.shift(moved)
            else:
                memory.fade(0.0)
        for j in np.flatnonzero(self.memories[0].n_j == 0.0).tolist():
            if self.bug != STUDY_BUGS[6]:
                self.values[j], self.peak[j] = [], 0.0
        self.active.evidence[:] = 0.0
        if self.last is not None and self.bug != STUDY_BUGS[7]:
            self.last.count_at_most(LAYER_ROUNDS if alike else 0.0)
        if self.bug != STUDY_BUGS[9]:
            for mixture in [self.mixture] + ([] if self.last is None else [self.last.judge]):
                mixture.start_over()
                mixture.L = 0.0 * mixture.L
                mixture.low, mixture.high = min(self.since), max(self.since)
        self.aside = self.studied

    def _most(self, number: int) -> int:
        """How many features may be kept in that batch."""
        looks_out = number % LOOK_OUT == 0 or self.bug == STUDY_BUGS[1]
        if self.studied > self.aside and not looks_out:
            return self.budget
        return 0 if self.budget == 1 < self.d and number % 2 == 0 else self.pool

    def _choose(self, number: int, word: Word) -> Batch:
        if self.studied > self.aside:
            self._set_aside()
        late = self.mixture.R[self.judges]
        late = word.late if np.allclose(late, word.late, rtol=1e-9, atol=0.0) else late
        order = np.argsort(late, kind="stable").tolist()
        choice, p, weight = self._fill(number, order, word)
        self.active.admit(choice.read, self.memories, choice.found, word.who)
        centre = np.array([centre_of(values) for values in self.values])
        label, variance = self._label()
        if self.last is not None:
            self.last.begin(variance)
        vaws = [self._start(kind, m, choice) for kind, m, _ in self.experts]
        slots = choice.slots
        return Batch(choice.read, p, weight, slots, centre, label, self.peak.copy(), vaws)

    def _fill(self, number: int, order: list[int], word: Word) -> tuple[Choice, Floats, Floats]:
        """What a batch reads, p, and what a loss counts, by memories in the order given."""
        lead = order[0]
        most = self._most(number)
        found = [
            select(memory, most, self._threshold(memory.tau), theirs)
            for memory, theirs in zip(self.memories, word.chosen, strict=True)
        ]
        kept = list[int]()
        if most > self.pool and self.bug != STUDY_BUGS[2]:
            kept += found[lead].chosen
        for rank in range(most):
            for m in order:
                if rank < len(found[m].chosen) and len(kept) < most:
                    j = found[m].chosen[rank]
                    kept += [j] if j not in kept else []
        slots, net, p, weight = self._cast(number, kept, there=most <= self.pool)
        read = sorted({*kept, *net})
        free = self.budget - len(read)
        if self.active.whole:
            read = self._explore_all(number, lead, found, read)
        else:
            read = sorted({*read, *self.active.first_reads(self.values, read, free)})
            read = self._explore_some(number, lead, found, read)
        slots = slots if most <= self.pool else read[:1] * self.slots
        return Choice(lead, found, kept, slots, read), p, weight

    def _explore_all(
        self, number: int, lead: int, found: list[Selection], read: list[int]
    ) -> list[int]:
        """What is read, and then what promises most to the longest memory and to the leader."""
        free = self.budget - len(read)
        for h, many in enumerate((free // 2, free - free // 2)):
            m = 0 if h == 0 or self.bug == BUGS[2] else lead
            score, other = self._scores(self.memories[m], found[m], 2 * number + h)
            score[read] = other[read] = -1.0
            best, same = (np.argsort(-s, kind="stable")[:many].tolist() for s in (score, other))
            assert set(best) == set(same), "rounding decides: take another stream"
            read = sorted({*read, *best})
        return read

    def _explore_some(
        self, number: int, lead: int, found: list[Selection], read: list[int]
    ) -> list[int]:
        """What is read, then what is likeliest to add something, and what promises most."""
        free = self.budget - len(read)
        C = np.array(self.active.looked_at(number), dtype=np.int64)
        by_evidence = free if lead == 0 or self.bug == SEAT_BUGS[14] else free // 2
        score = other = self.active.likelier(self.values)
        for many in (by_evidence, free - by_evidence):
            score[read] = other[read] = -math.inf
            best, same = (
                C[np.argsort(-s[C], kind="stable")][:many].tolist() for s in (score, other)
            )
            assert set(best) == set(same), "rounding decides: take another stream"
            read = sorted({*read, *best})
            score, other = self._scores(self.memories[lead], found[lead], 2 * number + 1)
        return read

    def _threshold(self, tau: float) -> float:
        bolder = -self.parts.bolder if self.bug == BUGS[3] else self.parts.bolder
        may = tau < math.inf and not self.proper and self.pool >= 2 * self.k
        return self.threshold - bolder if may else self.threshold

    def _cast(
        self, number: int, kept: list[int], *, there: bool
    ) -> tuple[list[int], list[int], Floats, Floats]:
        """What the slots play, what the net reads, p, and what a loss counts (slots x d)."""
        d, n = self.d, self.slots
        p, weight = np.zeros((n, d)), np.zeros((n, d))
        if n == 0 or not there:
            return [], [], p, weight

        def f(v: int) -> float:
            return 1.0 if self.net == d else (self.net - v) / (d - v)

        f0, j = f(n), list[int]()
        for i in range(n):
            seen = self.largest[i] ** 2 / (f0 + (1.0 - f0) / d) + self.s[i]
            eta = math.sqrt(math.log(d) / seen) if seen > 0.0 else 1.0
            if d > 1024 and self.bug != MANY_BUG:
                eta = 2.0 ** (math.floor(4.0 * math.log2(eta) + 0.5) / 4.0)
            p[i] = np.exp(-eta * (self.L[i] - self.L[i].min()))
            p[i] /= p[i].sum()
            u = uniforms(self.seed, number, 1, purpose=2 * i)[0]
            j.append(int(np.searchsorted(np.cumsum(p[i]), u * p[i].sum(), side="right")))
        V = sorted(set(j))
        rest = complement_subset(self.seed, number, d, self.net - len(V), V, purpose=2 * n).tolist()
        for i in range(n):
            Q = 1.0 - np.prod(1.0 - p[i:], axis=0)
            Q[j[:i]] = 1.0
            weight[i, V] = 1.0 / (Q + (1.0 - Q) * f0)[V]
            if f0 > 0.0:
                weight[i, rest] = (f0 / f(len(V)) / (Q + (1.0 - Q) * f0))[rest]
            if self.bug == BUGS[0]:
                weight[i, [*V, *rest]] = 1.0
            weight[i, kept] = 1.0
        return j, sorted([*V, *rest]), p, weight

    def _scores(
        self, memory: Memory, found: Selection, key: int, optimism: float | None = None
    ) -> tuple[Floats, Floats]:
        """The scores; and what they are if what is left of the chosen features rounds to 0."""
        N, u = normals(self.seed, key, self.d)
        score, n_j, noise = np.zeros(self.d), memory.n_j, found.noise
        optimism = self.parts.optimism if optimism is None else optimism
        for j in range(self.d):
            g, r, D = optimism * N[j], found.r[j], found.D[j]
            if not self.values[j]:
                score[j] = 1e300 * (1.0 + u[j]) if self.active.whole else 0.0
            elif memory.G[j, j] == 0.0 and n_j[j] > 0.0:
                score[j] = noise * (N[j] ** 2 + g * g) / n_j[j]
            elif D > 0.05 and n_j[j] > 0.0:
                score[j] = (r + math.sqrt(noise * D / n_j[j]) * g) ** 2 / D
        other, C = score.copy(), found.chosen
        other[C] = noise * (N[C] ** 2 + (optimism * N[C]) ** 2) / n_j[C]
        return score, other

    def _start(self, kind: ExpertKind, m: int | None, choice: Choice) -> Vaw | None:
        """The VAW of an expert; None for the one on nothing."""
        if kind.features == "nothing":
            return None
        lead, kept = choice.lead, choice.kept
        own = m is not None and m >= 0 and not (self.proper and kind.features == "best")
        choices = choice.found[m if own and m is not None else lead].chosen
        use = {
            "kept": [j for j in (choices[: self.k] if self.proper else choices) if j in kept],
            "best": [j for j in choices[: self.k] if j in kept],
            "net": sorted(set(choice.slots)),
            "everything": choice.read,
        }[kind.features]
        longest = self.memories[0]
        mean_square = np.divide(
            np.diag(longest.G)[:-1], longest.n_j, out=np.zeros(self.d), where=longest.n_j > 0.0
        )
        size = np.append(self.peak if kind.size == "peak" else np.sqrt(mean_square), 1.0)
        V = [*(j for j in use if size[j] > 0.0), self.d]
        A = np.diag(np.append(kind.ridge * size[V[:-1]] ** 2, 1.0))
        b = np.zeros(len(V))
        if m is not None:
            memory = self.memories[lead if m < 0 else m]
            A, b = A + memory.G[np.ix_(V, V)], memory.c[V]
        return Vaw(V, A, b, len(use) + 1)

    def play(self, batch: Batch, row: Floats, y: float) -> float:
        """Predict and learn one round."""
        reach, told, batch_label = self.reach[-1], y, batch.label
        low, high = reach.low, reach.high
        unusual = reach.is_far_out(y) and self._is_unusual(batch, row)
        self.found = reach.note(y, believed=unusual)
        y = min(max(y, low), high) if self.found == "moved" else reach.cut(y)
        prediction = self._play(batch, row, y)
        if self.found == "was wild" and self.bug != REACH_BUGS[5]:
            self._forget_wild_label(batch)
        if self.found == "moved" and not math.isnan(batch_label) and self.bug != REACH_BUGS[4]:
            self._move_labels(batch, told - batch.label)
        return prediction

    def _is_unusual(self, batch: Batch, row: Floats) -> bool:
        """Whether a value is 8 standard deviations off."""
        for j in batch.S:
            n = len(self.values[j])
            if n >= 4 and not math.isnan(row[j]) and self.bug != REACH_BUGS[7]:
                x = np.array(self.values[j]) - self.values[j][0]
                v = float(x.var(ddof=1))
                if (n >= 16 or v == 0.0) and (
                    row[j] - self.values[j][0] - x.mean()
                ) ** 2 > 64.0 * v:
                    return True
        return False

    def _forget_wild_label(self, batch: Batch) -> None:
        reach, n = self.reach[-1], self.base[0] + len(self.labels)
        width = reach.high - reach.low
        if n:
            self.base, self.labels = (n, reach.low + width / 2.0, n * width**2 / 12.0), []
            for memory in self.memories:
                memory.fade(0.0)
            self.L, self.s, self.largest = 0.0 * self.L, 0.0 * self.s, 0.0 * self.largest
        for j in np.flatnonzero(self.memories[0].n_j == 0.0).tolist():
            self.values[j], self.peak[j] = [], 0.0
        self.active.evidence[:] = 0.0
        for mixture in [self.mixture] + ([] if self.last is None else [self.last.judge]):
            mixture.start_over()
            mixture.L = 0.0 * mixture.L
            mixture.low, mixture.high = reach.low, reach.high
        if self.last is not None:
            self.last.forget()
        batch.label = reach.cut(batch.label)
        for vaw in batch.vaws:
            if vaw is not None:
                vaw.b = 0.0 * vaw.b
        self.lost_before, self.since = 0.0, []

    def _move_labels(self, batch: Batch, by: float) -> None:
        n, mean, squares = self.base
        self.base, self.labels = (n, mean + by, squares), [y + by for y in self.labels]
        self.since = [y + by for y in self.since]
        batch.label, batch.labels = batch.label + by, [y + by for y in batch.labels]
        for mixture in [self.mixture] + ([] if self.last is None else [self.last.judge]):
            low, high = self.reach[-1].low, self.reach[-1].high
            if batch.label > low + (high - low) / 2.0:
                mixture.high = high
            else:
                mixture.low = low
        if self.last is not None:
            self.last.labels.values = [y + by for y in self.last.labels.values]

    def _heed(self, j: int, value: float, believed: bool) -> float:
        """Note a value; NaN if nothing is learnt of it."""
        reach = self.reach[j]
        if reach.note(value, believed=believed) == "was wild" and self.bug != REACH_BUGS[6]:
            self.values[j], self.peak[j] = [], 0.0
            for memory in self.memories:
                memory.G[j], memory.G[:, j] = 0.0, 0.0
                memory.c[j] = memory.n_j[j] = 0.0
        return math.nan if reach.is_far_out(value) else value

    def _cut(self, row: Floats, features: list[int]) -> Floats:
        """What is learnt of these values."""
        ends = [(self.reach[j].low, self.reach[j].high) for j in features]
        cut: Floats = np.clip(row, *np.array(ends).T) if features else row
        return cut

    def _needs(self, batch: Batch, t: int) -> bool:
        """Whether the label of row t cannot be explained without the values that are far out."""
        vaw, unit = self._judge(batch)
        if vaw is None or not unit > 0.0 or self.bug == REACH_BUGS[8]:
            return False
        x, more = np.append(batch.rows[t] - batch.centre[batch.S], 1.0), 0.0
        theta = dict(zip(vaw.features, vaw.weights_now(), strict=True))
        left = batch.labels[t] - batch.label
        for a, j in enumerate([*batch.S, self.d]):
            if j < self.d and self.reach[j].is_far_out(batch.rows[t][a]):
                more += abs(theta.get(j, 0.0)) * (self.reach[j].high - self.reach[j].low)
            elif not math.isnan(x[a]):
                left -= theta.get(j, 0.0) * x[a]
        return abs(left) - more > 2.0 * unit

    def _judge(self, batch: Batch) -> tuple[Vaw | None, float]:
        """The judge of the memory that leads, and what it is off by of late (0: not known)."""
        late = self.mixture.R[self.judges]
        window = 200.0 * (1.0 - (1.0 - 1.0 / 200.0) ** self.mixture.T)
        known = window > 0.0 and late.min() > 0.0
        unit = math.sqrt(late.min() / window) if known else 0.0
        return batch.vaws[self.judges[int(late.argmin())]], unit

    def _play(self, batch: Batch, row: Floats, y: float) -> float:
        x = np.zeros(self.d + 1)
        x[batch.S] = np.nan_to_num((row - batch.centre)[batch.S])
        limit = np.where(batch.peak > 0.0, self.parts.far * batch.peak, math.inf)
        x[:-1] = x[:-1].clip(-limit, limit)
        x[-1] = 1.0
        known = 0.0 if math.isnan(batch.label) else batch.label
        guesses = np.array([known + (vaw.guess(x) if vaw else 0.0) for vaw in batch.vaws])
        prediction, g = self.mixture.predict(guesses)
        if self.proper and not math.isnan(batch.label):
            prediction = self._properly(batch, x)
        if self.last is not None:
            prediction = self.last.foresee(prediction, batch.label, y)
        self.mixture.learn(g, y)
        batch.label = y if math.isnan(batch.label) else batch.label
        for j in batch.S:
            batch.centre[j] = row[j] if math.isnan(batch.centre[j]) else batch.centre[j]
        for vaw in batch.vaws:
            if vaw is not None:
                vaw.learn(x, y - batch.label)
        batch.rows.append(row[batch.S])
        batch.labels.append(y)
        self.since.append(y)
        self.t += 1
        return prediction

    def _properly(self, batch: Batch, x: Floats) -> float:
        value, h = batch.label, self.mixture.B.sum(axis=0)
        for e, (vaw, (_, m, _)) in enumerate(zip(batch.vaws, self.experts, strict=True)):
            if vaw is not None and m is not None and m >= 0:
                n = self.memories[m].n
                value += h[e] * n / (n + vaw.weights) * vaw.linear(x)
        return min(max(value, self.mixture.low), self.mixture.high)

    def _weigh(self, batch: Batch, values: Floats) -> None:
        """Add rows, with all features (NaN: not read), to the evidence."""
        longest = self.memories[0]
        vaw, unit = self._judge(batch)
        if self.active.whole or vaw is None or not unit > 0.0:
            return
        left = np.array(batch.labels) - batch.label
        for t, row in enumerate(batch.rows if self.bug != SEAT_BUGS[9] else []):
            x = np.append(np.zeros(self.d), 1.0)
            x[batch.S] = np.nan_to_num(row - batch.centre[batch.S])
            left[t] -= vaw.linear(x)
        n_j, square = longest.n_j, np.diag(longest.G)[:-1]
        sizes = np.sqrt(np.divide(square, n_j, out=np.zeros(self.d), where=n_j > 0.0))
        u, h = left / unit, 1.0 / (1.0 + max(self.k, 4))
        self.active.weigh(values, u, h, sizes, vaw.features[:-1])

    def finish(self, batch: Batch) -> None:
        """Take the batch into everything."""
        batch.labels = [self.reach[-1].cut(y) for y in batch.labels]
        for t, row in enumerate(batch.rows):
            believed = self._needs(batch, t)
            heeded = [
                value if math.isnan(value) else self._heed(j, value, believed)
                for j, value in zip(batch.S, row.tolist(), strict=True)
            ]
            batch.rows[t] = np.array(heeded)
        batch.rows = [self._cut(row, batch.S) for row in batch.rows]
        X, y = np.array(batch.rows), np.array(batch.labels)
        self.labels += batch.labels
        for a, j in enumerate(batch.S):
            self.values[j] += [value for value in X[:, a].tolist() if not math.isnan(value)]
        centre = np.array([centre_of(self.values[j]) for j in batch.S])
        rows, Z = len(y), np.zeros((len(y), self.d + 1))
        arrived = np.zeros((rows, self.d))
        Z[:, batch.S], Z[:, self.d] = np.nan_to_num(X - centre), 1.0
        arrived[:, batch.S] = ~np.isnan(X)
        y = y - self._label()[0]
        self.peak = np.maximum(self.peak, np.abs(Z[:, :-1]).max(axis=0))
        late = self.mixture.R[self.judges]
        for memory in self.memories:
            memory.add(Z, arrived, y)
        read = np.full((rows, self.d), math.nan)
        read[:, batch.S] = X - centre
        self._weigh(batch, read)
        model = next(
            vaw
            for vaw, (kind, m, _) in zip(batch.vaws, self.experts, strict=True)
            if kind.features == "best" and m == int(late.argmin())
        )
        self.counted += rows
        if model is not None:
            self.in_model[model.features[:-1]] += rows
        for i in range(self.slots):
            gains = greedy_gains(Z[:, :-1] - Z[:, :-1].mean(axis=0), y - y.mean(), batch.slots[:i])
            loss = -gains if self.bug == BUGS[1] else -gains / rows
            w = batch.weight[i]
            estimate = np.where(w > 0.0, w * loss, 0.0)
            self.L[i] += estimate
            self.s[i] += float(batch.p[i] @ estimate**2)
            largest = float(np.abs(loss[w > 0.0]).max(initial=0.0))
            self.largest[i] = max(self.largest[i], largest)
