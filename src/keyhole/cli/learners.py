"""keyhole learners: what there is."""

from __future__ import annotations

from keyhole.cli.options import Json


def learners(as_json: Json = False) -> None:
    """List the learners, with one line each.

    All but `zero` and the printed ones keep predictions within the range of the labels seen so
    far. The second column says what a learner does with prices: it buys by price; it reads any
    features, as many as the budget always covers; it reads nothing, or everything; or it refuses.

    \b
    Example:
      keyhole learners
    """
    from keyhole.cli.output import columns, emit, say
    from keyhole.learners.registry import LEARNERS

    rows = [(name, row.prices, row.summary) for name, row in LEARNERS.items()]
    if as_json:
        emit({"learners": [{"name": a, "prices": b, "what": c} for a, b, c in rows]})
    else:
        say(*columns(rows, "<<<", indent=0))
