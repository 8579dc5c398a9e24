"""Small trees that are fitted one after the other, over and over, to what all the others miss."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.core.functions import c_function
from keyhole.learners.blocks.shapes.seats import CUTS, Bytes, Seated
from keyhole.problem import Floats, Indices
from keyhole.problem.state import Holds

NOTHING, PREDICTION = -1, -2  # in place of a feature
DEEPEST = 6  # levels of a tree, at most


class Forest(NamedTuple):
    """Trees of some levels; below node k are 2 k + 1 (left) and 2 k + 2.

    `features`: what a node looks at, PREDICTION, or NOTHING: then all go left. A row goes left if
    its value is at most the threshold; if it has none, where `absent_left` says. `leaves`: the
    value of each leaf. `fit` and `places`: of each row held, the sum of the trees and, by
    tree, the leaf it falls into. `fitted`: how many trees were fitted so far; tree n stands at n
    modulo their number.
    """

    features: Annotated[Indices, Holds(least=PREDICTION, below="d"), "trees splits"]
    thresholds: Annotated[Floats, "trees splits"]
    absent_left: Annotated[NDArray[np.bool_], "trees splits"]
    leaves: Annotated[Floats, "trees splits+1"]
    fit: Annotated[Floats, "held"]
    places: Annotated[Bytes, Holds(least=0, most="features"), "trees held"]
    fitted: Annotated[Indices, "1"]


def empty_forest(trees: int, depth: int, rows: int) -> Forest:
    """Trees of which none is fitted."""
    nodes = 2**depth - 1
    return Forest(
        np.full((trees, nodes), NOTHING, dtype=np.int64),
        np.zeros((trees, nodes)),
        np.ones((trees, nodes), dtype=np.bool_),
        np.zeros((trees, nodes + 1)),
        np.zeros(rows),
        np.zeros((trees, rows), dtype=np.int8),
        np.zeros(1, dtype=np.int64),
    )


def fitting_room(rows: int, inputs: int, nodes: int) -> int:
    """How many numbers `fit_tree` needs to work in, at most."""
    return 5 * rows + (nodes + 1) * inputs * (CUTS + 2) + 8 * nodes + 10 * inputs + 32


@c_function(
    "kh_fit_tree",
    "slots[rows] missed[rows]",
    room="5*held+33*splits*sitting+33*splits+33*sitting+8*splits+10*sitting+128",
)
def fit_tree(
    forest: Forest, seated: Seated, slots: Indices, missed: Floats, seed: np.uint64
) -> None:
    """Fit the next tree, in place of the oldest once there are enough of them.

    `missed` is what the rows in these slots miss without trees. A tree is fitted to what they
    miss with all others, on 70 % of the rows and of the inputs that have cuts, drawn anew. Level by
    level, each node takes the split with the largest positive gain

        G_l^2 / (n_l + 10) + G_r^2 / (n_r + 10) - G^2 / (n + 10),

    G the sum of what n rows miss, of those that leave 5 rows on either side; of equal gains the
    first: by input, cut, and absent values first to the right. A leaf is 0.2 G / (n + 10).
    """
    raise NotImplementedError


@c_function("kh_find_nodes", "S[b] places[m]", writes="places")
def find_nodes(forest: Forest, S: Indices, places: Indices) -> None:
    """Where in a row (values of S, the prediction, NaN) each node of the fitted trees looks."""
    raise NotImplementedError


@c_function("kh_sum_trees", "places[m] x[n] leaf[trees]", writes="leaf")
def sum_trees(forest: Forest, places: Indices, x: Floats, leaf: Bytes) -> float:
    """The sum of all trees for such a row; and the leaf of each tree."""
    raise NotImplementedError
