"""What can be asked of a recording: words for the report, and what to work out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from keyhole.analysis.advice import BudgetCurve


@dataclass(frozen=True, slots=True)
class About:
    """What a report says about a run that cannot be seen in it.

    Parameters
    ----------
    name, settings, seed
        Of the learner, so that the run can be repeated; the name is that of its class by default.
    title, target
        What to call the stream and its label.
    command
        What to type, or to run, to have the same again.
    curve
        What so many features explain, if sizes were chosen from that.
    history
        How many rows the learner studied before (`learner.study`).
    columns
        Whether prices count the columns of a file, 1 for each, and are no money.
    """

    name: str | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    seed: int | None = None
    title: str = "a stream"
    target: str = "y"
    command: str = ""
    curve: BudgetCurve | None = None
    history: int = 0
    columns: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """What is worked out beside the game, and how thoroughly.

    Parameters
    ----------
    k
        Sparsity of the models in hindsight; None for the problem's.
    centred
        Whether models in hindsight may add an intercept.
    bins
        Most bins of time; between half as many and that many are used.
    seconds
        Limit of each search: for the best models along the way, for that of the end, for that
        beside the past, with prices for the frontier and for what is worth it, and a little less
        for the diagnosis.
    full
        Whether full information plays too. It is left out, with a note, where d^2 times rounds is
        beyond 2e10.
    diagnosed
        Whether to diagnose the stream.
    audit
        The share of blocks that are audited, as in `keyhole.play`.
    coverage
        What intervals around the predictions should cover; None: there are none.
    """

    k: int | None = None
    centred: bool = True
    bins: int = 96
    seconds: float = 10.0
    full: bool = True
    diagnosed: bool = True
    audit: float = 0.0
    coverage: float | None = None
