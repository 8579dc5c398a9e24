"""AutoLearner once more: plain NumPy, written from docs/algorithms/auto-rules.md.

`bug` is a mistake to make, for tests that must notice it.
"""

from __future__ import annotations

import copy
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
    SURE,
    WORSE,
)
from keyhole.learners.blocks.auto.experts import EXPERTS, ExpertKind
from keyhole.problem import Floats
from tests.helpers.auto_active import BUGS as SEAT_BUGS
from tests.helpers.auto_active import ActiveSet
from tests.helpers.auto_buying import Choice, Purchase
from tests.helpers.auto_pieces import Layer, Memory, Mixture, Vaw, centre_of, greedy_gains
from tests.helpers.auto_reach import BUGS as REACH_BUGS
from tests.helpers.auto_reach import Reach
from tests.helpers.auto_shop import Shop

BUGS = (
    "gains are not divided by rows",
    "bolder has the wrong sign",
    "the last layer forgets nothing",
    "errors in place of labels",
    "the last layer learns within a batch",
)
STUDY_BUGS = (
    "history is charged to the experts",
    "older rows do not fade",
    "rows of history are rounds",
    "history that misleads is trusted",
    "what was studied is not new again",
    "the last layer keeps what it learnt",
    "history is judged by what it lost before",
    "who predicted well before is believed",
)


class Word(NamedTuple):
    """What the learner itself has: its judges' losses of late, and what its memories choose.

    Where not all features have a seat, also who has one after this batch was filled; with shapes,
    which features bend.
    """

    late: Floats
    chosen: list[list[int]]
    who: Sequence[int] = ()
    bent: Sequence[int] = ()


