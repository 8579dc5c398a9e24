"""keyhole learners: what there is."""

from __future__ import annotations

import inspect

from keyhole.cli.options import Json


def learners(as_json: Json = False) -> None:
    """List the learners, with one line each.

    \b
    Example:
      keyhole learners
    """
    from keyhole.cli.output import columns, emit, say
    from keyhole.learners import LEARNERS

    what = {name: (inspect.getdoc(make) or "").splitlines()[0] for name, make in LEARNERS.items()}
    if as_json:
        emit({"learners": [{"name": name, "what": line} for name, line in what.items()]})
    else:
        say(*columns(list(what.items()), "<<", indent=0))
