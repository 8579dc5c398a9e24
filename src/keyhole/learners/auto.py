"""AutoLearner: the one to use when you know nothing about the stream."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike

from keyhole.core.records import hold
from keyhole.errors import true_or_false
from keyhole.learners.auto_saving import MEMOS, by_batches, parts_as_saved, past_of, with_seats
from keyhole.learners.auto_sums import add_to_auto
from keyhole.learners.base import Choice, LearnerBase, locked
from keyhole.learners.batches import Batches, Entry
from keyhole.learners.blocks.auto import engine
from keyhole.learners.blocks.auto.advice import Advice, StepLine
from keyhole.learners.blocks.auto.batch import Batch, narrowed, new_batch, tidy
from keyhole.learners.blocks.auto.chain import (
    AS_IT_IS,
    FEWEST_ROWS,
    Chain,
    begin_empty,
    chain_words,
    heard,
    refuse_odd_clock,
    with_bent,
)
from keyhole.learners.blocks.auto.engine import LABELS
from keyhole.learners.blocks.auto.experts import (
    NO_MEMORY,
    ExpertKind,
    expert_index,
    list_experts,
    memory_span,
)
from keyhole.learners.blocks.auto.explanation import (
    Explanation,
    Line,
    Played,
    advised,
    bought_lines,
    valued,
)
from keyhole.learners.blocks.auto.joint_fit import best_fit, linear, model_shares, weight_errors
from keyhole.learners.blocks.auto.last_layer import (
    UNCHANGED,
    Layer,
    begin,
    layer_words,
    noted,
    past_weights,
    recalled,
)
from keyhole.learners.blocks.auto.mixture import bound, shares
from keyhole.learners.blocks.auto.parts import USUAL, AutoParts
from keyhole.learners.blocks.auto.ring import TOLD, put_back, told_last
from keyhole.learners.blocks.auto.spending import counts, purse_units, spending
from keyhole.learners.blocks.auto.state import (
    LEAST,
    MOST,
    OWED,
    PLAYED,
    Settings,
    batch_size,
    held_together,
    new_auto,
    settings,
)
from keyhole.learners.blocks.auto.state import State as Sums
from keyhole.learners.blocks.draw.block import Block
from keyhole.learners.blocks.sums.column_stats import centres, spread
from keyhole.learners.blocks.sums.data_sums import DataSums
from keyhole.learners.blocks.sums.memories import refuse_odd_seats
from keyhole.learners.blocks.sums.reach import reach_of_old, refuse_odd_reach
from keyhole.learners.terms import listed, mapping, own_terms
from keyhole.problem import (
    Floats,
    Indices,
    Observation,
    Problem,
    ProblemError,
    StateError,
    Ticket,
)
from keyhole.problem.labels import cut_off_largest_rounds
from keyhole.problem.memory import refuse_beyond_memory
from keyhole.problem.prices import Money, money
from keyhole.problem.sparse_model import SparseModel
from keyhole.problem.state import LearnerState, Tree, fit, restore, unpack
from keyhole.problem.step import PLAN, STEP, first_step


def values_for(batch: Batch, seen: Observation) -> Floats:
    """The values of a batch's features, as far as they were bought."""
    here = len(seen.values) == len(batch.S)
    return np.array(seen.values) if here else seen.at(batch.S)


if TYPE_CHECKING:
    from keyhole.learners.auto_steps import Stepwise
    from keyhole.learners.blocks.auto.contributions import Contributions
    from keyhole.learners.blocks.auto.curves import Curves
    from keyhole.problem.shape_model import ShapeModel

SAVED_BESIDE = (
    "studied",
    "trial",
    "aside",
    "owed",
    "lead",
    "played",
    "walk",
    "evidence",
    "purse",
    "reach",
)  # of the state, saved as parts of their own
ROWS = 16  # of history in one call, so that an interrupt is heard
OWN_TERMS = 2**41  # examples on terms of their own are numbered from here on, for their draws


