"""The promises that a variant of a learner (another mode, other parts) can break on its own.

All others are kept by code that every variant shares; `tests/conformance` runs them.
"""

from collections.abc import Callable

from keyhole.problem import Learner, Problem
from keyhole.testing import history as studying
from keyhole.testing import learners

CHECKS = (
    learners.keeps_to_the_budget,
    learners.goes_on_from_a_file,
    learners.predicts_without_a_trace,
    learners.takes_labels_in_any_order,
    learners.copes_with_absent_values,
    learners.copes_with_odd_columns,
    learners.plays_blocks_as_it_plays_rounds,
    learners.sees_only_what_it_bought_in_blocks,
    studying.studies_beside_the_game,
    studying.plays_blocks_after_study,
)


def check_variant(factory: Callable[[Problem], Learner]) -> None:
    """Run these checks; `factory` as in `kh.testing.check_learner`."""
    for check in CHECKS:
        check(factory)
