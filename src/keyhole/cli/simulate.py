"""keyhole simulate: a stream whose truth is known, as a file."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyhole.cli import options
from keyhole.cli.options import option

if TYPE_CHECKING:
    from keyhole.problem import Problem
    from keyhole.problem.prices import Prices
    from keyhole.streams import Simulated


class SimulationKind(StrEnum):
    """What can be simulated."""

    clinic = "clinic"
    realizable = "realizable"
    dense = "dense"
    nonlinear = "nonlinear"
    needle = "needle"
    ill_conditioned = "ill-conditioned"
    padded_hard = "padded-hard"
    switching = "switching"
    drifting = "drifting"
    sign_flips = "sign-flips"
    leaders = "leaders"
    indep = "indep"
    dear = "dear"
    proxy = "proxy"
    panel = "panel"
    heavy = "heavy"
    free50 = "free50"


PRICED = ("indep", "dear", "proxy", "panel", "heavy", "free50")


@dataclass(frozen=True)
class SimulateOptions:
    """What to simulate."""

    kind: Annotated[SimulationKind, typer.Argument(help="What to simulate.")] = (
        SimulationKind.realizable
    )
    features: Annotated[
        int,
        option(
            "--features -d D",
            "Number of features; fixed for the clinic and for streams with prices.",
            min=1,
        ),
    ] = 64
    sparsity: options.TrueSparsity = 4
    rows: Annotated[int, option("--rows -n N", "Number of rows.", min=1)] = 10_000
    noise_sd: Annotated[
        float | None, typer.Option(min=0.0, help="Noise in the labels, as a standard deviation.")
    ] = None
    seed: options.Seed = 0


@options.with_flat_options
def simulate(
    *,
    out: Annotated[
        str, option("--out -o FILE", ".csv, .parquet or .arrow; - for standard output.")
    ],
    what: SimulateOptions,
    target: Annotated[str, typer.Option(metavar="COLUMN", help="Name of the label column.")] = "y",
    prices: Annotated[
        str | None,
        option(
            "--prices FILE.csv", "Also write the price list; for clinic, " + ", ".join(PRICED) + "."
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Write a simulated stream to a file.

    Prints the true model behind it. The clinic has a price list. So do indep, dear, proxy, panel,
    heavy and free50, the streams for comparing learners that spend money
    (`kh.streams.PRICED_SUITE`).

    \b
    Examples:
      keyhole simulate clinic --rows 4000 --target days --out clinic.csv
      keyhole simulate switching -d 100 -k 4 -n 50000 --out switching.parquet
      keyhole simulate panel --out panel.csv --prices prices.csv
      keyhole simulate needle -d 300 --out - | keyhole run - --target y
    """
    from keyhole.cli.output import emit, refuse_json_and_rows, write_rows

    refuse_json_and_rows(out, as_json)
    made = _make(what)
    if prices is not None:
        _write_prices(prices, what, out)
    write_rows(made.stream, out, target=target)
    if out == "-":
        return
    if as_json:
        emit(
            {
                "kind": what.kind.value,
                "file": out,
                "rows": what.rows,
                "features": made.stream.d,
                "target": target,
                "seed": what.seed,
                "intercept": made.truth.intercept,
                "noise_sd": made.truth.noise_sd,
                "weights": _weights(made),
                "changes": max(0, len(made.truth.path) - 1),
                "prices": prices,
            }
        )
    else:
        _show(made, what, out, target)
        if prices is not None:
            typer.echo(f"  prices: {prices}")


def _write_prices(path: str, what: SimulateOptions, out: str) -> None:
    """The price list of a stream that has one."""
    from keyhole import streams
    from keyhole.problem import DataError, Problem, ProblemError

    if path == out:
        raise DataError(f"--prices {path} and --out {out} must be different files")
    if what.kind == SimulationKind.clinic:
        stream = streams.clinic(1).stream
        problem = Problem(stream.d, 1, 10**6, stream.names, streams.clinic_prices())
    elif what.kind in PRICED:
        problem = streams.priced_suite(what.kind.value, 1, seed=what.seed).loose
    else:
        raise ProblemError(
            f"--prices {path}: {what.kind.value} has no prices; the clinic has, and "
            f"{', '.join(PRICED)}"
        )
    write_prices(problem, path)