class AutoLearner(LearnerBase):
    """The learner to use: needs no noise level, horizon, scale or constant.

    Rounds come in batches, of 4 at first and of 16 from round 1024 on, that read the same features:
    those **kept**, because one of three memories (all rounds, about 1024, about 64) finds them
    significant; those of the **safety net**, Algorithm 2 with a sixth of the budget (from a budget
    of 12 features on); and those **explored**, with an eighth of the budget in batches that can
    spare it. Several online ridge regressions (VAW) on parts of them, started from the memories,
    make guesses, and a mixture predicts nearly as well as the best of them, whichever that turns
    out to be. A **last layer** corrects that prediction where it was systematically off, and adds
    what earlier labels say about the next one.
    **Shapes**, curves of what was read and small trees, predict what is still missed.

    Centre and scale of every feature and of the label are learnt from bought values; weights are
    reported in the user's units.

    Parameters
    ----------
    problem
        What may be read. k bounds `model()` and the played model in proper mode.
    seed
        Random seed. Draws are keyed by it and the number of the batch.
    proper
        Play one linear model with at most k weights, fixed before x_t is seen (the paper's POSLR),
        instead of the mixture of everything that is read. Its predictions are clipped to the range
        of the labels so far.
    past
        Whether earlier labels, which cost nothing, are used to predict. A late label helps once it
        is told; a ticket remembers what was known when it was asked. None: yes, except in proper
        mode, where the model would then not be all that is played.
    shapes
        Whether values are used in other shapes than straight lines, at no cost: see
        docs/algorithms/shapes.md. Features that matter in such a shape alone are bought where lines
        leave money. None: yes, except in proper mode, or with a ring of fewer than 64 rows.
    parts
        What it is put together from, for experiments: memories, experts, shares of the budget,
        thresholds, lengths of batches. The defaults are what was measured.
    worth
        With prices: what one unit of squared error is worth, in money. It then buys what gains more
        than it costs, down to nothing, within the budget. None: it makes the most of the budget.
    purse, horizon
        With prices: money for `horizon` examples together; the budget is what one example may cost.
        If a tenth of the purse buys at least 25 complete rows, and the budget allows it, those come
        first. It is never overdrawn; `purse_left` says what is left.

    Guarantee
    ---------
    Default mode, each label told before the next prediction, for every sequence: the loss exceeds
    that of any of its experts, one of which is Algorithm 2 on the net's budget with a VAW that
    starts anew in every batch (unless there is no net: below a budget of 12 features, with prices
    that differ, a purse or `worth`, or if `parts` leave it out), by at most 2 Y^2 log(1/prior),
    summed over the mixture, the last layer and shapes, plus the loss of all in rounds whose label
    is a record (or far out, and learnt as less), 2 Y the range of the labels as they were learnt
    (`blocks/auto/mixture.py`; `bound()` says how much that is by now). Labels of history count in
    that range until it is set aside; then what was lost by then beyond that expert is added.
    Nothing is proved about the selection, nor for late labels: `bound()` is infinite once there was
    one. The net's own parts are those of Algorithm 2 in practice.

    Deviations
    ----------
    Not the paper's: its two algorithms are DantzigLearner and OnlineGreedyLearner. A value more
    than twice as far from its centre as any before is cut off there before it is used to predict,
    in proper mode too: a 9999 that stands for missing would otherwise cost more than all rounds
    together. A value far beyond all that was seen is not learnt, and a label as the end of what was
    seen, until it repeats or something else speaks for it: a typo costs nothing. Late labels are
    learnt with the state at that time; at most 64 batches wait for labels.

    `correct` mends all sums, as if the row had been told right, up to rounding: of the last 2,048
    rows told, since history was last studied or set aside. It does not undo purchases, predictions,
    losses of experts, intervals, or the batches being played; the rules are in
    docs/algorithms/auto-rules.md, under *Corrections*.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=30, k=2, n=2048, seed=0)
    >>> learner = kh.AutoLearner(kh.Problem(d=30, k=2, budget=8), seed=0)
    >>> ledger = kh.play(learner, stream)
    >>> set(learner.model().features.tolist()) == set(truth.support.tolist())
    True
    """

    STUDIES = FADES = STUDIES_SUMS = CORRECTS = True
    HANDLES_PRICES = OWN_REACH = True
    MEMOS = MEMOS
    BYTES_PER_PAIR = 24.0  # of features whose pairs are known: three memories
    REMEDY = "use fewer features, or a smaller budget: it knows pairs of 8 for each that is read"
    BYTES_PER_FEATURE = 250.0  # sums of each, and room to choose in

    @classmethod
    def memory(cls, problem: Problem) -> float:
        """About how many bytes it needs, with the usual parts."""
        pairs = cls.BYTES_PER_PAIR * float(USUAL.seats(problem)) ** 2
        told = USUAL.ring * (12.0 * problem.width + 32.0)
        return pairs + cls.BYTES_PER_FEATURE * problem.d + told

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int = 0,
        proper: bool = False,
        past: bool | None = None,
        shapes: bool | None = None,
        parts: AutoParts = USUAL,
        worth: float | None = None,
        purse: Money | None = None,
        horizon: int | None = None,
    ) -> None:
        super().__init__(problem, seed=seed)
        if not isinstance(parts, AutoParts):
            raise ProblemError(f"parts must be an AutoParts, such as AutoParts(), got {parts!r}")
        refuse_beyond_memory(
            f"AutoLearner for {problem.d:,} features with these parts",
            parts.memory(problem),
            "give it fewer `taus` or `kinks`, a smaller `active` or `ring`, or shorter batches "
            "(`longest`)",
        )
        self.proper, self.parts = true_or_false("proper", proper), parts
        self._experts = list_experts(parts.experts, parts.taus, proper=self.proper)
        self.past = not self.proper if past is None else true_or_false("past", past)
        able = not self.proper and parts.ring >= FEWEST_ROWS
        self.shapes = able if shapes is None else true_or_false("shapes", shapes)
        if self.shapes and not able:
            raise ProblemError(
                "shapes=True needs proper=False, because shapes are not linear, and a ring of at "
                f"least {FEWEST_ROWS} rows, got proper={self.proper}, ring={parts.ring}"
            )
        counted = counts(problem, worth, purse)
        s = settings(problem, parts, counted=counted, proper=self.proper, past=self.past, seed=seed)
        money_matters = spending(problem, worth, purse, horizon)
        self._auto = new_auto(s, parts, money_matters, shapes=self.shapes)
        self._batches = Batches[Batch]()
        self._space: Batch | None = None  # room of the current batch
        self._first: tuple[Entry[Batch], Ticket, int] | None = None  # of a batch, and what it costs
        self._late = np.zeros(1, dtype=np.int64)  # labels told when a later ticket had been asked
        self._played = np.zeros(2, dtype=np.int64)  # labels told before the last study, and before
        self._stepwise: Stepwise | None = None  # from the first ticket on that grows
        self._ends_of_plans = dict[bytes, tuple[Indices, Floats]]()  # derived: what steps cost
        self.worth, self.horizon = worth, horizon
        self.purse = None if purse is None else float(money("purse", purse))
        self._state.purse[0] = purse_units(problem, purse)

    @property
    def _settings(self) -> Settings:
        return self._auto.settings

    @property
    def _state(self) -> Sums:
        return self._auto.state

    @property
    def _last(self) -> Layer:
        return self._auto.last

    @property
    def _chain(self) -> Chain:
        return self._auto.chain

    @property
    def weights(self) -> Floats:
        """The mean of the experts' weights, by their shares in the mixture, in the user's units."""
        return self._linear(self._shares(), self._current())[0]

    @property
    def intercept(self) -> float:
        """The constant that belongs to `weights`."""
        return self._linear(self._shares(), self._current())[1]

    @property
    def weight_errors(self) -> Floats:
        """The standard error of each of `weights`; 0 for features without one."""
        return self._doubt(self._shares(), self._current())

    @property
    def model_shares(self) -> Floats | None:
        """The share of the rounds in which each feature was in `model()`; None before any.

        A round counts when its batch is over. History does not count, nor do rounds from before
        this was counted, in files of earlier versions.
        """
        return model_shares(self._state)

    @overload
    def model(self) -> SparseModel: ...
    @overload
    def model(self, *, shapes: Literal[False]) -> SparseModel: ...
    @overload
    def model(self, *, shapes: Literal[True]) -> ShapeModel: ...

    def model(self, *, shapes: bool = False) -> SparseModel | ShapeModel:
        """The best linear model with at most k weights, as the learner sees it now.

        In proper mode it is the model that is played. Otherwise it is a joint least-squares fit of
        k features that forward selection takes from sums of what was bought, whether or not the
        current batch reads them; with prices, of those that one example's money buys. Where a
        budget counts columns (every item costs 1, and some have several features), so does the
        model: it has the features of as many columns as fit into k, whichever they are. Doubtful
        weights are shrunk. Rounds count when their batch is over.

        While nothing changes it is of all rounds. After a change it is of about the last 1,024 or
        64 rounds, as soon as the memory of those leads and contradicts that of all rounds, or
        explains more; until the longest predicts best again.

        `past` is what the last layer adds to predictions, whichever they are. `errors` are standard
        errors, and `shares` says in which share of the rounds each feature was among the best k of
        the memory that led.

        With `shapes`, a `ShapeModel` of as many features: a linear model of them that curves bend,
        and small trees, fitted to the rows told last (2,048, with the usual parts). The features
        are those of the linear model, or those among the features read in most rounds that matter
        most to curves and trees, whichever do better on the last quarter of these rows when fitted
        to the others; and so much of curves and trees is believed as does best there. Only where
        the learner has shapes.
        """
        with self._lock:
            return self._shape_model() if true_or_false("shapes", shapes) else self._sparse_model()

    def _shape_model(self) -> ShapeModel:
        from keyhole.learners.auto_shapes import shape_model_of

        return shape_model_of(self)

    def _sparse_model(self) -> SparseModel:
        if self.proper:
            share, batch = self._shares(), self._current()
            weights, intercept = self._linear(share, batch)
            errors, centre = self._doubt(share, batch), np.full(self.problem.d, np.nan)
            if batch is not None:
                centre[batch.S] = batch.centre
        else:
            weights, intercept, errors = self._best_fit()
            centre = np.where(self._state.values.reads > 0.0, centres(self._state.values), np.nan)
        features = np.flatnonzero(weights)
        names, long = tuple(self._name(j) for j in features.tolist()), self.model_shares
        return SparseModel(
            names,
            weights[features],
            intercept,
            features,
            past_weights(self._last),
            centre[features],
            errors[features],
            None if long is None else long[features],
        )

    def _best_fit(self) -> tuple[Floats, float, Floats]:
        s, prices = self._settings, self.problem.prices
        if prices is None or counts(self.problem, self.worth, self.purse):
            return best_fit(s, self._state)
        most = prices.columns_within(s.k)
        if most:
            columns = [np.array(features) for features in prices.columns]
            return best_fit(s, self._state, columns=columns, most=most)
        return best_fit(s, self._state, engine.affordable(self._auto))

    def bound(self) -> float:
        """What mixture, last layer and shapes may have lost beyond the safety net, records aside.

        For rounds in which each label was told before the next prediction. Infinite where nothing
        is promised: once a label was told after a later ticket had been asked; in proper mode;
        where there is no safety net (below a budget of 12 features; with prices that differ, a
        purse or `worth`); and with parts that leave its expert from nothing out. The range of the
        labels includes those of history, until that is set aside: then the mixtures begin anew,
        with the range of the labels since, and what predictions had lost by then beyond the safety
        net, records included, is added. Labels count as they were told. If a wrong one is taken out
        of the range, the mixtures begin anew too, and what the bound had come to by then is added.
        """
        e, last = expert_index(self._experts, "net", NO_MEMORY), self._last
        if e < 0 or self.proper or self._settings.slots == 0 or self._late[0] > 0:
            return math.inf
        more = bound(last.judge, UNCHANGED) if last.there else 0.0
        more += bound(self._chain.second, AS_IT_IS) if self._chain.there else 0.0
        return bound(self._state.mixture, e) + more + float(self._state.owed[OWED])

    @property
    def purse_left(self) -> float | None:
        """What is left of the purse after all tickets so far; None without one."""
        prices = self.problem.prices
        if self.purse is None or prices is None:
            return None
        return prices.money(int(self._state.purse[0]))

    @locked
    def ask(
        self,
        *,
        prices: Mapping[str | int, float | str] | None = None,
        without: Iterable[str | int] | None = None,
        known: Mapping[str | int, float] | None = None,
        budget: Money | None = None,
        steps: bool = False,
    ) -> Ticket:
        """A ticket for the next example; as a rule for the features of the current batch.

        An example may have terms of its own. They change nothing for the others.

        Parameters
        ----------
        steps
            Begin with what most examples need, and have `next` say what to buy after that: as long
            as it is expected to be worth its price (`worth`), or what a purse must last for, or
            up to what `next` is told to stop at. Not with terms of its own.
        prices
            What features, or items of the price list, cost this time; math.inf: not available.
        without
            Features that are not available; for those that have a price, this includes what is
                computed from them.
        known
            Features whose values are already known: they cost nothing, and are used.
        budget
            What may be spent on this example.
        """
        own = {"prices": prices, "without": without, "known": known, "budget": budget}
        if true_or_false("steps", steps):
            for name, given in own.items():
                if given is not None:
                    raise ProblemError(
                        f"{name} is for one example on terms of its own, which is bought at once: "
                        "leave it out, or steps=True"
                    )
            return self._ask_first_step()
        if all(given is None for given in own.values()):
            return self._ask_as_usual()
        barred, special = listed(without), mapping("prices", prices) or mapping("known", known)
        if not special and not barred and budget is None:
            return self._ask_as_usual()
        terms = own_terms(self.problem, prices, barred, known, budget)
        if self.purse is not None:
            terms = terms.within(self._spendable())
        own_spending = self._auto.spending._replace(shop=terms.shop, horizon=0)
        S = engine.choose_once(self._auto, own_spending, OWN_TERMS + self.round)
        ordered, paid = terms.order(S)
        memo = {"known": terms.known[S], "ordered": ordered, "paid": paid}
        memo = {**self._memo(np.array(0)), **memo}
        ticket = self._desk.issue(S, memo)
        self._state.purse[0] -= 0 if self.purse is None else int(paid.sum())
        return ticket

    def _ask_as_usual(self) -> Ticket:
        entry = self._open()
        if self._first is not None and self._first[0] is entry:
            _, first, cost = self._first
            ticket = self._desk.issue_again(first, self._memo(first.memo["batch"]))
        else:
            ticket = self._issue(self._choose(self.round + 1))
            cost = 0 if self.purse is None else self._cost(entry.content)
            self._first = entry, ticket, cost
        entry.asked += 1
        if cost:
            self._state.purse[0] -= cost
        return ticket

    def _ask_first_step(self) -> Ticket:
        from keyhole.learners import auto_steps  # here: as a rule all is bought at once

        if self._stepwise is None:
            self._stepwise = auto_steps.new_stepwise(self._settings.width)
        entry, own = self._open(steps=True), self._stepwise
        S, step = entry.content.S.copy(), auto_steps.plan(self, own, entry.number, entry.content)
        memo = {**self._memo(np.array(entry.number)), PLAN: S, STEP: step}
        ticket = self._desk.issue(first_step(S, step), memo)
        entry.asked += 1
        if self.purse is not None:  # what it is not going to need comes back
            self._state.purse[0] -= self._cost(entry.content)
        return ticket

    def _goes_on(self, seen: Observation, grown: Ticket, cost: float) -> tuple[bool, str]:
        from keyhole.learners.auto_steps import goes_on

        assert self._stepwise is not None  # a ticket that grows was asked
        return goes_on(self, self._stepwise, seen)

    def _learn_steps(self, own: Stepwise, seen: Observation, batch: Batch, label: float) -> None:
        from keyhole.learners import auto_steps

        self._give_back(seen.ticket)
        auto_steps.learn_steps(self, own, seen, batch, label)
        if self.purse is not None:
            auto_steps.follow_purse(self, own, seen.ticket)

    def _step_lines(self) -> tuple[StepLine, ...]:
        """What is known of the steps of the current batch; none if it is bought at once."""
        if self._stepwise is None:
            return ()
        from keyhole.learners.auto_steps import step_lines

        return step_lines(self, self._stepwise)

    def _share_of_purse(self, ticket: Ticket) -> float:
        """How much of its whole plan an example may cost on average; 1 without a purse."""
        horizon = self._auto.spending.horizon
        if not horizon:
            return 1.0
        left = int(self._state.purse[0]) / max(horizon - self.round, 1)
        return left / max(self.problem.units(ticket.memo[PLAN]), 1)

    def _give_back(self, ticket: Ticket) -> None:
        """What the steps would have cost that a ticket did not make."""
        if PLAN in ticket.memo and self.purse is not None:
            units = self.problem.units
            self._state.purse[0] += units(ticket.memo[PLAN]) - units(ticket.features)

    def _choose(self, t: int) -> Choice:
        entry = self._open()
        return entry.content.S, self._memo(np.array(entry.number))

    def _memo(self, batch: Indices) -> dict[str, Any]:
        """What a ticket of that batch remembers: `Memo` or `PastMemo`."""
        if not self.past:
            return {"batch": batch}
        past, told = noted(self._last)
        return {"batch": batch, "past": past, "told": told}

    def _cost(self, batch: Batch) -> int:
        prices = self.problem.prices
        return 0 if prices is None else prices.count(batch.S.tolist())

    def _spendable(self) -> int:
        """The units of the purse that the rest of the current batch does not need."""
        entry, left = self._batches.asking, int(self._state.purse[0])
        return (
            left if entry is None else left - (entry.size - entry.asked) * self._cost(entry.content)
        )

    def _predict(self, seen: Observation) -> float:
        """The mixture's prediction, or in proper mode that of the model; changes nothing."""
        batch = self._entry(seen.ticket).content
        return self._guess(seen.ticket, batch, values_for(batch, seen))

    def _guess(self, ticket: Ticket, batch: Batch, values: Floats) -> float:
        return engine.predict_row(self._auto, batch, values, past_of(ticket))

    def _learn(self, seen: Observation, label: float) -> None:
        """Learn the label; the batch goes into the sums if it was the last one missing."""
        ticket = seen.ticket
        self._late[0] += ticket.round < self.round
        entry = self._entry(ticket)
        past = past_of(ticket)
        if self._stepwise is not None and PLAN in ticket.memo:
            self._learn_steps(self._stepwise, seen, entry.content, label)
        row = entry.number, ticket.round, values_for(entry.content, seen), label, past
        engine.learn_row(self._auto, entry.content, *row)
        if self._batches.close(entry, 1):
            self._finish(entry)

    def _correct(
        self, ticket: Ticket, label: float | None, places: Indices, values: Floats
    ) -> None:
        # Imported here: most learners are never corrected.
        from keyhole.learners.auto_correct import correct_row

        correct_row(self, ticket, label, places, values)

    def _study(self, X: Floats, y: Floats, keep: float) -> None:
        self._note_played()
        room = hold(new_batch(self._settings))
        for first in range(0, len(y), ROWS):
            rows = slice(first, first + ROWS)
            engine.study_rows(self._auto, room, X[rows], y[rows], keep)

    def _reach(self) -> tuple[Floats, float]:
        return self._state.reach, self.parts.far

    def _study_sums(self, history: DataSums) -> None:
        self._note_played()
        add_to_auto(self._state, self._last.judge if self._last.there else None, history)
        heard(self._chain, self._state.mixture.span)
        engine.begin_trial(self._settings, self._state)

    def _note_played(self) -> None:
        """More history comes: labels told by now do not count towards what is found out of it."""
        if self._state.aside.any():
            self._played[1] = self._told_before_aside()
        self._played[0] = int(self._state.label.reads[0] - self._state.studied[0])

    def _told_before_aside(self) -> int:
        """How many labels had been told when the history that was set aside was studied."""
        last, before = self._played.tolist()
        since = int(self._state.aside[LABELS]) >= last + int(self._state.studied[0])
        return int(last if since else before)

    def _dropped(self, ticket: Ticket) -> None:
        """Its batch does without it."""
        self._give_back(ticket)
        entry = self._batches.find(int(ticket.memo["batch"]))
        if entry is not None and self._batches.close(entry, 1):
            self._finish(entry)

    @overload
    def explain(self) -> Explanation: ...
    @overload
    def explain(self, seen: Observation) -> Contributions: ...

    def explain(self, seen: Observation | None = None) -> Explanation | Contributions:
        """What is bought now and why; of an example, what each value adds to its prediction.

        Of an example whose ticket is open, the prediction is a sum: the mean prediction for
        examples bought before, and a contribution of each value (`Contributions`). Contributions
        are Shapley values, by 64 of the rows told last; with each comes its curve, what another
        value would contribute if all else stayed as it is in this example: that is what would have
        been predicted, interactions included. What two values add together is half counted with
        each, and the strongest such pairs are named. Changes nothing.

        Parameters
        ----------
        seen
            What came back for a ticket that is open. None: purchases are explained.

        Examples
        --------
        >>> import keyhole as kh, numpy as np
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((3000, 12))
        >>> stream = kh.streams.ArrayStream(X, np.abs(X[:, 3]) + X[:, 3] + X[:, 7])
        >>> learner = kh.AutoLearner(kh.Problem(d=12, k=2, budget=4), seed=0)
        >>> ledger = kh.play(learner, stream)
        >>> seen = learner.ask().fill({3: 2.0, 7: -1.0})  # the others are absent
        >>> found = learner.explain(seen)
        >>> total = found.baseline + sum(line.adds for line in found.lines)
        >>> bool(abs(total - learner.predict(seen)) < 1e-9)
        True
        """
        with self._lock:
            return self._purchases() if seen is None else self._contributions(seen)

    def _contributions(self, seen: Observation) -> Contributions:
        from keyhole.learners.auto_shapes import contributions_of

        return contributions_of(self, seen)

    def _purchases(self) -> Explanation:
        state, current, price = self._state, self._batches.current, self._prices()
        found = valued(self._settings, state, self._leader(), self._name, price)
        lines, cost = tuple[Line, ...](), None
        if current is not None and state.label.reads[0] > 0:
            played = Played(self.weights, self.weight_errors, self.model_shares)
            lines = bought_lines(state, current.content, played, found, self._name, price)
        if current is not None and price is not None:
            cost = price(current.content.S)
        names = [expert.name for expert in self._experts]
        heard = dict(zip(names, shares(state.mixture).tolist(), strict=True))
        words = *layer_words(self._last), cost, *found.together, *chain_words(self._chain)
        return Explanation(self.round, lines, heard, self.bound(), *words, self._step_lines())

    @locked
    def curves(self) -> Curves | None:
        """The curve of each kept feature, and the strongest interactions; None without shapes.

        What is predicted now, averaged over 64 of the rows told last, with one feature at each of
        its marks in turn (partial dependence); beside it, where the rows told last have it
        (`FeatureCurve`). Kept are features read in three quarters of the last 1,024 rows. There are
        no curves where shapes save less than 2 % of the squared error of late. Changes nothing.
        """
        if not self.shapes:
            return None
        from keyhole.learners.blocks.auto.curves import curves_of

        past = recalled(*noted(self._last)) if self.past else np.empty(0)
        return curves_of(self._auto, past, self._name)

    def advice(self) -> Advice:
        """What to stop buying, what fewer features would do, whether something changed lately.

        Computed from the sums of the memory that leads now; changes nothing. What more features
        would bring is bounded as far as the purchases so far allow; `kh.budget_curve` and `keyhole
        advise FILE` say more, from examples that are known in full.
        """
        current, lead = self._batches.current, self._leader()
        found = valued(self._settings, self._state, lead, self._name, self._prices())
        reads = None if current is None else current.content.S
        waiting = [self.round - ticket.round for ticket in self._desk.open]
        span = memory_span(lead, self.parts.taus)
        limit = None if self.problem.prices is None else float(self.problem.budget)
        return advised(
            *(self._settings, self._state, found, lead, span, self.round, reads, waiting),
            *(self._told_before_aside(), limit),
            steps=self._step_lines(),
        )

    def _prices(self) -> Callable[[ArrayLike], float] | None:
        return None if self.problem.prices is None else self.problem.cost

    def settings(self) -> Mapping[str, Any]:
        """The arguments this learner was made with, beside the problem and the seed."""
        given = {"worth": self.worth, "purse": self.purse, "horizon": self.horizon}
        modes = {"proper": self.proper, "past": self.past, "shapes": self.shapes}
        mode: dict[str, Any] = {**modes, "parts": self.parts}
        return mode if self.problem.prices is None else {**mode, **given}

    @classmethod
    def _restored(cls, state: LearnerState) -> Self:
        kinds = (AutoParts, ExpertKind)
        # Files from before there were parts have none: those were the usual ones.
        settings = {key: unpack(value, key, kinds) for key, value in state.settings.items()}
        before = "past" not in settings  # there was no last layer, and there is none from then on
        if before:
            parts = settings.get("parts", USUAL)
            settings.update(past=False, parts=replace(parts, kinks=None))
        settings["parts"] = parts_as_saved(settings, state)
        learner = restore(cls, state, settings=settings)
        known = learner._learnt()
        if "late" in state.parts:  # earlier files do not have it
            learner._late = fit(learner._late, state.part("late"), "late")
        if "played_before" in state.parts:
            learner._played = fit(learner._played, state.part("played_before"), "played_before")
        if before:
            del known["last"]
        saved, converted = by_batches(state.part("learnt"))
        saved = with_seats(saved, learner._state.kept)
        learnt = fit(known, saved, "learnt")
        last = learnt.pop("last", learner._last)
        owed_alone = np.shape(state.parts.get("owed", 0.0)) != (4,)  # of files of earlier versions
        for name in SAVED_BESIDE:  # older files have none, or not all of them
            if name in state.parts and not (name == "owed" and owed_alone):
                learnt[name] = fit(getattr(learner._state, name), state.part(name), name)
        if "stepwise" in state.parts:
            from keyhole.learners.auto_steps import new_stepwise

            learner._stepwise = new_stepwise(learner._settings.width)
            learner._stepwise = fit(learner._stepwise, state.part("stepwise"), "stepwise")
        if "ring" in state.parts:  # earlier files have none: what they were told is not in it
            put_back(learner._state.ring, state.part("ring"))
        s, sums, _, behind, money = learner._auto
        sums = sums._replace(**learnt)
        if {"chain", "ring"} <= state.parts.keys():
            behind = fit(behind, with_bent(state.part("chain"), behind), "chain")
        else:  # earlier files have none
            begin_empty(behind, int(sums.ring.next[TOLD]), sums.mixture.span)
        if "reach" not in state.parts:
            span = sums.mixture.span
            sums = sums._replace(reach=reach_of_old(sums.values, sums.peaks, sums.label, span))
        learner._auto = held_together(s, sums, last, behind, money)
        if owed_alone:
            learner._assume_played()
            if "owed" in state.parts:
                learner._state.owed[:1] = fit(np.zeros(1), state.part("owed"), "owed")
        if converted:
            begin(learner._last, spread(learner._state.label, 0))
        learner._batches.put_back(state, learner._reopened)
        return learner

    def _assume_played(self) -> None:
        """What predictions have lost, as far as a file does not say: as much as is promised."""
        mixture, promised = self._state.mixture, self.bound()
        if math.isfinite(promised):
            e = expert_index(self._experts, "net", NO_MEMORY)
            self._state.owed[PLAYED] = mixture.losses[e] + promised
        self._state.owed[[LEAST, MOST]] = np.nan_to_num(mixture.span)

    def _reopened(self, tree: Tree) -> Entry[Batch]:
        """A batch from a file, as wide as what it reads."""
        width, content = None, tree.get("content") if isinstance(tree, dict) else None
        S = content.get("S") if isinstance(content, dict) else None
        if isinstance(S, np.ndarray) and S.ndim == 1:
            width = min(len(S), self.problem.d)
        entry: Entry[Batch] = fit(Entry(0, 0, new_batch(self._settings, width)), tree, "batch")
        entry.content = hold(entry.content)
        return entry

    def _parts(self) -> Mapping[str, object]:
        beside = {name: getattr(self._state, name) for name in self._beside()}
        late = {"late": self._late, "ring": told_last(self._state.ring)}
        if self._played.any():
            late["played_before"] = self._played
        behind: dict[str, object] = {"chain": self._chain} if self.shapes else {}
        if self._stepwise is not None:
            behind["stepwise"] = self._stepwise
        return {"learnt": self._learnt(), **beside, **late, **behind, **self._batches.saved(tidy)}

    def _sizes(self) -> dict[str, int]:
        prices = self.problem.prices
        items = {"items": self.problem.d if prices is None else len(prices.items)}
        items["round"] = self.round
        return {**super()._sizes(), **items, **self._batches.sizes(self._settings.longest)}

    def _resume(self) -> None:
        self._batches.refuse_unless_of(self._desk, lambda batch: batch.S)
        studied, (lead, since) = int(self._state.studied[0]), self._state.lead.tolist()
        labels, memories = float(self._state.label.reads[0]), len(self.parts.taus)
        if studied > labels:
            raise StateError(f"studied must be at most {labels:g}, the labels, got {studied}")
        rows, by_then = self._state.aside.tolist()
        if not rows <= min(studied, by_then) <= by_then <= labels:
            raise StateError(
                f"aside must be at most {studied} rows, by a label from there to {labels:g}, got "
                f"{rows} and {by_then}"
            )
        if not 0 <= int(self._late[0]) <= self.round:
            raise StateError(f"late must be at most {self.round} rounds, got {int(self._late[0])}")
        if not 0 <= min(self._played) <= max(self._played) <= labels - studied:
            raise StateError(f"played_before must be at most {labels - studied:g} labels")
        owed, played, least, most = self._state.owed.tolist()
        if not (owed >= 0.0 and played >= 0.0 and least <= most):
            raise StateError(
                f"owed must be two losses and a range, got {owed:g}, {played:g}, {least:g} to "
                f"{most:g}"
            )
        if lead >= memories or since > labels:
            raise StateError(
                f"lead must be one of {memories} memories, and at most {labels:g} labels, got "
                f"{lead} and {since}"
            )
        if self._state.played.max() > self._state.played[-1] or self._state.played[-1] > labels:
            raise StateError(f"played must be at most {labels:g} rounds, the last the most")
        refuse_odd_seats(self._state.kept)
        refuse_odd_clock(self._chain, int(self._state.ring.next[TOLD]))
        refuse_odd_reach(self._state.reach)
        self._refuse_odd_money()
        for ticket in self._desk.open:
            if PLAN in ticket.memo and self._stepwise is None:
                raise StateError(f"stepwise: the ticket of round {ticket.round} needs it")
            if ("past" in ticket.memo) != self.past:
                raise StateError(
                    f"the ticket of round {ticket.round} was asked with another `past`"
                )

    def _refuse_odd_money(self) -> None:
        if self._state.purse[0] > purse_units(self.problem, self.purse):
            raise StateError("purse: more is left than there was")
        asking = self._batches.asking
        if asking is not None and not self.problem.affords(asking.content.S):
            raise StateError(f"the current batch reads more than {self.problem} may buy")
        if self.purse is not None and self._spendable() < 0:
            raise StateError("purse: less is left than the rest of the current batch costs")

    def _learnt(self) -> dict[str, object]:
        """The state but for the room to work in, and for what is a part of its own."""
        state = {**self._state._asdict(), "last": self._last}
        return {
            name: part
            for name, part in state.items()
            if name not in (*SAVED_BESIDE, "ring", "space")
        }

    def _beside(self) -> Sequence[str]:
        """The parts that came later: those of money only where there are prices."""
        left_out = () if self.purse is not None else ("purse",)
        return [name for name in SAVED_BESIDE if name not in left_out]

    def _name(self, j: int) -> str:
        names = self.problem.names
        return f"x{j}" if names is None else names[j]

    def _leader(self) -> int:
        """The memory whose kept features predicted best of late."""
        return engine.leader(self._settings.experts.judges, self._state.mixture.recent)

    def _shares(self) -> Floats:
        """The weight of each expert in what is played."""
        batch = self._current()
        if not self.proper or batch is None:
            return shares(self._state.mixture)
        return engine.played_shares(self._settings, self._state, batch)

    def _linear(self, share: Floats, batch: Batch | None) -> tuple[Floats, float]:
        """Weights and intercept, in the user's units, of a mean of the experts of a batch."""
        d = self.problem.d
        return (np.zeros(d), 0.0) if batch is None else linear(d, batch, share)

    def _doubt(self, share: Floats, batch: Batch | None) -> Floats:
        """The standard errors of these weights."""
        if batch is None:
            return np.zeros(self.problem.d)
        return weight_errors(self._settings, self._state, batch, share)

    def _current(self) -> Batch | None:
        """The current batch; before the first, who has studied looks ahead at what it would be."""
        if self._batches.current is not None:
            return self._batches.current.content
        return copy.deepcopy(self)._open().content if self._state.studied[0] > 0 else None

    def _open(self, *, steps: bool = False) -> Entry[Batch]:
        """The batch of the next round: the current one, or a new one if all of that was asked.

        Where money matters, what is bought step by step is chosen for it, in batches of its own.
        """
        wide = steps and (self.worth is not None or self.purse is not None)
        self._leave_unless(wide)
        entry = self._batches.asking
        if entry is not None:
            return entry
        late = self._batches.overdue()
        if late is not None:
            self._finish(late)
        number, size = self._batches.begun + 1, batch_size(self._settings, self.round)
        batch = self._room()
        auto = self._auto
        if wide:
            from keyhole.learners.auto_steps import wider

            auto = auto._replace(spending=wider(auto.spending, self.round))
        return self._batches.begin(size, engine.choose(auto, batch, number, self.round, size))

    def _leave_unless(self, wide: bool) -> None:
        """No more of the current batch if it was chosen for steps and is not wanted so, or not."""
        own = self._stepwise
        if own is None or bool(own.wide[0]) == wide:
            return
        own.wide[0] = wide
        closed = self._batches.cut()
        if closed is not None:
            self._finish(closed)

    def _before_round(self, t: int) -> None:
        self._leave_unless(False)  # before a block; single rounds say for themselves

    def _room(self) -> Batch:
        """Room for a new batch: that of the current one if nothing of it is missing any more."""
        if self._space is None or self._batches.apart is None:
            self._space = hold(new_batch(self._settings))
        self._space.p[:] = 0.0  # all else is written when a batch begins
        return self._space

    def _entry(self, ticket: Ticket) -> Entry[Batch]:
        """The batch of a ticket; one of its own if that batch is closed already."""
        number = int(ticket.memo["batch"])
        entry = self._batches.find(number)
        if entry is not None:
            return entry
        return Entry(number, 1, engine.reopen(self._auto, np.array(ticket.features)))

    def _finish(self, entry: Entry[Batch]) -> None:
        engine.finish(self._auto, entry.content, entry.number)

    def _rounds_alike(self, t: int) -> int:
        """In a block, the rest of the current batch comes by itself, then all others."""
        entry = self._batches.asking
        return super()._rounds_alike(t) if entry is None else entry.size - entry.asked

    def _play(self, block: Block) -> int:
        before, entry = block.first_round - 1, self._batches.asking
        if entry is None:
            batch, clock = self._room(), np.array([before, self._batches.begun, 0, 0, 0, 0])
        else:
            batch = entry.content
            clock = np.array([before, entry.number, entry.size, entry.asked, entry.closed, 0])
        try:
            self._play_rows(engine.play if entry is None else engine.play_on, batch, clock, block)
        except KeyboardInterrupt:  # what was played stands
            played = self._count(clock, before, entry, batch)
            y, predictions = block.y[:played], block.predictions[:played]
            cut_off_largest_rounds(predictions)
            self._desk.skip(played, y)
            self._hear(block.X[:played], y, block.bought[:played], predictions)
            raise
        return self._count(clock, before, entry, batch)

    def _play_rows(
        self, play: Callable[..., int], batch: Batch, clock: Indices, block: Block
    ) -> None:
        """Play in calls of some milliseconds, so that an interrupt is heard."""
        t, rows = 0, 64
        while t < len(block.y):
            began, some = time.perf_counter(), slice(t, t + rows)
            X, y, bought, predictions = (part[some] for part in block[2:6])
            played = play(self._auto, batch, clock, X, y, bought, predictions)
            if played < len(y):
                return
            t, rows = t + rows, rows if time.perf_counter() - began > 0.005 else 2 * rows

    def _count(self, clock: Indices, before: int, entry: Entry[Batch] | None, batch: Batch) -> int:
        """Take note of how far the rounds of a block have come; how many there were."""
        now, number, size, asked, _, read = clock.tolist()
        if entry is None:
            self._batches.resume(number, asked, size, narrowed(batch, read))
        else:
            entry.asked = asked
            self._batches.close(entry, now - before)
        return int(now - before)
