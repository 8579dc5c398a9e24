"""keyhole advise: how many features to buy, from a file with everything known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyhole.cli import options
from keyhole.cli.options import option

if TYPE_CHECKING:
    from keyhole.analysis.advice import BudgetCurve


@dataclass(frozen=True)
class CurveOptions:
    """How far the curve goes, and what it may look at."""

    most: Annotated[
        int | None,
        option("--most N", "Largest number of features to try.", min=1, show_default="24"),
    ] = None
    scout: Annotated[
        float | None,
        option(
            "--scout SHARE",
            "Use only a random share of the rows, with all their values.",
            min=0.0,
            max=1.0,
        ),
    ] = None
    seed: Annotated[int, typer.Option("--seed", min=0, help="Random seed for --scout.")] = 0


@options.with_flat_options
def advise(
    *,
    file: options.FileOptions,
    curve: CurveOptions,
    pricing: options.PriceOptions,
    reading: options.ReadOptions,
    plot: Annotated[
        str | None, option("--plot FILE.png", "Also plot the curve: .png, .svg or .pdf.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Recommend how many features to buy.

    Shows what 1, 2, 3, ... features explain. Needs a file with every value known. Features are
    chosen and fitted on some rows and tested on others. A model of k features reads k features; a
    learner must also find out which ones, so its budget is larger. With --prices it recommends how
    much to spend per example instead.

    Given a learner saved by `keyhole run --save` (STATE.npz), it prints that learner's own advice.

    \b
    Examples:
      keyhole advise
      keyhole advise flats.csv --target rent --plot curve.png
      keyhole advise flats.csv --target rent --prices prices.csv
      keyhole advise --prices clinic
      keyhole advise flats.parquet -t rent --scout 0.05 --json
      keyhole advise state.npz
    """
    if len(file.files) == 1 and file.files[0].lower().endswith(".npz"):
        _refuse(file.files[0], pricing, curve, plot)
        _by_learner(file.files[0], as_json)
        return
    from keyhole.analysis.advice import budget_curve
    from keyhole.analysis.first_look import first_look
    from keyhole.cli.output import emit, plain, say
    from keyhole.cli.progress import status_line
    from keyhole.cli.source import open_source, say_findings

    if plot is not None:
        _check_plot(plot)
    source = open_source(file, reading, pricing)
    prices = None if source.pricing is None else source.pricing.prices
    with status_line(source.title) as stage:
        found = budget_curve(
            source.stream,
            prices=prices,
            most=curve.most,
            scout=curve.scout,
            seed=curve.seed,
            stage=stage,
        )
    findings = first_look(source.stream)
    if plot is not None:
        _draw(found, plot)
    if as_json:
        told = {"source": source.title, "target": source.target, **found.as_json()}
        left_out = {"rows_without_target": source.left_out, "plot": plot}
        left_out["findings"] = plain(findings)
        emit({**told, **left_out, "prices": source.prices_json()})
        return
    say_findings(findings)
    say(f"{source.title}: {found.passed:,} rows, target {source.target}")
    say(*source.price_words())
    say(*str(found).splitlines())
    if plot is not None:
        say("", f"Plot: {plot}")


def _refuse(
    path: str, pricing: options.PriceOptions, curve: CurveOptions, plot: str | None
) -> None:
    """ProblemError for what is no option where a saved learner advises."""
    from keyhole.problem import ProblemError

    if pricing.prices is not None:
        raise ProblemError(
            f"--prices {pricing.prices} is for a file with everything known: {path} was played "
            "with its own prices, if it had any"
        )
    given = {"--plot": plot, "--most": curve.most, "--scout": curve.scout}
    for name, value in given.items():
        if value is not None:
            raise ProblemError(
                f"{name} {value} is for a file with everything known: {path} is a saved learner, "
                "and has no curve"
            )


def _by_learner(path: str, as_json: bool) -> None:
    """What a saved learner advises."""
    from keyhole.cli.output import answer
    from keyhole.problem import StateError
    from keyhole.saving.api import load

    learner = load(path)
    advice = getattr(learner, "advice", None)
    if advice is None:
        raise StateError(
            f"{path}: {type(learner).__name__} does not advise; `keyhole advise FILE --target Y` "
            "does, from a file with everything known"
        )
    found = advice()
    answer(as_json, {"state": path, **found.as_json()}, *str(found).splitlines())


def _check_plot(path: str) -> None:
    """What is needed to draw should not be found missing after the work."""
    from keyhole.problem import DataError
    from keyhole.problem.optional_imports import extra

    if Path(path).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise DataError(f"--plot {path} must end in .png, .svg or .pdf")
    if not Path(path).parent.is_dir():
        raise DataError(f"cannot write {path}: there is no directory {Path(path).parent}")
    extra("matplotlib", "report")


def _draw(found: BudgetCurve, path: str) -> None:
    from keyhole.problem import DataError
    from keyhole.problem.atomic_file import whole_file
    from keyhole.report import plots

    figure = plots.budget_curve(found)
    with whole_file(Path(path), DataError) as file:
        figure.savefig(file, format=Path(path).suffix[1:].lower(), dpi=150)
