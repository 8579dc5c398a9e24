"""OnlineGreedyLearner, Algorithm 2 of the paper: greedy by budgeted experts, VAW to predict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, Self

import numpy as np

from keyhole.core.records import hold
from keyhole.errors import shortened
from keyhole.learners.base import Choice, LearnerBase, refuse_prices
from keyhole.learners.batches import Batches, Entry
from keyhole.learners.blocks.draw.block import Block
from keyhole.learners.blocks.fit.purchase import shop_of
from keyhole.learners.blocks.greedy.budgeted_experts import BEXP, Draw, Scheme
from keyhole.learners.blocks.greedy.minibatch import GreedyBatch, MiniBatch, RunningTotals, begin
from keyhole.learners.blocks.greedy.priced_reads import PricedReads
from keyhole.learners.blocks.greedy.variants import (
    PAPER,
    PRACTICAL,
    VARIANTS,
    Variant,
    theorem_sizes,
)
from keyhole.problem import (
    Floats,
    Indices,
    Observation,
    Problem,
    ProblemError,
    StateError,
    Ticket,
    whole_number,
)
from keyhole.problem.state import Holds, LearnerState, Tree, entries, fit, restore


def theorem_parameters(problem: Problem, kappa: float, horizon: int) -> tuple[int, int]:
    """B = (k0 T / (kappa^2 d k))^(1/3) and k1 = kappa^2 k log(T) / 3, both rounded up.

    >>> theorem_parameters(Problem(d=100, k=5, budget=50), kappa=1.2, horizon=100_000)
    (20, 28)
    """
    refuse_prices(problem, "the theorem")
    B, k1 = theorem_sizes(problem.d, problem.k, problem.reads, kappa, horizon)
    return max(1, math.ceil(B)), max(1, math.ceil(k1))


def default_slots(problem: Problem) -> int:
    """3 k, but at most half the budget and at least k; half the width if there are prices."""
    return max(problem.k, min(3 * problem.k, problem.width // 2))


class OnlineGreedyMemo(NamedTuple):
    """What a ticket remembers: its batch, and what that plays, should the batch be gone by then."""

    batch: Annotated[Indices, Holds(least=1, most="begun", shape=())]
    played: Annotated[Indices, Holds(longest="slots", among="features")]


class OnlineGreedyLearner(LearnerBase):
    """Algorithm 2 (`algorithm:sup-modu`): experts choose features greedily, VAW predicts with them.

    Rounds come in batches. Before batch b each of k1 slots, a run of budgeted experts (BEXP) over
    the features, draws a feature; V_b are those k1 features. All rounds of the batch read the same
    set S_b, V_b and features to learn about, and predict by VAW on V_b. Then

        g_b(S) = (1/B) inf_{w on S} sum over the batch of (y_t - <x_t, w>)^2     (`equation:gt`)

    judges the features: slot i is told g_b({j_1, ..., j_{i-1}, j}) of the features j it read, so
    that the slots together learn the greedy choice.

    With prices, the slots draw one after the other from what the money left still buys, and one of
    them, drawn beforehand, spends all that is left on features to learn about: `PricedReads` says
    how, and why its estimates are unbiased. `budget` is then a limit in money, kept to the unit.

    **Improper**: it plays up to k1 > k features, with weights that depend on x_t (VAW's), while it
    is compared with k-sparse models that are fixed. `budget` is the paper's k0: everything that is
    read both explores and plays, nothing comes on top.

    Sums: the experts' losses and their squares; of each batch that still waits for labels, second
    moments; of all batches, second moments, values and VAW losses. A maximum: the largest |y| and
    gain. Derived: probabilities, VAW's matrices, weights.

    Parameters
    ----------
    problem
        What may be read; k sets the default of `slots`.
    seed
        Random seed. The draws of batch b are keyed by (seed, b).
    batch_size
        Rounds of a batch, B. None: max(16, 2 slots, 2 t^(1/3)) for a batch that starts at round t.
    slots
        k1, from 1 to budget. None: 3 k, but at most budget/2 and at least k.
    kappa
        With a horizon: the restricted condition number, for the theorem's B and k1 where
        `batch_size` or `slots` is not given.
    horizon
        T. With it the algorithm is the printed one; without it runs for any number of rounds, put
        together from parts that do better.
    ridge
        VAW's lambda; absolute in the printed algorithm, else in units of the mean square of each
        feature.
    parts
        What the algorithm is put together from; None: PAPER with a horizon, PRACTICAL without.
    clip
        Cut predictions off at the range of the labels so far; False is the algorithm of the paper.

    Guarantee
    ---------
    `theorem:adv`: with PAPER parts and the theorem's B and k1, expected regret
    O~((kappa^8 d k^4/k0)^(1/3) T^(2/3)) if |x|_inf <= 1, |y| <= 1 and every block of B rounds has
    restricted condition number at most kappa for sparsity k1 + k. None of that is checked, and at
    T = 10^5 the theorem's B is below its k1 (docs/algorithms/online-greedy.md).

    PRACTICAL parts: once the largest label Y has been seen, and if each label is told before the
    next prediction, predictions cost at most 2 Y^2 log 2 in all more than those of the better of
    two VAWs, one of which is the paper's. Each slot's
    estimates are unbiased given the slots before it, with less variance than the printed ones; but
    slots learn from each other's reads, so their losses are no longer independent of their draws,
    which the proof of `lem:online-greedy` conditions on.

    Deviations
    ----------
    Beside the parts: budget not divisible by slots, the first slots read one more. Horizon not
    divisible by B: the last batch is shorter, played, and judged by no one. A feature drawn by
    several slots is played once. With PAPER parts overlapping sets leave budget unspent; with
    PRACTICAL ones it is filled up. Labels beyond [-1, 1] scale the learning rate down by the
    largest loss so far. Batches not longer than the slots leave g = 0 for the last slots, who then
    learn nothing from them. A batch is judged when its last ticket is closed, by the labels that
    came; at most 64 batches wait, then the oldest is judged by what it has, and labels that come
    later still count in the sums VAW starts from. An absent value counts as the mean of its
    feature so far. See docs/decisions/0004-online-greedy-choices.md.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.nonlinear(d=30, n=8192, seed=0)
    >>> learner = kh.OnlineGreedyLearner(kh.Problem(d=30, k=2, budget=12), seed=0)
    >>> ledger = kh.play(learner, stream)
    >>> best = kh.hindsight(stream, k=2)
    >>> bool(ledger.loss < 1.1 * best.loss.high)
    True
    """

    SAVED = ("_bexp", "_history", "_memory")
    MEMOS = (OnlineGreedyMemo,)
    HANDLES_PRICES = True  # draws within the money
    BYTES_PER_PAIR = 8.0  # what VAW starts from

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int,
        batch_size: int | None = None,
        slots: int | None = None,
        kappa: float | None = None,
        horizon: int | None = None,
        ridge: float = 1.0,
        parts: Variant | None = None,
        clip: bool = False,
    ) -> None:
        super().__init__(problem, seed=seed, clip=clip)
        d, budget = problem.d, problem.width
        if horizon is not None or parts not in (None, PRACTICAL):
            refuse_prices(problem, "Algorithm 2 with a horizon, or with parts of your own,")
        if horizon is None and kappa is not None:
            raise ProblemError("kappa is for the theorem's parameters: give the horizon too")
        if horizon is not None and None in (batch_size, slots):
            if kappa is None or not 1 <= kappa < math.inf:
                raise ProblemError(
                    "with a horizon, give batch_size and slots, or a kappa of at least 1 for the "
                    f"theorem's; got batch_size={batch_size}, slots={slots}, kappa={kappa}"
                )
            B, k1 = theorem_parameters(problem, kappa, whole_number("horizon", horizon, 1))
            batch_size = B if batch_size is None else batch_size
            slots = min(k1, budget) if slots is None else slots
        elif slots is None:
            slots = default_slots(problem)
        self.kappa, self.ridge = kappa, ridge
        self.slots = whole_number("slots", slots, 1)
        if self.slots > budget:
            most = f"the budget {budget}"
            if problem.prices is not None:
                most = f"{budget}, what a budget of {problem.budget} can buy"
            raise ProblemError(f"slots must be at most {most}, got {slots}")
        self.batch_size = None if batch_size is None else whole_number("batch_size", batch_size, 1)
        self.horizon = None if horizon is None else whole_number("horizon", horizon, 1)
        self.parts = (PRACTICAL if horizon is None else PAPER) if parts is None else parts
        if not isinstance(self.parts, Variant):
            raise ProblemError(
                f"parts must be PAPER, PRACTICAL or a Variant, got {shortened(parts)}"
            )
        self._memory = self.parts.memory(d, ridge)
        self._bexp = BEXP(self._scheme(), seed=seed, rate=self.parts.rate)
        self._history = RunningTotals(d, self._memory.experts)
        self._batches = Batches[GreedyBatch]()

    def _scheme(self) -> Scheme:
        problem = self.problem
        if problem.counted:
            return self.parts.scheme(problem.d, self.slots, problem.width)
        return PricedReads(hold(shop_of(problem)), problem.width, self.slots)

    @classmethod
    def as_printed(
        cls, problem: Problem, *, horizon: int, kappa: float = 1.5, seed: int = 0
    ) -> Self:
        """Algorithm 2 to the letter, to be cited: PAPER parts, the theorem's B and k1 for T rounds.

        k1 is at most the budget. kappa is 1.5 = (1 + 1/5)/(1 - 1/5) unless you know better: what
        the RIP constant that `theorem:realizable` asks for allows.

        >>> problem = Problem(d=100, k=5, budget=50)
        >>> learner = OnlineGreedyLearner.as_printed(problem, horizon=100_000, kappa=1.2)
        >>> learner.batch_size, learner.slots
        (20, 28)
        """
        refuse_prices(problem, "Algorithm 2 as it is printed")
        return cls(problem, seed=seed, horizon=horizon, kappa=kappa)

    @property
    def weights(self) -> Floats:
        """The ridge solution on the played features; VAW shrinks its predictions from there."""
        weights = np.zeros(self.problem.d)
        if self._batches.current is not None:
            mini = self._batches.current.content.mini
            # A single VAW is played as it is, and its losses may overflow.
            several = len(mini.theta) > 1
            weights[mini.V] = self._history.shares() @ mini.theta if several else mini.theta[0]
        return weights

    @property
    def batches(self) -> int:
        """How many batches were begun so far."""
        return self._batches.begun

    def probabilities(self) -> Floats:
        """With which probability each slot would draw each feature now, slots x d."""
        return self._bexp.probabilities()

    def _choose(self, t: int) -> Choice:
        """The features of the current batch."""
        entry = self._open(t)
        entry.asked += 1
        return entry.content.draw.S, OnlineGreedyMemo(np.array(entry.number), entry.content.mini.V)

    def _predict(self, seen: Observation) -> float:
        """VAW's prediction on the features played in the ticket's batch."""
        return self._mini(seen.ticket).predict(seen.values, self._history)

    def _learn(self, seen: Observation, label: float) -> None:
        """Learn the label; judge the batch if it was the last one missing."""
        ticket = seen.ticket
        entry = self._batches.find(int(ticket.memo["batch"]))
        mini = self._mini(ticket)
        mini.add(seen.values, label, self._history)
        if entry is None:
            self._memory.keep(mini)
        else:
            self._close(entry, 1)

    def _dropped(self, ticket: Ticket) -> None:
        """Its batch is judged without it."""
        entry = self._batches.find(int(ticket.memo["batch"]))
        if entry is not None:
            self._close(entry, 1)

    def settings(self) -> Mapping[str, Any]:
        """The arguments this learner was made with; custom parts are a StateError."""
        names = [name for name, parts in VARIANTS.items() if parts == self.parts]
        if not names:
            raise StateError(
                "parts: an OnlineGreedyLearner put together from parts other than PAPER and "
                "PRACTICAL cannot be saved, a file holds no functions"
            )
        sizes = {"batch_size": self.batch_size, "slots": self.slots, "horizon": self.horizon}
        fit = {"kappa": self.kappa, "ridge": self.ridge, "parts": names[0]}
        return {**sizes, **fit, "clip": self.clip}

    @classmethod
    def _restored(cls, state: LearnerState) -> Self:
        parts = VARIANTS.get(str(state.settings.get("parts")))
        learner = restore(cls, state, settings={**state.settings, "parts": parts})
        learner._batches.put_back(state, learner._reopen)
        return learner

    def _reopen(self, tree: Tree) -> Entry[GreedyBatch]:
        """A batch as it was saved."""
        fields = ["is", "number", "size", "content", "asked", "closed"]
        content = entries(entries(tree, fields, "batch")["content"], [*GreedyBatch.SAVED], "batch")
        none, nothing = np.empty(0, dtype=np.int64), np.empty((self.slots, 0))
        like = Draw(np.zeros(self.slots, dtype=np.int64), none, nothing, nothing)
        draw = fit(like, content["draw"], "batch.draw", loose=True)
        if len(draw.j) != self.slots:
            raise StateError(f"batch.draw.j must be of {self.slots} slots, it has {len(draw.j)}")
        entry: Entry[GreedyBatch] = fit(Entry(0, 0, begin(draw, self._memory)), tree, "batch")
        return entry

    def _parts(self) -> Mapping[str, object]:
        return self._batches.saved()

    def _sizes(self) -> dict[str, int]:
        return {**super()._sizes(), "slots": self.slots, **self._batches.sizes()}

    def _resume(self) -> None:
        for entry in (*self._batches.waiting, self._batches.apart):
            if entry is not None and not self.problem.affords(entry.content.draw.S):
                raise StateError(f"batch {entry.number} reads more than the budget buys")
        self._batches.refuse_unless_of(self._desk, lambda batch: batch.draw.S)

    def _size(self, t: int) -> int:
        """Rounds of a batch that starts at round t."""
        if self.batch_size is not None:
            return self.batch_size
        return max(16, 2 * self.slots, math.ceil(2.0 * math.cbrt(t)))

    def _open(self, t: int) -> Entry[GreedyBatch]:
        """The batch of round t: the current one, or a new one if all of that was asked."""
        entry = self._batches.asking
        if entry is not None:
            return entry
        late = self._batches.overdue()
        if late is not None:
            self._judge(late.content)
        draw = self._bexp.draw(self._batches.begun + 1)
        return self._batches.begin(self._size(t), begin(draw, self._memory))

    def _play(self, block: Block) -> int:
        played, rounds = 0, len(block.y)
        while played < rounds:
            entry = self._open(block.first_round + played)
            S, mini = entry.content.draw.S, entry.content.mini
            rows = slice(played, min(rounds, played + entry.size - entry.asked))
            block.bought[rows, : len(S)] = S
            block.bought[rows, len(S) :] = -1
            out = block.predictions[rows]
            many = mini.play(block.X[rows], block.y[rows], self._history, out)
            entry.asked += many
            self._close(entry, many)
            played += many
            if played < rows.stop:
                break
        return played

    def _mini(self, ticket: Ticket) -> MiniBatch:
        """The mini-batch of a ticket; one begun anew if that batch is judged already."""
        entry = self._batches.find(int(ticket.memo["batch"]))
        if entry is not None:
            return entry.content.mini
        V, S = ticket.memo["played"].copy(), ticket.features.copy()
        return MiniBatch(V, S, *self._memory.start(V), self._memory.all_pairs)

    def _close(self, entry: Entry[GreedyBatch], tickets: int) -> None:
        if self._batches.close(entry, tickets):
            self._judge(entry.content)

    def _judge(self, batch: GreedyBatch) -> None:
        """Feed the experts with the losses of a batch, and remember its sums."""
        mini = batch.mini
        if mini.n == 0:
            return
        gains = mini.gains(batch.slots, self._history)
        self._bexp.feed(batch.draw, self.parts.losses(*gains))
        self._memory.keep(mini)
