"""keyhole learners: what there is."""

from __future__ import annotations

from keyhole.cli.options import Json


def learners(as_json: Json = False) -> None:
    """List the learners, with one line each.

    All but `zero` and the printed ones keep predictions within the range of the labels seen so
    far. The second column says what a learner does with prices: it buys by price; it reads any
    features, as many as the budget always covers; it reads nothing, or everything; or it refuses.
    The third says how the memory it needs grows with the number d of features: those with O(d) are
    for 10,000 features and more.

    \b
    Example:
      keyhole learners
    """
    from keyhole.cli.output import answer, columns
    from keyhole.learners.registry import LEARNERS

    rows = [(name, row.prices, row.memory, row.summary) for name, row in LEARNERS.items()]
    keys = ("name", "prices", "memory", "what")
    found = {"learners": [dict(zip(keys, row, strict=True)) for row in rows]}
    answer(as_json, found, *columns(rows, "<<<<", indent=0))
