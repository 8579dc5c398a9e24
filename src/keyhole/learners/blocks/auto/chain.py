"""Shapes behind AutoLearner: a ridge on curves of what was bought, then trees, both judged."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from keyhole.learners.blocks.auto.mixture import Mixture, mix, shares, start_anew
from keyhole.learners.blocks.shapes.bent import bent_room
from keyhole.learners.blocks.shapes.ridge import Ridge, empty_ridge
from keyhole.learners.blocks.shapes.seats import (
    COLUMNS,
    LOOKED,
    NOBODY,
    SAMPLE,
    Seated,
    empty_seats,
)
from keyhole.learners.blocks.shapes.trees import Forest, empty_forest, fitting_room
from keyhole.problem import Floats, Indices, StateError
from keyhole.problem.state import Holds, Tree

SEATS = 32  # inputs of the trees, beside the prediction, at most
CURVES = 16  # of them that have a curve, at most: pairs of their columns are known
BOLD = 0.5  # the prior weight of the bold average in either mixture
PRIOR = (2.0, 1.0, 1.0)  # of the guesses, p first
FEWEST_ROWS = 64  # in the ring
STARTED, CLOSED, CHECKED, BUILT, SOLVED, SEARCHED = range(6)  # in `Chain.clock`
AS_IT_IS, CURVED, WITH_TREES = 0, 1, 2  # the guesses that the second mixture judges
GUESSES = ("as it is", "curves", "trees")


class Chain(NamedTuple):
    """What is predicted beside p, the prediction of the last layer, from the same reads.

    A ridge on curves of what was bought guesses y - p; the mixture `first` judges p and p with the
    ridge, and predicts q. Trees guess y - q; the mixture `second` judges p, q and q with the trees:
    its prediction is the learner's. Before a batch seats, ridge and one tree are renewed; within it
    nothing but the mixtures changes.

    Sums: those of the ridge and the mixtures. `p` and `q` of each row in the ring, in the same
    slots. `clock`: how many rows were told before the chain began; then, of those since, how many
    when the last batch was closed, seats were last checked, everything was last built anew, the
    ridge was last solved, and features that bend were last looked for. `bent`: these, the
    strongest first (NOBODY beyond); they are read when lines leave money.

    Without room for rows there is no chain.
    """

    p: Annotated[Floats, "held"]
    q: Annotated[Floats, "held"]
    seated: Seated
    ridge: Ridge
    forest: Forest
    first: Annotated[Mixture, "E=two"]
    second: Annotated[Mixture, "E=three"]
    clock: Annotated[Indices, "6"]
    bent: Annotated[Indices, Holds(least=NOBODY, below="d"), "sitting"]

    @property
    def there(self) -> bool:
        """Whether there is a chain at all."""
        return len(self.p) > 0


def chain(width: int, rows: int, trees: int, depth: int) -> Chain:
    """A chain that has seen nothing, for rows of at most `width` features."""
    seats, curves = min(width, SEATS), min(width, CURVES)
    if rows == 0:
        seats = curves = trees = 0
    return Chain(
        np.zeros(rows),
        np.zeros(rows),
        empty_seats(rows, seats, curves),
        empty_ridge(curves),
        empty_forest(trees, depth, rows),
        mix(PRIOR[:2], BOLD),
        mix(PRIOR, BOLD),
        np.zeros(6, dtype=np.int64),
        np.full(seats, NOBODY, dtype=np.int64),
    )


def chain_room(d: int, width: int, rows: int, trees: int, depth: int) -> int:
    """How many numbers a chain needs to work in, at most."""
    if rows == 0:
        return 0
    seats, nodes, P = min(width, SEATS), (1 << depth) - 1, COLUMNS * (min(width, CURVES) + 1)
    a_row = 4 * width + trees * (nodes + 1) + 3 * P + 16
    checking = 3 * d + rows * width + 3 * seats + LOOKED + 4 * SAMPLE
    fitting = rows + fitting_room(rows, seats + 1, nodes)
    return a_row + max(checking, fitting, rows + bent_room(d, width, rows)) + 64


def chain_memory(width: int, rows: int, trees: int, depth: int) -> float:
    """About how many bytes a chain takes."""
    if rows < FEWEST_ROWS:
        return 0.0
    seats, columns = min(width, SEATS), COLUMNS * (min(width, CURVES) + 1.0)
    beside = 24.0 + trees + seats + 1.0  # of each row
    return rows * beside + 16.0 * columns**2 + 25.0 * trees * 2.0**depth


def heard(of: Chain, span: Floats) -> None:
    """Let both mixtures know a range of labels that they did not hear themselves."""
    for mixture in (of.first, of.second):
        mixture.span[:] = np.fmin(mixture.span[0], span[0]), np.fmax(mixture.span[1], span[1])


def mend(of: Chain) -> None:
    """A row in the ring was corrected: what is made of rows is made anew next time."""
    of.clock[[CHECKED, SEARCHED]], of.clock[BUILT] = 0, min(of.clock[BUILT], 1)


def judge_anew(of: Chain, span: tuple[float, float]) -> None:
    """Both mixtures begin anew, with this range of labels."""
    for mixture in (of.first, of.second):
        start_anew(mixture)
        mixture.span[:] = span


def begin_empty(of: Chain, told: int, span: Floats) -> None:
    """Begin after so many rows told, whose labels were in this range."""
    of.clock[STARTED] = told
    heard(of, span)


def with_bent(tree: Tree, of: Chain) -> Tree:
    """A chain as it was saved; of files of before features that bend were looked for, with none."""
    if not isinstance(tree, dict) or "bent" in tree:
        return tree
    clock = tree.get("clock")
    if isinstance(clock, np.ndarray) and clock.shape == (SEARCHED,):
        clock = np.append(clock, 0)
    return {**tree, "clock": clock, "bent": of.bent}


def refuse_odd_clock(of: Chain, told: int) -> None:
    """StateError unless what its clock says happened among so many rows told."""
    started, *times = of.clock.tolist()
    if of.there and not 0 <= max(times) <= told - started:
        raise StateError(f"chain.clock must be within {told} rows told, got {of.clock.tolist()}")


class ChainWords(NamedTuple):
    """What a chain does, for people: see `Explanation`."""

    shapes: dict[str, float]
    shapes_save: float


def chain_words(of: Chain) -> ChainWords:
    """Whom the chain listens to, and which share of the squared error it saves of late."""
    if not of.there:
        return ChainWords({}, 0.0)
    listens = dict(zip(GUESSES, shares(of.second).tolist(), strict=True))
    late = of.second.recent
    saved = 1.0 - float(late[1:].min() / late[AS_IT_IS]) if late[AS_IT_IS] > 0.0 else 0.0
    return ChainWords(listens, saved)
