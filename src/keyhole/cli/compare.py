"""keyhole compare: several learners, several seeds, one file, one budget."""

from __future__ import annotations

from typing import Annotated

import typer

from keyhole.cli import options


class _Compared(str):
    """The learners that are compared by default, found out when they are shown."""

    __slots__ = ()

    def __format__(self, form: str) -> str:
        return ", ".join(options.compared())


@options.flat
def compare(
    *,
    file: options.FileOptions,
    learner: Annotated[
        list[str] | None,
        typer.Option(
            "--learner",
            "-l",
            metavar="NAME",
            help="May be repeated; `keyhole learners` lists them.",
            show_default=_Compared(),
            autocompletion=options.complete_learner,
        ),
    ] = None,
    size: options.SizeOptions,
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, metavar="N", help="Games of each learner.")
    ] = 3,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", metavar="N", help="Processes; -1: one for each core.")
    ] = -1,
    audit: options.Audit = 0.0,
    reading: options.ReadOptions,
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
    from keyhole.cli.output import emit, say
    from keyhole.cli.sizes import choose_sizes
    from keyhole.cli.source import open_source
    from keyhole.learners.registry import make_learner

    source = open_source(file, reading)
    sizes = choose_sizes(source, size)
    problem = sizes.problem
    names = list(dict.fromkeys(learner or options.compared()))
    for name in names:
        make_learner(name, problem, 0)  # one that cannot play says so before any has played
    result = tournament.play(source, problem, names, seeds, jobs, audit)
    if as_json:
        emit({**result.as_json(), "sizes": sizes.as_json()})
    else:
        result.show()
        if sizes.words:
            say(sizes.words)
    if result.interrupted:
        raise typer.Exit(130)
