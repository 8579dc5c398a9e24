"""Commands for tickets: `keyhole ask`, `fill`, `tell`, `drop` and `tickets`."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from keyhole.cli import options
from keyhole.cli.options import option
from keyhole.cli.store_options import (
    Confirm,
    LearnerName,
    OneOrAll,
    StoreAddress,
    StoreOptions,
    ago,
    closed_words,
    in_doubt,
    open_store,
    order_lines,
    parse_duration,
    served_lines,
)

if TYPE_CHECKING:
    from keyhole.cli.ticket_files import TicketValue, TicketValues

TicketOrLearner = Annotated[
    str, typer.Argument(metavar="TICKET", help="Ticket id; or a learner, if a file follows.")
]


@options.with_flat_options
def ask(
    *,
    learner: LearnerName,
    many: Annotated[int, option("--many -n N", "Number of tickets to issue at once.", min=1)] = 1,
    out: Annotated[
        str | None,
        option(
            "--out -o FILE.csv", "Write the tickets as a table to fill in; - for standard output."
        ),
    ] = None,
    expires: Annotated[
        str | None,
        option(
            "--expires TIME",
            "Mark the tickets as expired after this time, as in 14d. Late labels still count.",
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        option("--without FEATURE", "Feature that is not available this time; repeat for more."),
    ] = None,
    known: Annotated[
        list[str] | None,
        option("--known FEATURE=VALUE", "Value that is known already; repeat for more."),
    ] = None,
    budget: Annotated[
        float | None, option("--budget -b N", "Budget for this example only.")
    ] = None,
    steps: Annotated[
        bool,
        typer.Option(
            "--steps", help="Begin with what most examples need; `keyhole next` says more."
        ),
    ] = False,
    counter: StoreOptions,
    as_json: options.Json = False,
) -> None:
    """Ask a learner what to buy for the next example, or for many.

    Each example gets a ticket; write its id on the form. Give the values that come back to
    `keyhole fill`, which answers with the prediction, and the label, whenever it is known, to
    `keyhole tell`. --without, --known and --budget apply to this call only; not every learner
    supports them.

    \b
    Examples:
      keyhole ask clinic
      keyhole ask clinic --known age=61 --without mri
      keyhole ask clinic --many 500 --out orders.csv
    """
    from keyhole.cli.output import emit, refuse_json_and_rows, say
    from keyhole.cli.ticket_files import form_names, order_table
    from keyhole.problem.ticket import with_levels

    refuse_json_and_rows(out, as_json)
    values = values_of(known or (), "--known").items()
    given = {name: value for name, value in values if value is not None}
    with open_store(counter.store) as store, _written(out) as file:
        names = store.info(learner).names or ()
        in_hand = with_levels(given, names)
        gone = [name for one in without or () for name in _features_of(one, names)]
        terms: dict[str, Any] = {"without": gone, "known": in_hand, "budget": budget}
        tickets = store.ask(
            learner,
            many,
            **counter.caller(),
            expires_in=None if expires is None else parse_duration(expires),
            terms={name: value for name, value in terms.items() if value},
            steps=steps,
        )
        priced = store.info(learner).priced
        if file is not None:
            file.write(order_table(tickets).encode())
    if out == "-":
        sys.stdout.write(order_table(tickets))
    if as_json:
        emit({"tickets": [ticket.as_dict() for ticket in tickets]})
    elif out is None:
        for ticket in tickets:
            say(*order_lines(ticket, priced))
        if len(tickets) == 1 and tickets[0].names:
            first = shlex.quote(f"{form_names(tickets[0])[0]}=VALUE")
            say(f"  keyhole fill {tickets[0].id} {first} ...")
    elif out != "-":
        say(
            f"{out}: {len(tickets):,} tickets; fill the table in, then",
            f"  keyhole fill {learner} {out}",
        )


def _features_of(name: str, names: Sequence[str]) -> list[str]:
    """A feature, or those of a column of levels."""
    from keyhole.problem.ticket import levels_of

    levels = [] if name in names else levels_of(name, names)
    return [f"{name}={level}" for level in levels] or [name]


def _written(out: str | None) -> AbstractContextManager[BinaryIO | None]:
    """The file to write, opened before anything is asked for, so that a bad path is refused."""
    from keyhole.errors import DataError
    from keyhole.problem.atomic_file import whole_file

    if out is None or out == "-":
        return contextlib.nullcontext()
    return whole_file(Path(out), DataError)


@options.with_flat_options
def fill(
    *,
    what: TicketOrLearner,
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
    confirm: Confirm = False,
    csv: options.CsvOptions,
    counter: StoreOptions,
    as_json: options.Json = False,
) -> None:
    """Give the values of a ticket, and get the prediction.

    Values you leave out count as not arrived, which is fine: give them when they come. Values that
    turn out to be wrong are for `keyhole correct`; giving the same ones again is harmless. About a
    value far beyond all that was seen you are asked, and where nobody can be asked it is refused
    without --confirm. A file has a column `ticket` and one per feature, as written by `keyhole ask
    --out`. Either all its lines are taken or none; lines without any value are skipped.

    \b
    Examples:
      keyhole fill K7QM-2XRT-9ABC age=61 crp=4.2
      keyhole fill clinic orders.csv
    """
    from keyhole.cli.output import answer, emit, say
    from keyhole.cli.ticket_files import read_form
    from keyhole.errors import DataError, KeyholeError

    given = values or []
    with open_store(counter.store) as store:
        if what in store.names():
            if len(given) != 1:
                raise DataError(f"{what} is a learner: give one file with values, or a ticket's id")
            form = read_form(given[0], csv)
            try:
                many = in_doubt(
                    confirm,
                    lambda sure: store.fill_many(
                        what, form.values, **counter.caller(), confirm=sure
                    ),
                )
            except KeyholeError as error:
                raise form.explain(error) from None
            told = {"empty": form.empty, "tickets": [ticket.as_dict() for ticket in many]}
            lines = (f"{ticket.id},{ticket.prediction!r}" for ticket in many)
            answer(as_json, told, "ticket,prediction", *lines)
            return
        if bool(given) == nothing:
            raise DataError("give FEATURE=VALUE for what came back, or --nothing")
        came = values_of(given, what, csv.decimal or ".")
        filled = in_doubt(
            confirm, lambda sure: store.fill(what, came, **counter.caller(), confirm=sure)
        )
    if as_json:
        emit(filled.as_dict())
        return
    say(*served_lines(filled))
    if filled.awaited:
        say(f"  did not arrive yet: {', '.join(filled.awaited)}")
    if filled.stepwise and not filled.step:
        say(f"  keyhole next {filled.id}")
    say(f"  keyhole tell {filled.id} LABEL")


def values_of(pairs: Sequence[str], what: str, decimal: str = ".") -> dict[str, TicketValue]:
    """FEATURE=VALUE pairs; the last = counts, for a feature may be called sex=f."""
    from keyhole.cli.ticket_files import parse_value
    from keyhole.errors import DataError

    found: dict[str, TicketValue] = {}
    for pair in pairs:
        name, mark, text = pair.rpartition("=")
        if not mark or not name:
            raise DataError(f"{what}: {pair!r} is not FEATURE=VALUE")
        if name in found:
            raise DataError(f"{what}: {name!r} is given twice")
        found[name] = parse_value(text, decimal, f"{what}, {name}")
    return found


@options.with_flat_options
def tell(
    *,
    what: TicketOrLearner,
    label: Annotated[str, typer.Argument(metavar="LABEL", help="The label; or a file of labels.")],
    target: Annotated[
        str | None,
        option(
            "--target -t COLUMN",
            "Label column of the file.",
            show_default="the only one besides `ticket`",
        ),
    ] = None,
    confirm: Confirm = False,
    csv: options.CsvOptions,
    counter: StoreOptions,
    as_json: options.Json = False,
) -> None:
    """Tell the label of a filled ticket; the learner learns from it.

    A label that turns out to be wrong is for `keyhole correct`; telling the same one again is
    harmless. About a label far beyond all that were told you are asked, and where nobody can be
    asked it is refused without --confirm. A file has the columns `ticket` and the label. Either all
    its lines are taken or none; lines without a label are skipped.

    \b
    Examples:
      keyhole tell K7QM-2XRT-9ABC 7.5
      keyhole tell clinic labels.csv
    """
    from keyhole.cli.output import answer
    from keyhole.cli.ticket_files import parse_number, read_form
    from keyhole.errors import DataError, KeyholeError
    from keyhole.problem.display import counted

    with open_store(counter.store) as store:
        if what in store.names():
            form = read_form(label, csv)
            labels = _labels(form, target)
            try:
                many = in_doubt(
                    confirm,
                    lambda sure: store.tell_many(what, labels, **counter.caller(), confirm=sure),
                )
            except KeyholeError as error:
                raise form.explain(error) from None
            left = len(form.lines) - len(labels)
            without = f", {counted(left, 'line')} without" if left else ""
            said = {"empty": left, "tickets": [ticket.as_dict() for ticket in many]}
            answer(as_json, said, f"{what}: {counted(len(many), 'label')} told{without}")
            return
        y = parse_number(label, csv.decimal or ".", f"the label of {what}")
        if y is None:
            raise DataError(f"the label of {what} is missing: drop it if it never comes")
        told = in_doubt(confirm, lambda sure: store.tell(what, y, **counter.caller(), confirm=sure))
    answer(as_json, told.as_dict(), closed_words(told))


@options.with_flat_options
def drop(
    *,
    ticket: Annotated[str, typer.Argument(metavar="TICKET", help="Ticket id.")],
    counter: StoreOptions,
    as_json: options.Json = False,
) -> None:
    """Close a ticket whose label will never come.

    \b
    Example:
      keyhole drop K7QM-2XRT-9ABC
    """
    from keyhole.cli.output import answer

    with open_store(counter.store) as store:
        dropped = store.drop(ticket, **counter.caller())
    answer(as_json, dropped.as_dict(), closed_words(dropped))


def _labels(form: TicketValues, target: str | None) -> dict[str, float]:
    from keyhole.errors import DataError, nearest, shortened

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
        if isinstance(y, str):
            where = f"{form.title}, line {form.lines[id]}"
            raise DataError(f"{where}: the label {shortened(y)} is not a number")
        if y is not None:
            labels[id] = y
    return labels


def tickets(
    learner: OneOrAll = None,
    state: Annotated[
        str,
        option(
            "--state -s STATE",
            "asked, filled, told, dropped; open: asked, filled; closed: told, dropped; all.",
        ),
    ] = "open",
    older_than: Annotated[
        str | None,
        option("--older-than TIME", "Only tickets asked longer ago than this, as in 7d or 12h."),
    ] = None,
    limit: Annotated[
        int, option("--limit N", "Show at most this many, oldest first.", min=1)
    ] = 100,
    after: Annotated[
        str | None, option("--after TICKET", "Continue the list after this ticket.")
    ] = None,
    store: StoreAddress = "keyhole.db",
    as_json: options.Json = False,
) -> None:
    """List tickets, oldest first; by default the open ones.

    \b
    Examples:
      keyhole tickets clinic
      keyhole tickets clinic --state filled --older-than 14d
      keyhole tickets --state all --limit 1000 --json
    """
    from keyhole.cli.output import columns, emit, say
    from keyhole.problem.display import money_text

    with open_store(store) as counter:
        found = counter.tickets(
            learner,
            state=None if state == "all" else state,
            older_than=None if older_than is None else parse_duration(older_than),
            limit=limit + 1,
            after=after,
        )
    shown = found[:limit]
    if as_json:
        emit({"tickets": [ticket.as_dict() for ticket in shown], "more": len(found) > limit})
        return
    if not shown:
        say("no such tickets" if state == "all" or older_than else f"no tickets are {state}")
        return
    rows = [("ticket", "learner", "round", "state", "age", "cost", "who", "")]
    for ticket in shown:
        late = (
            ticket.open and ticket.expires_at is not None and ticket.expires_at < datetime.now(UTC)
        )
        about = (ticket.id, ticket.learner, str(ticket.round), ticket.state, ago(ticket.asked_at))
        rows.append((*about, money_text(ticket.cost), ticket.who, "expired" if late else ""))
    say(*columns(rows, "<<><>><<", indent=0))
    if len(found) > limit:
        say(f"and more: --after {shown[-1].id}")
