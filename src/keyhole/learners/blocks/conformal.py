"""Conformal prediction intervals: quantiles of errors, tracked online, and sizes of errors.

`core/c/error_sizes.c` and `core/c/trackers.c` are their rounds, with the constants that nobody
needs outside of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Annotated, NamedTuple

import numpy as np

from keyhole.core.functions import c_function
from keyhole.errors import LARGEST
from keyhole.problem import Floats, Indices
from keyhole.problem.state import MAX_WHOLE_NUMBER, Holds

MAX_Z = 4.0
MAX_ERROR_SIZE = 6.0  # an error counts at most so many times the mean
MAX_WEIGHT = 3.0
MIN_FACTOR, MAX_FACTOR = 0.1, 10.0
WAYS, CENTRED = 4, 2  # in which a feature can matter; the first two less their means


class ErrorSizes(NamedTuple):
    """What the sizes of errors have to do with the features that were bought for them.

    The factor of a round is exp(sum of weight_jw phi_jw), from 0.1 to 10, over the features j that
    arrived and the prediction itself, which counts as one more, the last. With z_j the value less
    its mean, in standard deviations, the four ways w are phi = z_j (errors grow with the value),
    |z_j| and log(0.5 + |z_j|), each less its mean (they grow towards both ends, fast or slowly),
    and 1 less the share of rounds in which it arrived (they are larger or smaller where it is
    known).

    Each way is tested by itself: e phi is summed up, where e is |error| as a share of the mean of
    the last few, less its own mean. From four standard errors on the way has a weight; below two it
    has none. Weights of all ways then follow the gradient of the likelihood of an error whose mean
    size is the factor (Laplace), so features that say the same share what there is to say.

    A label costs as much as was bought for it. Nothing here has to be right: see `Trackers`.

    Sums, fading with the reads of a feature, a row for each and one for predictions: `reads`,
    `mean` and `variance` of what was read, `centres` (of |z| and its logarithm), `product`
    (of e phi), `square` (of their squares). Followed label by label: `weight`. Of all labels:
    `labels` (sum and count of |error|, fading; how many were told), `usual` (the mean of e).
    """

    reads: Annotated[Floats, Holds(least=0.0, most=MAX_WHOLE_NUMBER), "places"]
    mean: Annotated[Floats, Holds(least=-LARGEST, most=LARGEST), "places"]
    variance: Annotated[Floats, Holds(least=0.0, most=4.0 * LARGEST**2), "places"]
    centres: Annotated[Floats, Holds(least=-1.0, most=MAX_Z), "places 2"]
    product: Annotated[Floats, Holds(least=-1e9, most=1e9), "places 4"]
    square: Annotated[Floats, Holds(least=0.0, most=1e9), "places 4"]
    weight: Annotated[Floats, Holds(least=-MAX_WEIGHT, most=MAX_WEIGHT), "places 4"]
    labels: Annotated[Floats, Holds(least=0.0, most=1e200), "3"]
    usual: Annotated[Floats, Holds(least=-MAX_ERROR_SIZE, most=MAX_ERROR_SIZE), "1"]


def new_sizes(d: int) -> ErrorSizes:
    """Before the first label: every factor is 1.

    >>> factor_of(new_sizes(3), np.array([0, 2]), np.array([5.0, np.nan]), 1.0)
    1.0
    """
    product, square, weight = (np.zeros((d + 1, WAYS)) for _ in range(3))
    reads, mean, variance = (np.zeros(d + 1) for _ in range(3))
    centres, labels, usual = np.zeros((d + 1, CENTRED)), np.zeros(3), np.zeros(1)
    return ErrorSizes(reads, mean, variance, centres, product, square, weight, labels, usual)


@c_function("kh_error_factor", "features[width] values[width]")
def factor_of(s: ErrorSizes, features: Indices, values: Floats, prediction: float) -> float:
    """How much larger than others an error is likely to be; nothing changes.

    Parameters
    ----------
    s
        As they are now.
    features, values
        What was bought: numbers of features, ascending, -1 for none; NaN did not arrive.
    prediction
        What was predicted from it.
    """
    raise NotImplementedError


@c_function(
    "kh_error_factors",
    "features[rows,width] values[rows,width] predictions[rows] errors[rows] factors[rows]",
    writes="factors",
    room="4*width+4",
)
def factors_of(
    s: ErrorSizes,
    features: Indices,
    values: Floats,
    predictions: Floats,
    errors: Floats,
    factors: Floats,
) -> None:
    """`factor_of` each row in turn, its error being learnt after it; `factors` gets them."""
    raise NotImplementedError


PLAIN_SCALES = 3  # units of errors as they are; as many follow of errors over factors
SCALES, SIDES = 2 * PLAIN_SCALES, 2  # an upper and a lower edge
PAIRS = 2 * SCALES  # each with two steps
TRACKERS, EXPERTS = 3 * PAIRS, 2 * PAIRS  # of the upper side, the lower, and both; what a side has
THETA_STEP = 0.02  # the step of theta
HALVING_DELAY = 50.0  # labels of delay at which that step is halved
# No finite labels lead beyond these; with them, nothing that a file holds can overflow.
MAX_THETA, MAX_UNITS, MAX_EDGE = 700.0, 1e6, 1e300

# A note: the units, what each tracker says, what the experts of each side say together, the factor,
# and the edge of each side, as distances from the prediction.
SAID, TOGETHER, FACTOR = SCALES, SCALES + TRACKERS, SCALES + TRACKERS + SIDES
EDGES = FACTOR + 1
NOTE_SIZE = EDGES + SIDES


class Trackers(NamedTuple):
    """Intervals of several coverages around predictions, from nothing but their errors.

    For each coverage 1 - alpha, with a = alpha/2, both edges are made alike; v is the error
    r = y - y_hat for the upper one and -r for the lower. Errors are measured in `units`, s_h: means
    of |r|, each fading with its own half-life h; and, for noise that depends on what was bought,
    means of |r|/f, times f, where f is the factor of a round (see `ErrorSizes`). A *tracker* q
    follows the (1 - a)-quantile of v/s_h: up by step (1 - a) when v > q s_h, down by step a when
    not. Trackers of |r| at 1 - alpha serve both sides. The *experts* of a side are its trackers and
    those of |r|, 24 in all, each saying e_k = q_k s_h; U = sum_k w_k e_k, by exponential weights on
    what each would have lost, in pinball loss, less. The *edge* is

        E = (U + sinh(theta) m) more,

    where m is the mean of the units, more >= 1 makes up for how little is known in the first 400
    labels, and theta, which starts at 0, is what the guarantee hangs on: with each label

        theta += gain (miss - a),        gain = 0.02 / (1 + D/50),

    where miss is judged by the edge *as it was issued*, and D is the longest delay so far: the most
    labels told between issuing an interval and its own label.

    An interval [-E_down, E_up] that is empty becomes its midpoint (lowest coverage); one that does
    not contain that of the next lower coverage is widened to do so. Both only widen.

    Guarantee
    ---------
    For every sequence of predictions and labels, whatever made them, every tracked coverage, and
    labels that are late, shuffled or lost; of labels predicted exactly more are covered. T
    rounds were *judged*: told, and issued after the first error other than 0 was told. Let b be the
    largest |v/more - U|/m in them, and W = asinh(b) + 0.02 (1 + D). Labels on time (D = 0):

        misses <= alpha T + 2 W / 0.02,       misses >= alpha T - 2 (j + 1)(5 W) / 0.02,

    the second for the (j + 1)-th lowest coverage, not counting rounds in which the lowest interval
    was one point, and that was the label, and if all coverages were tracked from the same label on.
    So constant labels that are predicted are all covered, whatever the coverage. With delays,
    divide by 0.01/(1 + D/50) in place of 0.02: the share of misses is then wrong by O(D^2/T).

    Proof. Let c be 1 if the side counts a miss. (a) No side counts fewer misses than the issued
    interval has: see `learn`. So it is enough to bound sums of c - a. (b) theta_up is below W:
    when it was above asinh(b) as the interval was issued, then E >= v, and the edge issued is no
    lower, so c = 0 and theta falls; between issuing and telling it moves by 0.02 D at most, and by
    0.02 in a step. The same for theta_down. (c) From below, lowest coverage. If theta_up < -W as
    the label is told then it was below -asinh(b) as the interval was issued, so v > E_up: there is
    a miss above; or the interval was empty, and then the midpoint makes one on either side. So
    theta_up + theta_down rises whenever it is below -2 W, and never falls below -3 W; as neither
    is above W, neither is below -4 W. (d) From below, any other coverage. Where theta < -W, again
    v > E, so the miss is that of the next lower coverage, c = c', and theta falls by no more than
    theta' did, because a < a'. So theta is at least -2 W less what theta' may move in all, which is
    5 W for the lowest and 5 W more with each coverage. (e) With a constant gain, sum(c - a) =
    theta/gain. With a falling one, summation by parts gives at most twice the largest |theta| over
    the last gain. Add both sides.

    The units, the factor, the weights and the trackers are not in it: known before the label, they
    make intervals short, and theta makes them hold. Per label told; nothing is said about rounds
    whose labels never come, nor about any part of them, such as those with a large prediction.

    Sums, one row per coverage: `units` (SUM and COUNT of |r| and of |r|/f, fading), `told`,
    `regret` (fading) and `spread` (its squares, fading). Followed label by label: `q` (upper,
    lower, both; by step and unit), `theta`. Derived: `weight`. Constant: `a`, and `start`, where
    trackers began.

    References
    ----------
    Gibbs and Candes, Adaptive conformal inference under distribution shift, NeurIPS 2021;
    Angelopoulos, Candes and Tibshirani, Conformal PID control for time series prediction, NeurIPS
    2023: errors that saturate bound the sum of misses.
    """

    a: Annotated[Floats, Holds(constant=True), "coverages"]
    start: Annotated[Floats, Holds(constant=True), "coverages"]
    units: Annotated[Floats, Holds(least=0.0, most=1e200), "coverages 2 6"]
    told: Annotated[Indices, Holds(), "coverages"]
    q: Annotated[Floats, Holds(least=-MAX_UNITS, most=MAX_UNITS), "coverages 36"]
    regret: Annotated[Floats, Holds(least=-1e200, most=1e200), "coverages 2 24"]
    spread: Annotated[Floats, Holds(least=0.0, infinite=True), "coverages 2"]
    weight: Annotated[Floats, Holds(least=0.0, most=1.0), "coverages 2 24"]
    theta: Annotated[Floats, Holds(least=-MAX_THETA, most=MAX_THETA), "coverages 2"]


def new_trackers(coverages: Sequence[float]) -> Trackers:
    """Trackers for these coverages, before the first label.

    >>> new_trackers([0.9]).start.round(3)
    array([2.062])
    """
    n = len(coverages)
    a = np.array([(1.0 - coverage) / 2.0 for coverage in coverages])
    # The quantile of a normal error, in units of its mean size.
    start = np.array(
        [math.sqrt(math.pi / 2.0) * NormalDist().inv_cdf(1.0 - share) for share in a.tolist()]
    )
    return Trackers(
        a,
        start,
        units=np.zeros((n, 2, SCALES)),
        told=np.zeros(n, dtype=np.int64),
        q=np.repeat(start, TRACKERS).reshape(n, TRACKERS),
        regret=np.zeros((n, SIDES, EXPERTS)),
        spread=np.zeros((n, SIDES)),
        weight=np.full((n, SIDES, EXPERTS), 1.0 / EXPERTS),
        theta=np.zeros((n, SIDES)),
    )


def joined(first: Trackers, second: Trackers) -> Trackers:
    """The trackers of both, one after the other."""
    return Trackers(*(np.concatenate(pair) for pair in zip(first, second, strict=True)))


@c_function(
    "kh_issue_intervals",
    f"order[coverages] notes[coverages,{NOTE_SIZE}] edges[coverages,2]",
    writes="notes edges",
)
def issue(t: Trackers, order: Indices, factor: float, notes: Floats, edges: Floats) -> None:
    """The intervals of the next prediction, as offsets from it, and what to note until its label.

    Parameters
    ----------
    t
        As they are now; nothing of them changes.
    order
        The coverages, lowest first.
    factor
        How much larger than others the error is likely to be; above 0.
    notes, edges
        To be written: a note and (low, high) for each coverage.
    """
    raise NotImplementedError


@c_function("kh_learn_error", f"order[some] notes[coverages,{NOTE_SIZE}]")
def learn(t: Trackers, order: Indices, notes: Floats, error: float, gain: float) -> None:
    """Learn the error of a prediction whose intervals were issued with these notes.

    `order` may be of some coverages only; `notes` have a row for each. Where the issued intervals
    miss, a miss is counted. The reverse fails in one case: the lowest interval is the midpoint of
    an empty one, and the error is exactly that. It counts as a miss on both sides, or empty
    intervals would go on getting emptier.
    """
    raise NotImplementedError


@c_function(
    "kh_play_intervals",
    "order[coverages] errors[rows] factors[rows] edges[rows,coverages,2]",
    writes="edges",
    room=f"{NOTE_SIZE}*coverages",
)
def play(
    t: Trackers, order: Indices, errors: Floats, factors: Floats, gain: float, edges: Floats
) -> None:
    """`issue` and `learn` for each of these errors in turn, to the bit.

    `edges` gets (low, high) of each round and coverage.
    """
    raise NotImplementedError


def gain_of(longest: int) -> float:
    """The step of theta once some label has come so many labels late."""
    return THETA_STEP / (1.0 + longest / HALVING_DELAY)
