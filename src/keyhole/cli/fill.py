"""keyhole fill: what came back for a ticket; answers with the prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from keyhole.cli import options
from keyhole.cli.counter import CounterOptions, opened

if TYPE_CHECKING:
    from keyhole.counter.store import Store


@options.flat
def fill(
    *,
    what: Annotated[
        str, typer.Argument(metavar="TICKET", help="Ticket id; or a learner, if a file follows.")
    ],
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FEATURE=VALUE...",
            show_default=False,
            help="The values that came back; or a file of them.",
        ),
    ] = None,
    nothing: Annotated[
        bool, typer.Option("--nothing", help="Everything was ordered and nothing came back.")
    ] = False,
    csv: options.CsvOptions,
    counter: CounterOptions,
    as_json: options.Json = False,
) -> None:
    """Give the values of a ticket, and get the prediction.

    Values you leave out count as not arrived, which is fine. Values cannot be changed once a
    prediction was made from them; giving the same ones again is harmless. A file has a column
    `ticket` and one per feature, as written by `keyhole ask --out`. Either all its lines are taken
    or none; lines without any value are skipped.

    \b
    Examples:
      keyhole fill K7QM-2XRT-9ABC age=61 crp=4.2
      keyhole fill clinic orders.csv
    """
    from keyhole.cli.output import emit, number, say
    from keyhole.errors import DataError

    given = values or []
    with opened(counter.store) as store:
        if what in store.names():
            if len(given) != 1:
                raise DataError(f"{what} is a learner: give one file with values, or a ticket's id")
            _fill_many(store, what, given[0], csv, counter, as_json)
            return
        if bool(given) == nothing:
            raise DataError("give FEATURE=VALUE for what came back, or --nothing")
        filled = store.fill(
            what, values_of(given, what, csv.decimal or "."), who=counter.name(), key=counter.key
        )
    if as_json:
        emit(filled.as_dict())
        return
    say(f"Ticket {filled.id}: {filled.learner} predicts {number(filled.prediction or 0.0)}")
    if filled.low is not None and filled.high is not None:
        ends = f"{number(filled.low)} to {number(filled.high)}"
        say(f"  {100 * (filled.coverage or 0.0):g} % of labels lie within such intervals: {ends}")
    absent = [name for name, value in filled.as_dict()["values"].items() if value is None]
    if absent:
        say(f"  did not arrive: {', '.join(absent)}")
    say(f"  keyhole tell {filled.id} LABEL")


def _fill_many(
    store: Store,
    name: str,
    path: str,
    csv: options.CsvOptions,
    counter: CounterOptions,
    as_json: bool,
) -> None:
    from keyhole.cli.forms import read_form
    from keyhole.cli.output import emit, say
    from keyhole.errors import KeyholeError

    form = read_form(path, csv)
    try:
        filled = store.fill_many(name, form.values, who=counter.name(), key=counter.key)
    except KeyholeError as error:
        raise form.explain(error) from None
    if as_json:
        emit({"empty": form.empty, "tickets": [ticket.as_dict() for ticket in filled]})
        return
    say("ticket,prediction", *(f"{ticket.id},{ticket.prediction!r}" for ticket in filled))


def values_of(pairs: Sequence[str], what: str, decimal: str = ".") -> dict[str, float | None]:
    """FEATURE=VALUE pairs; the last = counts, for a feature may be called sex=f."""
    from keyhole.cli.forms import number
    from keyhole.errors import DataError

    found: dict[str, float | None] = {}
    for pair in pairs:
        name, mark, text = pair.rpartition("=")
        if not mark or not name:
            raise DataError(f"{what}: {pair!r} is not FEATURE=VALUE")
        if name in found:
            raise DataError(f"{what}: {name!r} is given twice")
        found[name] = number(text, decimal, f"{what}, {name}")
    return found