class Own(NamedTuple):
    """Terms of one example: what items cost, in units, what cannot be had, what may be spent."""

    prices: dict[int, int]
    without: list[int]
    budget: int


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
        *,
        worth: float | None = None,
        purse: float | None = None,
        horizon: int | None = None,
    ) -> None:
        self.d, self.k, self.width = problem.d, problem.k, problem.width
        self.parts, self.seed, self.proper, self.bug = parts, seed, proper, bug
        self.worth: float | None = None
        self.studied = self.aside = self.slots = 0
        self._count(problem, worth, purse, horizon or 0)
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
        self.t = self.b = 0
        self.found = ""  # about labels, by the last of them
        self.lost_before, self.since = 0.0, list[float]()
        self.base = (0, 0.0, 0.0)  # labels that count as alike: how many, their mean and squares
        self.in_model, self.in_any = np.zeros(self.d, dtype=np.int64), 0
        kinks = parts.kinks if not proper else () if past else None
        self.last = None if kinks is None else Layer(kinks, past, parts.layer_memory, bug)

    def _count(
        self, problem: kh.Problem, worth: float | None, purse: float | None, horizon: int
    ) -> None:
        """What is spent."""
        needs, units = [{j} for j in range(self.d)], (1,) * self.d
        prices, alike = problem.prices, True
        if prices is not None:
            needs, units = [set(items) for items in prices.needs], prices.units
            own = [len(need) == 1 for need in needs]
            once = len(set[int]().union(*needs)) == len(units) == self.d
            alike = all(own) and once and len({*units}) == 1 and min(units) > 0
        self.counted = alike and worth is None and purse is None
        self.limit, self.W, self.horizon, self.complete = self.width, 0, horizon, 0
        if prices is not None and not self.counted:
            self.limit = prices.limit(problem.budget)
            self.worth = None if worth is None else worth * 10**prices.decimals  # in units
            self.W = 0 if purse is None else prices.limit(purse)
            if 0 < sum(units) <= self.limit and self.bug != "no complete rows":
                self.complete = self.W // (10 * sum(units))
                self.complete = self.complete if self.complete >= 25 else 0
        if self.counted:
            needs, units = [{j} for j in range(self.d)], (1,) * self.d
        self.shop = Shop(units, needs, self.bug)

    def _share(self) -> None:
        """`slots`, `net`, `pool` and `threshold`."""
        d, width, parts = self.d, self.width, self.parts
        slots = width // 12 if self.counted else 0
        self.slots = slots if parts.slots is None else parts.slots
        net = d if width == d and self.slots else 2 * self.slots
        self.net = net if parts.net is None else parts.net
        self.pool = width if parts.pool is None else parts.pool
        threshold = math.sqrt(2.0 * math.log(max(d, 2)))
        self.threshold = threshold if parts.threshold is None else parts.threshold

    def threshold_of(self, tau: float) -> float:
        bolder = -self.parts.bolder if self.bug == BUGS[1] else self.parts.bolder
        may = tau < math.inf and not self.proper and self.pool >= 3 * self.k
        return self.threshold - bolder if may else self.threshold

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
        self.W += self._price(batch)  # history costs nothing
        if self.bug != STUDY_BUGS[0]:
            for layer, L in zip(layers, losses, strict=True):
                layer.L = 0.0 * L if self.found == "was wild" else L
        self.t -= 0 if self.bug == STUDY_BUGS[2] else 1
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
        keep = 1.0 if self.bug == STUDY_BUGS[1] else keep
        arrived_there, products = arrived.astype(float), self.active.of_row(z)
        self.memories[0].study(z, arrived_there, y - self._label()[0], keep, products)
        self._weigh(batch, (row - centre)[None, :])
        self.studied += 1
        if self.bug != STUDY_BUGS[6]:
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
        if rounds < FEWEST or not much or self.bug == STUDY_BUGS[3]:
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
            if self.bug != STUDY_BUGS[4]:
                self.values[j], self.peak[j] = [], 0.0
        self.active.evidence[:] = 0.0
        if self.last is not None and self.bug != STUDY_BUGS[5]:
            self.last.count_at_most(LAYER_ROUNDS if alike else 0.0)
        if self.bug != STUDY_BUGS[7]:
            for mixture in [self.mixture] + ([] if self.last is None else [self.last.judge]):
                mixture.start_over()
                mixture.L = 0.0 * mixture.L
                mixture.low, mixture.high = min(self.since), max(self.since)
        self.aside = self.studied

    def _choose(self, number: int, word: Word) -> Batch:
        if self.studied > self.aside:
            self._set_aside()
        limit, order = self._limit(number), self._order(word)
        choice = Purchase(self, self.shop, number, limit, order, word).fill()
        self.active.admit(choice.read, self.memories, choice.found, word.who)
        centre = np.array([centre_of(values) for values in self.values])
        label, variance = self._label()
        if self.last is not None:
            self.last.begin(variance)
        vaws = [self._start(kind, m, choice) for kind, m, _ in self.experts]
        told = choice.p, choice.weight, choice.slots
        return Batch(choice.read, *told, centre, label, self.peak.copy(), vaws)

    def _order(self, word: Word) -> list[int]:
        """Memories, from the smallest R to the largest."""
        late = self.mixture.R[self.judges]
        late = word.late if np.allclose(late, word.late, rtol=1e-9, atol=0.0) else late
        order: list[int] = np.argsort(late, kind="stable").tolist()
        return order

    def once(self, own: Own, number: int, word: Word) -> list[int]:
        """What an example on terms of its own reads; nothing is learnt from buying it."""
        alone, units = copy.deepcopy(self), list(self.shop.units)
        for item, price in own.prices.items():
            units[item] = price
        shop = Shop(tuple(units), self.shop.needs, self.bug, frozenset(own.without))
        purchase = Purchase(alone, shop, number, own.budget, self._order(word), word)
        return purchase.fill(alone=True).read

    def _limit(self, number: int) -> int:
        """C of a batch."""
        if self.horizon == 0 or self.bug == "the purse is not looked at":
            return self.limit
        t, s = (self.complete, 1) if number >= FIRST else (self.t, self.size())
        rounds = s if t < self.complete else max(self.horizon - t, s)
        return min(self.limit, self.W // rounds)

    def _price(self, batch: Batch) -> int:
        return self.shop.price(set[int]().union(*(self.shop.needs[j] for j in batch.S)))

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
        """Predict and learn one round; its ticket is paid."""
        self.W -= self._price(batch)
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
        if vaw is None or not unit > 0.0:
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
        self.in_any += rows
        if model is not None:
            self.in_model[model.features[:-1]] += rows
        for i in range(self.slots):
            gains = greedy_gains(Z[:, :-1] - Z[:, :-1].mean(axis=0), y - y.mean(), batch.slots[:i])
            loss = -gains if self.bug == BUGS[0] else -gains / rows
            w = batch.weight[i]
            estimate = np.where(w > 0.0, w * loss, 0.0)
            self.L[i] += estimate
            self.s[i] += float(batch.p[i] @ estimate**2)
            largest = float(np.abs(loss[w > 0.0]).max(initial=0.0))
            self.largest[i] = max(self.largest[i], largest)
