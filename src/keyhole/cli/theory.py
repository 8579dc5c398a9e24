"""keyhole theory: the paper's constants and bounds for given numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from keyhole.cli import options
from keyhole.cli.options import option

if TYPE_CHECKING:
    from keyhole.analysis.theory import Bound


@dataclass(frozen=True)
class TheoryOptions:
    """The numbers that bounds are made of."""

    features: Annotated[
        int, option("--features -d D", "Number of features of an example.", min=1)
    ] = 64
    sparsity: options.TrueSparsity = 4
    budget: Annotated[
        int, option("--budget -b N", "Number of features read per example.", min=1)
    ] = 12
    rounds: Annotated[int, option("--rounds -T T", "Number of examples.", min=2)] = 100_000
    noise_sd: Annotated[
        float, typer.Option(min=0.0, help="Noise in the labels, as a standard deviation.")
    ] = 0.1
    kappa: Annotated[
        float, typer.Option(min=1.0, help="Restricted condition number of the features.")
    ] = 1.2
    failure_probability: Annotated[
        float, typer.Option(help="Delta: how often the bounds may fail.")
    ] = 0.05
    constant: Annotated[
        float, typer.Option(help="C, where the paper leaves the constant open.")
    ] = 1.0


@options.with_flat_options
def theory(*, given: TheoryOptions, as_json: options.Json = False) -> None:
    """Print the paper's constants and bounds.

    Each comes with its label and formula. Where a bound is O(...), C is a placeholder: compare such
    bounds with each other, and do not read them as promises.

    \b
    Examples:
      keyhole theory --features 64 --sparsity 4 --budget 12 --rounds 20000
      keyhole theory -d 100 -k 5 -b 50 --kappa 1.5 --json
    """
    from keyhole import theory as bounds
    from keyhole.cli.output import columns, emit, heading, number, say
    from keyhole.problem import Problem

    T, problem = given.rounds, Problem(given.features, given.sparsity, given.budget)
    d, k, k0, budget = problem.d, problem.k, problem.exploration, problem.reads
    realizable = _realizable(given, k0)
    sizes = bounds.agnostic_parameters(T, d, k, budget, kappa=given.kappa)
    B, k1 = max(1, math.ceil(sizes.batch_size)), max(1, math.ceil(sizes.slots))
    short = bounds.agnostic_regret(T, d, k, budget, kappa=given.kappa, constant=given.constant)
    full = bounds.agnostic_regret_full(T, d, k, budget, slots=k1, batch_size=B, kappa=given.kappa)
    agnostic = {"regret, short form": short, "regret, all terms": full}
    lower = bounds.lower_bounds(T, d, k, constant=given.constant)
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
    say(f"{d} features, models of {k}, {budget} read per example, {T:,} rounds")
    heading(f"Algorithm 1, labels that follow a model: {k0} features to explore with")
    say(*_lines(realizable))
    if k0 == 0:
        say("  No feature is left to explore with: raise --budget above --sparsity.")
    heading(f"Algorithm 2, any labels: batches of B = {number(B)}, k1 = {number(k1)} slots")
    say(*_lines(agnostic))
    say(*(f"  Cannot be used: {reason}." for reason in sizes.reasons))
    heading("What no learner can beat, up to C")
    say(*columns([(number(b.value), b.label, b.formula) for b in lower], "><<"))


def _realizable(given: TheoryOptions, k0: int) -> dict[str, Bound]:
    """Bounds of Algorithm 1 by what to call them; without exploration there are few."""
    from keyhole import theory as bounds

    d, k, T, noise_sd = given.features, given.sparsity, given.rounds, given.noise_sd
    small = {"failure_probability": given.failure_probability}
    free = {**small, "constant": given.constant}
    burn_in = bounds.t0(d, k, T, constant=given.constant)
    found = {"rounds before weights are played": burn_in}
    if k0 > 0:
        found |= {
            "threshold of the program at T": bounds.threshold(T, d, k0, noise_sd=noise_sd, **free),
            "regret, short form": bounds.realizable_regret(T, d, k, k0, **free),
            "regret, all terms": bounds.realizable_regret_full(
                T, d, k, k0, noise_sd=noise_sd, burn_in=burn_in.value, **free
            ),
        }
    return found | {
        "regret of the true model": bounds.wstar_regret(d, k, noise_sd=noise_sd, **small)
    }


def _lines(named: Mapping[str, Bound]) -> list[str]:
    from keyhole.cli.output import columns, number

    return columns(
        [(name, number(b.value), b.label, b.formula) for name, b in named.items()], "<><<"
    )
