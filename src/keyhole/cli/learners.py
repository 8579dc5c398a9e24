"""keyhole learners: what there is."""

from __future__ import annotations

from keyhole.cli.options import Json


def learners(as_json: Json = False) -> None:
    """List the learners, with one line each.

    All but `zero` and the printed ones predict within the range of the labels seen so far.

    \b
    Example:
      keyhole learners
    """
    from keyhole.cli.output import columns, emit, say
    from keyhole.learners.registry import LEARNERS

    what = {name: row.summary for name, row in LEARNERS.items()}
    if as_json:
        emit({"learners": [{"name": name, "what": line} for name, line in what.items()]})
    else:
        say(*columns(list(what.items()), "<<", indent=0))
