"""The conformance suite of a learner, put together from all checks; is an easy stream learnt?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from keyhole.game import play
from keyhole.learners.baselines import RunningMean
from keyhole.learners.registry import Treatment
from keyhole.problem import Floats, Learner, whole_number
from keyhole.streams.arrays import ArrayStream
from keyhole.testing import extremes, learners
from keyhole.testing import prices as priced
from keyhole.testing.doubts import doubts_leave_no_trace
from keyhole.testing.helpers import LearnerMaker, make, require
from keyhole.testing.history import STUDY_CHECKS
from keyhole.testing.intervals import INTERVAL_CHECKS
from keyhole.testing.prices import BY_PRICE, PRICED_CHECKS, on_prices
from keyhole.testing.steps import STEP_CHECKS

EASY_SHAPE = (12, 2, 6)  # d, k, budget
EASY_SUPPORT, EASY_WEIGHTS, EASY_NOISE = [4, 9], [1.0, -0.8], 0.2
EASY_LOSS_SHARE = 0.5  # of the running mean's loss, at most


def easy_stream(rounds: int, seed: int = 0) -> ArrayStream:
    """Twelve independent signs, two of which make the label, with little noise and no offset.

    >>> easy_stream(100).d
    12
    """
    rng = np.random.default_rng(seed)
    X = np.sign(rng.standard_normal((rounds, EASY_SHAPE[0])))
    noise = EASY_NOISE * rng.standard_normal(rounds)
    return ArrayStream(X, X[:, EASY_SUPPORT] @ EASY_WEIGHTS + noise)


def learns_an_easy_stream(factory: LearnerMaker, learns_by: int) -> None:
    """In rounds learns_by / 2 + 1 to learns_by of `easy_stream`: half the running mean's loss.

    `learns_by` is at least 32. A learner that reads everything gets budget = d.
    """
    n = whole_number("learns_by", learns_by, 32)
    learner = make(factory, EASY_SHAPE)
    stream = easy_stream(n)
    late = slice(n // 2, n)
    lost = _late_loss(learner, stream, late)
    mean = _late_loss(RunningMean(learner.problem), stream, late)
    require(
        lost <= EASY_LOSS_SHARE * mean,
        f"learns an easy stream by round {n}: mean loss {lost:.3g} after round {n // 2}, "
        f"the running mean has {mean:.3g}",
    )


def _late_loss(learner: Learner, stream: ArrayStream, late: slice) -> float:
    errors: Floats = stream.y - play(learner, stream).predictions
    return float(np.mean(errors[late] ** 2))


Check = Callable[[LearnerMaker], None]

LEARNER_CHECKS: tuple[Check, ...] = (
    learners.keeps_to_the_budget,
    learners.sees_only_what_it_bought,
    learners.cannot_see_the_future,
    learners.repeats_itself,
    learners.goes_on_from_a_copy,
    learners.goes_on_from_a_file,
    learners.predicts_without_a_trace,
    learners.refuses_without_a_trace,
    learners.takes_labels_in_any_order,
    learners.copes_with_absent_values,
    learners.copes_with_odd_columns,
    extremes.copes_with_any_scale,
    learners.stays_small,
    learners.plays_blocks_as_it_plays_rounds,
    learners.sees_only_what_it_bought_in_blocks,
    *STUDY_CHECKS,
    *INTERVAL_CHECKS,
    *STEP_CHECKS,
    doubts_leave_no_trace,
)


def learner_checks(
    *,
    learns_by: int | None = None,
    prices: Treatment = "any reads",
    within_labels: bool = True,
    sparse: bool = True,
) -> dict[str, Check]:
    """The checks, by name, of a learner that says this of itself, as its row in the registry does.

    >>> len(learner_checks(prices="refuses")) < len(learner_checks(prices="by price"))
    True
    """
    checks = {check.__name__: check for check in LEARNER_CHECKS}
    if within_labels:
        checks["stays_within_the_labels"] = extremes.stays_within_the_labels
    if sparse:
        checks["has_a_sparse_model"] = learners.has_a_sparse_model
    if prices == "refuses":
        checks["refuses_prices"] = priced.refuses_prices
    else:
        checks |= {f"{c.__name__}_on_prices": _on_prices(c) for c in PRICED_CHECKS}
    if prices == "any reads":
        checks["says_what_would_be_enough"] = priced.says_what_would_be_enough
    if prices in BY_PRICE:
        checks |= {f"{c.__name__}_on_little_money": _on_prices(c, True) for c in PRICED_CHECKS}
    if learns_by is not None:
        checks["learns_an_easy_stream"] = lambda factory: learns_an_easy_stream(factory, learns_by)
    return checks


def _on_prices(check: Check, tight: bool = False) -> Check:
    return lambda factory: check(on_prices(factory, tight=tight))


def check_learner(
    factory: LearnerMaker,
    *,
    learns_by: int | None = None,
    prices: Treatment = "any reads",
    within_labels: bool = True,
    sparse: bool = True,
) -> None:
    """Run every check that the learners of this library must pass, with the promises of their rows.

    Parameters
    ----------
    factory
        Makes a fresh learner, always the same, for a problem. It may refuse a problem with
        ProblemError; it is then asked again with budget = d.
    learns_by
        The round by which it must have learnt `testing.easy_stream`; None claims nothing.
    prices
        What it does with prices: "by price" chooses by them, "any reads" knows none and reads any
        `problem.reads` features, "reads nothing", "reads all", or "refuses" all prices.
    within_labels
        Whether predictions stay within the range of the labels so far.
    sparse
        Whether its models have at most k features.
    """
    promises = learner_checks(
        learns_by=learns_by, prices=prices, within_labels=within_labels, sparse=sparse
    )
    for check in promises.values():
        check(factory)
