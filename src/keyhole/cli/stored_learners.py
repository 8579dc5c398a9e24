"""Commands for the learners of a store: create, status, verify and delete."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from keyhole.cli import options
from keyhole.cli.options import option
from keyhole.cli.store_options import LearnerName, OneOrAll, StoreAddress, ago, open_store

if TYPE_CHECKING:
    from keyhole.counter.store import LearnerInfo


@options.with_flat_options
def create(
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new learner.")],
    features: Annotated[
        str | None,
        option(
            "--features FILE",
            "Names of the features: one per line, columns feature and unit, or a table whose "
            "columns they are.",
            show_default="the columns of --history",
        ),
    ] = None,
    size: options.SizeOptions,
    pricing: options.PriceOptions,
    history: options.HistoryOptions,
    target: Annotated[
        str | None, option("--target -t COLUMN", "Label column of --history.")
    ] = None,
    learner: options.LearnerKind = "auto",
    label_limits: Annotated[
        str | None,
        option(
            "--label-limits LOW:HIGH",
            "Least and largest possible label, as in 0:365 or 0:; other labels are refused.",
        ),
    ] = None,
    seed: options.Seed = 0,
    reading: options.ReadOptions,
    store: StoreAddress = "keyhole.db",
    as_json: options.Json = False,
) -> None:
    """Create a learner in the store.

    Ask it what to buy, and tell it the labels. The store is a file, created if it does not exist.
    The commands ask, fill, tell, drop, tickets, status, verify and backup work on it, from any
    shell, at any time. Set KEYHOLE_STORE to avoid repeating --store.

    Without --budget and --sparsity, they are chosen from --history. A column of text, such as a
    ward, is one purchase, and a value of it is given as ward=north.

    \b
    Examples:
      keyhole create clinic --features features.csv --budget 8
      keyhole create clinic --features features.csv --prices prices.csv --budget 30
      keyhole create clinic --history old.csv --target days --budget 8 --sparsity 4
    """
    from keyhole.analysis.first_look import first_look
    from keyhole.cli.new_learner import prepared
    from keyhole.cli.output import answer, say
    from keyhole.cli.progress import status_line
    from keyhole.cli.source import say_findings

    ends = None if label_limits is None else _ends(label_limits)
    new = prepared(features, target, size, pricing, history, reading)
    with open_store(store, create=True) as counter, status_line("making the learner"):
        info = counter.create(
            name,
            new.sizes.problem.replace(label_limits=ends),
            learner,
            seed=seed,
            history=new.history,
            half_life=history.half_life,
            units=new.units,
            yes_no=new.yes_no,
        )
        url = counter.url if "://" in store else store  # without its password
    if not as_json:
        if new.history is not None:
            say_findings(first_look(new.history))
        say(*new.source.price_words())
        if new.sizes.words:
            say(new.sizes.words)
    after = f", after {info.history:,} rows of history" if info.history else ""
    answer(
        as_json,
        info.as_dict(),
        f"{name}: a learner of kind {learner} for {info.d} features in {url}{after}",
        f"  keyhole ask {name}",
    )


def _ends(text: str) -> tuple[float | None, float | None]:
    """Two numbers with a colon between them; either may be left out."""
    from keyhole.errors import DataError

    low, mark, high = text.partition(":")
    try:
        if not mark:
            raise ValueError
        return float(low) if low.strip() else None, float(high) if high.strip() else None
    except ValueError:
        raise DataError(f"--label-limits must be as in 0:365, 0: or :10, got {text!r}") from None


def status(
    learner: OneOrAll = None,
    store: StoreAddress = "keyhole.db",
    as_json: options.Json = False,
) -> None:
    """Show how the learners in the store are doing.

    \b
    Example:
      keyhole status
    """
    from keyhole.cli.output import columns, emit, say

    with open_store(store) as counter:
        infos = counter.learners() if learner is None else [counter.info(learner)]
        damaged = counter.damaged() if learner is None else {}
        url = counter.url
    if as_json:
        found = [info.as_dict() for info in infos]
        emit({"store": url, "learners": found, "damaged": damaged})
        return
    say(*damaged.values())
    if not infos and not damaged:
        say(f"{url}: no learners yet; `keyhole create` makes one")
        return
    head = ("learner", "kind", "rounds", "open", "told", "dropped", "spent", "mean squared error")
    rows = [(*head, "last asked", "last told"), *(_row(info) for info in infos)]
    if infos:
        say(*columns(rows, "<<>>>>>>>>", indent=0))


def _row(info: LearnerInfo) -> tuple[str, ...]:
    from keyhole.cli.output import number

    counts = (info.rounds, info.open, info.told, info.dropped)
    loss = "-" if info.mean_loss is None else number(info.mean_loss)
    return (
        *(info.name, info.kind, *(f"{count:,}" for count in counts)),
        *(number(info.spent), loss, ago(info.asked_at), ago(info.told_at)),
    )


def verify(
    learner: OneOrAll = None,
    store: StoreAddress = "keyhole.db",
    as_json: options.Json = False,
) -> None:
    """Replay the whole log and compare the result with the store.

    \b
    Example:
      keyhole verify
    """
    from keyhole.cli.output import answer

    with open_store(store) as counter:
        found = counter.verify(learner)
    as_it_was = "events replayed, everything is as it was"
    lines = (f"{name}: {events:,} {as_it_was}" for name, events in found.items())
    answer(as_json, {"verified": found}, *lines)


def delete(
    learner: LearnerName,
    force: Annotated[bool, typer.Option("--force", help="Give up its open tickets.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask for the name again; for scripts.")
    ] = False,
    store: StoreAddress = "keyhole.db",
    as_json: options.Json = False,
) -> None:
    """Delete a learner, with its log and its tickets. This cannot be undone.

    Keep a copy first: `kh.Store(...).export(name, path)`, the export of a service, or `keyhole
    backup`, which copies the whole store.

    \b
    Example:
      keyhole backup before.db
      keyhole delete clinic
    """
    from keyhole.cli.output import answer
    from keyhole.errors import DataError

    with open_store(store) as counter:
        info = counter.info(learner)
        if not yes:
            if not sys.stdin.isatty():
                raise DataError(f"deleting {learner} cannot be undone: add --yes to confirm it")
            events = f"{info.rounds:,} examples, {info.told:,} labels, {info.open:,} open tickets"
            typer.echo(f"{learner} has {events}. Deleting it cannot be undone.", err=True)
            if typer.prompt("Type its name to delete it", err=True) != learner:
                raise DataError(f"that is not its name: {learner} was not deleted")
        gone = counter.delete(learner, force=force)
    gone_words = f"{learner} is deleted: {gone.rounds:,} examples, {gone.told:,} labels"
    answer(as_json, {"deleted": gone.as_dict()}, gone_words)
