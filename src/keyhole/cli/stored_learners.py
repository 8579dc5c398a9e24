"""Commands for the learners of a store: create, status, verify and delete."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyhole.cli import options
from keyhole.cli.options import option
from keyhole.cli.store_options import LearnerName, OneOrAll, StoreAddress, ago, open_store

if TYPE_CHECKING:
    from keyhole.counter.store import LearnerInfo
    from keyhole.problem import Problem


@options.with_flat_options
def create(
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new learner.")],
    budget: Annotated[
        float,
        option(
            "--budget -b N",
            "Number of features to read per example; with --prices money, as in 40 or 12.50.",
        ),
    ],
    features: Annotated[
        str | None,
        option(
            "--features FILE.csv",
            "Names of the features: one per line, columns feature and unit, or the header of "
            "a table.",
            show_default="the columns of --history",
        ),
    ] = None,
    sparsity: Annotated[
        int | None,
        option(
            "--sparsity -k K",
            "Number of features in the model to compare with.",
            min=1,
            show_default="4, or what the budget buys",
        ),
    ] = None,
    pricing: options.PriceOptions,
    history: options.HistoryOptions,
    target: Annotated[
        str | None, option("--target -t COLUMN", "Label column of --history.")
    ] = None,
    learner: options.LearnerKind = "auto",
    yes_no: Annotated[
        bool,
        typer.Option(
            "--yes-no", help="Labels are 0 (no) or 1 (yes); predictions are probabilities of yes."
        ),
    ] = False,
    label_limits: Annotated[
        str | None,
        option(
            "--label-limits LOW:HIGH",
            "Least and largest possible label, as in 0:365 or 0:; other labels are refused.",
        ),
    ] = None,
    seed: options.Seed = 0,
    csv: options.CsvOptions,
    store: StoreAddress = "keyhole.db",
    as_json: options.Json = False,
) -> None:
    """Create a learner in the store.

    Ask it what to buy, and tell it the labels. The store is a file, created if it does not exist.
    The commands ask, fill, tell, drop, tickets, status, verify and backup work on it, from any
    shell, at any time. Set KEYHOLE_STORE to avoid repeating --store.

    \b
    Examples:
      keyhole create clinic --features features.csv --budget 8
      keyhole create clinic --features features.csv --prices prices.csv --budget 30
      keyhole create clinic --history old.csv --target days --budget 8 --sparsity 4
    """
    from keyhole import streams
    from keyhole.cli.output import answer
    from keyhole.cli.progress import status_line
    from keyhole.cli.ticket_files import read_features
    from keyhole.errors import DataError

    source = features or history.history
    if source is None:
        raise DataError("name the features with --features FILE.csv")
    if history.history is not None and target is None:
        raise DataError(f"which column of {history.history} is the label? Use --target COLUMN")
    if history.history is None and history.half_life is not None:
        raise DataError("--half-life needs --history")
    names, units = read_features(source, target, csv.separator)
    ends = None if label_limits is None else _ends(label_limits)
    problem = _problem(names, budget, sparsity, pricing).replace(label_limits=ends)
    old = None
    if history.history is not None:
        old = streams.read(
            history.history,
            target=target,
            features=names,
            separator=csv.separator,
            decimal=csv.decimal,
            missing=csv.missing or (),
        )
    with open_store(store, create=True) as counter, status_line("making the learner"):
        made_from: dict[str, Any] = {"seed": seed, "history": old, "half_life": history.half_life}
        info = counter.create(name, problem, learner, **made_from, units=units, yes_no=yes_no)
        url = counter.url if "://" in store else store  # without its password
    after = f", after {info.history:,} rows of history" if info.history else ""
    answer(
        as_json,
        info.as_dict(),
        f"{name}: a learner of kind {learner} for {info.d} features in {url}{after}",
        f"  keyhole ask {name}",
    )


def _problem(
    names: tuple[str, ...], budget: float, sparsity: int | None, pricing: options.PriceOptions
) -> Problem:
    from keyhole.cli.source import table_for
    from keyhole.problem import Problem, ProblemError

    if pricing.prices is not None:
        prices = table_for(pricing.prices, names)
        problem = Problem(len(names), 1, budget, names, prices)
        return problem.replace(k=min(4, problem.width) if sparsity is None else sparsity)
    if not budget.is_integer():
        raise ProblemError(f"--budget {budget:g}: without --prices it is a number of features")
    k = min(4, int(budget)) if sparsity is None else sparsity
    return Problem(len(names), max(1, k), int(budget), names)


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
