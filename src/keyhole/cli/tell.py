"""keyhole tell and keyhole drop: the label of a ticket, or that it will never come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from keyhole.cli import options
from keyhole.cli.counter import CounterOptions, opened, told_words

if TYPE_CHECKING:
    from keyhole.cli.forms import Form
    from keyhole.counter.store import Store


@options.flat
def tell(
    *,
    what: Annotated[
        str, typer.Argument(metavar="TICKET", help="Ticket id; or a learner, if a file follows.")
    ],
    label: Annotated[str, typer.Argument(metavar="LABEL", help="The label; or a file of labels.")],
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "-t",
            metavar="COLUMN",
            help="Label column of the file.",
            show_default="the only one besides `ticket`",
        ),
    ] = None,
    csv: options.CsvOptions,
    counter: CounterOptions,
    as_json: options.Json = False,
) -> None:
    """Tell the label of a filled ticket; the learner learns from it.

    A label cannot be changed; telling the same one again is harmless. A file has the columns
    `ticket` and the label. Either all its lines are taken or none; lines without a label are
    skipped.

    \b
    Examples:
      keyhole tell K7QM-2XRT-9ABC 7.5
      keyhole tell clinic labels.csv
    """
    from keyhole.cli.forms import number
    from keyhole.cli.output import emit, say
    from keyhole.errors import DataError

    with opened(counter.store) as store:
        if what in store.names():
            _tell_many(store, what, label, target, csv, counter, as_json)
            return
        y = number(label, csv.decimal or ".", f"the label of {what}")
        if y is None:
            raise DataError(f"the label of {what} is missing: drop it if it never comes")
        told = store.tell(what, y, who=counter.name(), key=counter.key)
    if as_json:
        emit(told.as_dict())
    else:
        say(told_words(told))


@options.flat
def drop(
    *,
    ticket: Annotated[str, typer.Argument(metavar="TICKET", help="Ticket id.")],
    counter: CounterOptions,
    as_json: options.Json = False,
) -> None:
    """Close a ticket whose label will never come.

    \b
    Example:
      keyhole drop K7QM-2XRT-9ABC
    """
    from keyhole.cli.output import emit, say

    with opened(counter.store) as store:
        dropped = store.drop(ticket, who=counter.name(), key=counter.key)
    if as_json:
        emit(dropped.as_dict())
    else:
        say(told_words(dropped))


def _tell_many(
    store: Store,
    name: str,
    path: str,
    target: str | None,
    csv: options.CsvOptions,
    counter: CounterOptions,
    as_json: bool,
) -> None:
    from keyhole.cli.forms import read_form
    from keyhole.cli.output import emit, say
    from keyhole.errors import KeyholeError
    from keyhole.problem.display import counted

    form = read_form(path, csv)
    labels = _labels(form, target)
    try:
        told = store.tell_many(name, labels, who=counter.name(), key=counter.key)
    except KeyholeError as error:
        raise form.explain(error) from None
    left = len(form.lines) - len(labels)
    if as_json:
        emit({"empty": left, "tickets": [ticket.as_dict() for ticket in told]})
        return
    without = f", {counted(left, 'line')} without" if left else ""
    say(f"{name}: {counted(len(told), 'label')} told{without}")


def _labels(form: Form, target: str | None) -> dict[str, float]:
    from keyhole.errors import DataError, nearest

    columns = list(dict.fromkeys(name for row in form.values.values() for name in row))
    if target is None and len(columns) > 1:
        raise DataError(
            f"{form.title}: which column is the label? It has {', '.join(columns)}: "
            "use --target COLUMN"
        )
    if target is not None and columns and target not in columns:
        hint = nearest(target, columns)
        raise DataError(f"{form.title} has no column {target!r}{hint}")
    labels = {}
    for id, row in form.values.items():
        y = row.get(columns[0] if target is None else target)
        if y is not None:
            labels[id] = y
    return labels