def write_prices(problem: Problem, path: str) -> None:
    """Write the price list of a problem as `read_prices` reads it: whole or not at all."""
    import csv
    import io
    from pathlib import Path

    from keyhole.errors import DataError
    from keyhole.problem.atomic_file import whole_file

    prices = problem.prices
    assert prices is not None
    names = problem.names or tuple(f"x{j}" for j in range(problem.d))
    users = [
        [j for j, need in enumerate(prices.needs) if i in need] for i in range(len(prices.items))
    ]
    own = {
        users[i][0]: i for i in range(len(users)) if prices.items[i] == problem.label(users[i][0])
    }
    rows = [["feature", "price", "panel"]]
    rows += [
        [item, str(_exact(prices, units)), ""]
        for i, (item, units) in enumerate(zip(prices.items, prices.units, strict=True))
        if i not in own.values()
    ]
    for j, need in enumerate(prices.needs):
        panels = ";".join(prices.items[i] for i in need if i != own.get(j))
        price = str(_exact(prices, prices.units[own[j]])) if j in own else "" if panels else "0"
        rows.append([names[j], price, panels])
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    with whole_file(Path(path), DataError) as file:
        file.write(text.getvalue().encode())


def _exact(prices: Prices, units: int) -> Decimal:
    return Decimal(units).scaleb(-prices.decimals)


def _weights(made: Simulated) -> dict[str, float]:
    """The weights that are not 0, by the names of their features."""
    stream, truth = made
    names = stream.names or tuple(f"x{i}" for i in range(stream.d))
    return {names[j]: float(truth.weights[j]) for j in truth.support}


def _show(made: Simulated, what: SimulateOptions, out: str, target: str) -> None:
    from keyhole.cli.output import columns, heading, number, say

    stream, truth = made
    say(f"{out}: {what.rows:,} rows, {stream.d} features, label {target!r}, seed {what.seed}")
    changes = len(truth.path) - 1
    heading("The true model" + (f", averaged over {changes:,} changes" if changes > 0 else ""))
    shown = sorted(_weights(made).items(), key=lambda item: -abs(item[1]))
    say(*columns([(name, f"{w:+.4g}") for name, w in shown[:20]], "<>"))
    if len(shown) > 20:
        say(f"  and {len(shown) - 20} more")
    say(f"  intercept {number(truth.intercept)}, noise of sd {number(truth.noise_sd)}")


def _make(what: SimulateOptions) -> Simulated:
    from keyhole import streams
    from keyhole.problem import ProblemError

    kind, seed = what.kind, what.seed
    d, k, n = what.features, what.sparsity, what.rows
    noise: dict[str, Any] = {} if what.noise_sd is None else {"noise_sd": what.noise_sd}
    if noise and kind in (SimulationKind.clinic, SimulationKind.needle, *PRICED):
        raise ProblemError(f"--noise-sd cannot be changed for {kind.value}")
    if kind in PRICED:
        case = streams.priced_suite(kind.value, n, seed=seed)
        return streams.Simulated(case.stream, case.truth)
    hard = max(1, n // 4)
    sizes: dict[str, tuple[int, ...]] = {  # of the others: d, n
        "clinic": (n,),
        "realizable": (d, k, n),
        "switching": (d, k, n),
        "ill_conditioned": (d, max(1, k // 2), n),
        "padded_hard": (d, k, hard, n - hard),
    }
    made: Simulated = getattr(streams, kind.name)(*sizes.get(kind.name, (d, n)), seed=seed, **noise)
    return made
