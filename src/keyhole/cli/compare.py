"""keyhole compare: several learners, several seeds, one file, one budget."""

from __future__ import annotations

from typing import Annotated

import typer

from keyhole.cli import options


def compare(
    file: options.File = None,
    target: options.Target = None,
    learner: Annotated[
        list[str] | None,
        typer.Option(
            "--learner",
            "-l",
            metavar="NAME",
            help="May be repeated; `keyhole learners` lists them.",
            show_default=", ".join(options.compared()),
            autocompletion=options.complete_learner,
        ),
    ] = None,
    budget: options.Budget = None,
    sparsity: options.Sparsity = None,
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, metavar="N", help="Games of each learner.")
    ] = 3,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", metavar="N", help="Processes; -1: one for each core.")
    ] = -1,
    rounds: options.Rounds = None,
    ignore: options.Ignore = None,
    categorical: options.Categorical = None,
    separator: options.Separator = None,
    decimal: options.Decimal = ".",
    missing: options.Missing = None,
    as_json: options.Json = False,
) -> None:
    """Play several learners on one file with the same budget, several seeds each.

    Regret is against the best model of --sparsity features that saw everything, with an intercept;
    normalised, 0 is as good as that model and 1 as the best constant. ± is the standard error over
    the seeds. `full` reads every feature whatever the budget: it shows what looking costs.

    \b
    Examples:
      keyhole compare flats.csv --target rent --budget 8 --learner auto --learner random
      keyhole compare --seeds 10 --jobs 4 --json
    """
    from keyhole.cli import tournament
    from keyhole.cli.output import emit
    from keyhole.cli.source import make_problem, open_source
    from keyhole.learners.registry import make_learner

    source = open_source(
        file,
        target,
        rounds=rounds,
        ignore=ignore,
        categorical=categorical,
        separator=separator,
        decimal=decimal,
        missing=missing,
    )
    problem = make_problem(source, budget, sparsity)
    names = list(dict.fromkeys(learner or options.compared()))
    for name in names:
        make_learner(name, problem, 0)  # one that cannot play says so before any has played
    result = tournament.play(source, problem, names, seeds, jobs)
    if as_json:
        emit(result.as_json())
    else:
        result.show()
    if result.interrupted:
        raise typer.Exit(130)
