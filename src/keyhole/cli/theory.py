"""keyhole theory: the paper's constants and bounds for given numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from keyhole.cli import options

if TYPE_CHECKING:
    from keyhole.theory import Bound


def theory(
    features: Annotated[
        int, typer.Option("--features", "-d", min=1, metavar="D", help="Features of an example.")
    ] = 64,
    sparsity: Annotated[
        int, typer.Option("--sparsity", "-k", min=1, metavar="K", help="Features that matter.")
    ] = 4,
    budget: Annotated[
        int,
        typer.Option("--budget", "-b", min=1, metavar="N", help="Features read of one example."),
    ] = 12,
    rounds: Annotated[
        int, typer.Option("--rounds", "-T", min=2, metavar="T", help="Examples.")
    ] = 100_000,
    noise_sd: Annotated[float, typer.Option(min=0.0, help="Of the labels.")] = 0.1,
    kappa: Annotated[
        float, typer.Option(min=1.0, help="Restricted condition number of the features.")
    ] = 1.2,
    failure_probability: Annotated[float, typer.Option(help="delta of the bounds.")] = 0.05,
    constant: Annotated[float, typer.Option(help="C, where the paper leaves it open.")] = 1.0,
    as_json: options.Json = False,
) -> None:
    """Print the paper's constants and bounds, each with its label and formula.

    Where a bound is O(...), C is a placeholder: compare bounds with each other, do not take them
    as promises.

    \b
    Examples:
      keyhole theory --features 64 --sparsity 4 --budget 12 --rounds 20000
      keyhole theory -d 100 -k 5 -b 50 --kappa 1.5 --json
    """
    from keyhole import theory as bounds
    from keyhole.cli.output import columns, emit, heading, number, say
    from keyhole.problem import Problem

    problem, T = Problem(features, sparsity, budget), rounds
    d, k, k0 = problem.d, problem.k, problem.exploration
    small = {"failure_probability": failure_probability}
    free = {**small, "constant": constant}
    burn_in = bounds.t0(d, k, T, constant=constant)
    realizable: dict[str, Bound] = {"rounds before weights are played": burn_in}
    if k0 > 0:
        realizable |= {
            "threshold of the program at T": bounds.threshold(T, d, k0, noise_sd=noise_sd, **free),
            "regret, short form": bounds.realizable_regret(T, d, k, k0, **free),
            "regret, all terms": bounds.realizable_regret_full(
                T, d, k, k0, noise_sd=noise_sd, burn_in=burn_in.value, **free
            ),
        }
    realizable["the truth's own regret"] = bounds.wstar_regret(d, k, noise_sd=noise_sd, **small)
    sizes = bounds.agnostic_parameters(T, d, k, budget, kappa=kappa)
    B, k1 = max(1, math.ceil(sizes.batch_size)), max(1, math.ceil(sizes.slots))
    agnostic = {
        "regret, short form": bounds.agnostic_regret(
            T, d, k, budget, kappa=kappa, constant=constant
        ),
        "regret, all terms": bounds.agnostic_regret_full(
            T, d, k, budget, slots=k1, batch_size=B, kappa=kappa
        ),
    }
    lower = bounds.lower_bounds(T, d, k, constant=constant)
    if as_json:
        emit(
            {
                "problem": {"features": d, "sparsity": k, "budget": budget, "rounds": T},
                "realizable": realizable,
                "agnostic": agnostic,
                "agnostic_parameters": sizes,
                "lower_bounds": lower,
            }
        )
        return

    def lines(named: dict[str, Bound]) -> list[str]:
        return columns(
            [(name, number(b.value), b.label, b.formula) for name, b in named.items()], "<><<"
        )

    say(f"{d} features, models of {k}, {budget} read per example, {T:,} rounds")
    heading(f"Algorithm 1, labels that follow a model: {k0} features to explore with")
    say(*lines(realizable))
    if k0 == 0:
        say("  No feature is left to explore with: raise --budget above --sparsity.")
    heading(f"Algorithm 2, any labels: batches of B = {number(B)}, k1 = {number(k1)} slots")
    say(*lines(agnostic))
    say(*(f"  Cannot be used: {reason}." for reason in sizes.reasons))
    heading("What no learner can beat, up to C")
    say(*columns([(number(b.value), b.label, b.formula) for b in lower], "><<"))
