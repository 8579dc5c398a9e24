"""keyhole create: a new learner in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from keyhole.cli import options
from keyhole.cli.counter import Address, opened

if TYPE_CHECKING:
    from keyhole.problem import Problem


@options.flat
def create(
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new learner.")],
    budget: Annotated[
        float,
        typer.Option(
            "--budget",
            "-b",
            metavar="N",
            help="Number of features to read per example; with --prices money, as in 40 or 12.50.",
        ),
    ],
    features: Annotated[
        str | None,
        typer.Option(
            "--features",
            metavar="FILE.csv",
            help="Names of the features: one per line, columns feature and unit, or the header of "
            "a table.",
            show_default="the columns of --history",
        ),
    ] = None,
    sparsity: Annotated[
        int | None,
        typer.Option(
            "--sparsity",
            "-k",
            min=1,
            metavar="K",
            show_default="4, or what the budget buys",
            help="Number of features in the model to compare with.",
        ),
    ] = None,
    shop: options.PriceOptions,
    history: options.HistoryOptions,
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="COLUMN", help="Label column of --history."),
    ] = None,
    learner: Annotated[
        str,
        typer.Option(
            "--learner",
            "-l",
            metavar="NAME",
            autocompletion=options.complete_learner,
            help="Which learner; `keyhole learners` lists them.",
        ),
    ] = "auto",
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    csv: options.CsvOptions,
    store: Address = "keyhole.db",
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
    from keyhole.cli.forms import read_features
    from keyhole.cli.output import emit, say
    from keyhole.cli.progress import staged
    from keyhole.errors import DataError

    source = features or history.history
    if source is None:
        raise DataError("name the features with --features FILE.csv")
    if history.history is not None and target is None:
        raise DataError(f"which column of {history.history} is the label? Use --target COLUMN")
    if history.history is None and history.half_life is not None:
        raise DataError("--half-life needs --history")
    names, units = read_features(source, target, csv.separator)
    problem = _problem(names, budget, sparsity, shop)
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
    with opened(store, create=True) as counter, staged("making the learner"):
        counter.create(
            name,
            problem,
            learner,
            seed=seed,
            history=old,
            half_life=history.half_life,
            units=units,
        )
        info = counter.info(name)
    if as_json:
        emit(info.as_dict())
        return
    after = f", after {info.history:,} rows of history" if info.history else ""
    say(
        f"{name}: a learner of kind {learner} for {info.d} features in {store}{after}",
        f"  keyhole ask {name}",
    )


def _problem(
    names: tuple[str, ...], budget: float, sparsity: int | None, shop: options.PriceOptions
) -> Problem:
    from keyhole.cli.shop import prices_for
    from keyhole.problem import Problem, ProblemError

    if shop.prices is not None:
        prices = prices_for(shop.prices, names)
        problem = Problem(len(names), 1, budget, names, prices)
        return problem.replace(k=min(4, problem.width) if sparsity is None else sparsity)
    if not budget.is_integer():
        raise ProblemError(f"--budget {budget:g}: without --prices it is a number of features")
    k = min(4, int(budget)) if sparsity is None else sparsity
    return Problem(len(names), max(1, k), int(budget), names)
