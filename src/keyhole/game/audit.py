"""The audit: some blocks are played once more, by a copy that cannot see what it did not buy."""

from __future__ import annotations

import copy
import secrets
from typing import NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from keyhole.errors import shortened
from keyhole.game.referee import BlockAnswer, play_round
from keyhole.problem import (
    BlockLearner,
    BudgetError,
    Floats,
    KeyholeError,
    Learner,
    Problem,
    ProblemError,
    real_number,
    whole_number,
)
from keyhole.problem.rows import ArrayOrLazyRows
from keyhole.problem.state import Tree, has_state

F = TypeVar("F", bound=np.floating)


def poisoned(
    X: NDArray[F], bought: NDArray[np.int32], random: np.random.Generator | None = None
) -> NDArray[F]:
    """The rows with everything but what was bought replaced.

    By NaN; with a generator, by NaN or by numbers of any size and either sign, as it comes: a
    learner that takes NaN for absent, or ignores it, notices numbers, and the other way round.

    Parameters
    ----------
    X
        Rows.
    bought
        A row of feature indices for each, then -1.
    random
        What the poison is drawn from.

    Examples
    --------
    >>> poisoned(np.ones((2, 3)), np.array([[0, 2], [1, -1]], dtype=np.int32))
    array([[ 1., nan,  1.],
           [nan,  1., nan]])
    """
    if random is None:
        hidden = np.full_like(X, np.nan)
    else:
        sizes = 10.0 ** random.uniform(-3, 30, X.shape) * random.choice([-1.0, 1.0], X.shape)
        hidden = np.where(random.random(X.shape) < 0.25, np.nan, sizes).astype(X.dtype)
    row, slot = np.nonzero(bought >= 0)
    feature = bought[row, slot]
    hidden[row, feature] = X[row, feature]
    return hidden


class Audit:
    """Finds out, in some of the blocks, whether a learner played by the rules.

    Before a block is played the learner is copied. After it, the audit draws whether to look: if
    so the copy plays the same rounds by ask, predict and tell, from rows in which everything that
    the block did not buy is poisoned, and gets each label after its prediction. Purchases,
    predictions, and the model and the state at the end, must be the same to the bit. Single rounds
    need no audit: no row ever reaches the learner in them.

    Parameters
    ----------
    share
        The chance of a block to be audited, from 0 to 1. A learner that cheats in each of n blocks
        gets away with it with probability (1 - share) ** n.
    seed
        Random seed; None draws one that nobody can foresee, and keeps it in `seed`.

    Attributes
    ----------
    rounds
        How many rounds were played once more so far.

    Examples
    --------
    >>> import keyhole as kh
    >>> class Peeks(kh.Zero):
    ...     def advance(self, X, y, bought=None):
    ...         super().advance(X, y, bought)
    ...         return X[:, 0].copy()  # and `bought` says that nothing was
    >>> stream, _ = kh.streams.realizable(d=4, k=1, n=200, seed=1)
    >>> kh.play(Peeks(kh.Problem(d=4, k=1, budget=1)), stream, audit=Audit(1.0))
    Traceback (most recent call last):
    keyhole.errors.BudgetError: round 1: Peeks predicted ... in block play and 0.0 ...
    """

    def __init__(self, share: float, seed: int | None = None) -> None:
        self.share = real_number("audit", share, 0.0, 1.0)
        self.seed = secrets.randbits(63) if seed is None else whole_number("seed", seed, 0)
        self.rounds = 0
        self._random = np.random.default_rng(self.seed)

    def copy_of(self, learner: BlockLearner) -> Learner | None:
        """The learner before a block, None if no block is ever looked at.

        It is copied before every block, and drawn afterwards: nothing tells the learner which
        blocks are looked at.
        """
        return _copied(learner) if self.share > 0 else None

    def look(
        self,
        problem: Problem,
        learner: BlockLearner,
        twin: Learner,
        rows: tuple[int, ArrayOrLazyRows, Floats],
        answer: BlockAnswer,
    ) -> None:
        """BudgetError if this block is drawn and the learner's copy does not play it alike.

        `rows` are the first round, the rows and the labels.
        """
        if self._random.random() >= self.share:
            return
        first, X, y = rows
        name = type(learner).__name__
        hidden = poisoned(np.asarray(X), answer.bought, self._random)
        for i, (x, label) in enumerate(zip(hidden, y.tolist(), strict=True)):
            number, bought = first + i, answer.bought[i][answer.bought[i] >= 0]
            try:
                played = play_round(problem, twin, number, x, label)
            except KeyholeError as error:
                raise BudgetError(
                    f"round {number}: {name} played it in a block, and its copy cannot play it as "
                    f"a single round: {error}"
                ) from error
            if not np.array_equal(played.features, bought):
                _differs(number, name, "bought", bought.tolist(), played.features.tolist())
            if played.y_hat != answer.y_hat[i]:
                _differs(number, name, "predicted", float(answer.y_hat[i]), played.y_hat)
        self.rounds += len(y)
        last = first + len(y) - 1
        for what in ("weights", "intercept"):
            ours, theirs = getattr(learner, what), getattr(twin, what)
            if not np.array_equal(ours, theirs):
                _differs(last, name, f"had the {what}", ours, theirs)
        if has_state(learner) and has_state(twin):
            ours, theirs = learner.state(), twin.state()
            parts = [key for key in ours.parts if not _same(ours.parts[key], theirs.part(key))]
            if parts:
                _differs(last, name, "had learnt", f"another {', '.join(parts)}", "its own")


def _same(a: Tree, b: Tree) -> bool:
    """Whether two trees of a state are equal to the bit."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.tobytes() == b.tobytes() and a.shape == b.shape
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return type(a) is type(b) and repr(a) == repr(b)


def _differs(number: int, name: str, what: str, in_block: object, alone: object) -> NoReturn:
    raise BudgetError(
        f"round {number}: {name} {what} {shortened(in_block)} in block play and {shortened(alone)} "
        "when it saw only what it had bought, and each label after its prediction"
    )


def _copied(learner: BlockLearner) -> Learner:
    """A copy with the same future: as Python copies, which is fastest, or from its state."""
    try:
        return copy.deepcopy(learner)
    except Exception as error:
        if has_state(learner):
            return type(learner).from_state(learner.state())
        raise ProblemError(
            f"an audit needs a copy of the learner, and {type(learner).__name__} cannot be copied "
            f"({shortened(str(error))}): give it `state` and `from_state`, or play with audit=0"
        ) from error
