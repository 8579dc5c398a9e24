"""keyhole compare: several learners, several seeds, one file, one budget or several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from keyhole.cli import options
from keyhole.cli.options import option


class _Compared(str):
    """The learners that are compared by default, found out when they are shown."""

    __slots__ = ()

    def __format__(self, form: str) -> str:
        return ", ".join(options.learners_to_compare())


@dataclass(frozen=True)
class SweepOptions:
    """Several budgets instead of one."""

    budgets: Annotated[
        list[str] | None,
        option(
            "--budgets LIST",
            "Several budgets instead of one: 4,8,12, or 4-16:4 for 4 to 16 in steps of 4. "
            "With --prices: money, as in 10,20,37.50.",
        ),
    ] = None
    plot: Annotated[
        str | None, option("--plot FILE.png", "Also plot loss against budget: .png, .svg or .pdf.")
    ] = None


@dataclass(frozen=True)
class GameOptions:
    """How often everything is played, and by how many processes."""

    seeds: Annotated[
        int, option("--seeds N", "Games per learner and budget, each with its own seed.", min=1)
    ] = 3
    jobs: Annotated[int, option("--jobs -j N", "Number of processes; -1: one per core.")] = -1
    cluster: Annotated[
        str | None,
        option(
            "--cluster ADDRESS",
            "A Dask scheduler, such as tcp://10.0.0.1:8786: its workers play the "
            "games. They must reach the files by the same address.",
        ),
    ] = None
    results: Annotated[
        str | None,
        option(
            "--results FILE.jsonl",
            "Store every game in this file as it ends; games already in it are not played again.",
        ),
    ] = None
    audit: options.Audit = 0.0


@options.with_flat_options
def compare(
    *,
    file: options.FileOptions,
    learner: Annotated[
        list[str] | None,
        option(
            "--learner --learners -l NAME,...",
            "Which learners; repeat for more. `keyhole learners` lists them.",
            show_default=_Compared(),
            autocompletion=options.complete_learner,
        ),
    ] = None,
    size: options.SizeOptions,
    money: options.MoneyOptions,
    several: SweepOptions,
    game: GameOptions,
    past: options.HistoryOptions,
    reading: options.ReadOptions,
    as_json: options.Json = False,
) -> None:
    """Compare learners on one file with the same budget.

    Each learner plays with several seeds. Regret is the loss beyond that of the best model of
    --sparsity features and an intercept that saw everything. Normalised, 0 is as good as that model
    and 1 as good as the best constant. ± is the standard error over the seeds. `full` reads every
    feature whatever the budget: it shows what a limited budget costs.

    With --budgets, the table shows the mean loss of each learner at each budget; --plot draws it.
    With --history, learners that can study old rows do so before every game.

    With --prices, --budget and --budgets are money, and regret is measured against the best model
    for the same money. Learners that ignore prices read as many features as the budget always
    covers; learners that refuse prices are left out unless you name them. --worth and --purse work
    as in `keyhole run`, for auto.

    Ctrl-C stops and shows the games finished so far; with --results, the same command continues
    from there.

    \b
    Examples:
      keyhole compare flats.csv --target rent --budget 8 --learner auto --learner random
      keyhole compare flats.csv --target rent --budgets 4,8,12,16 --plot budgets.png
      keyhole compare flats.csv --target rent --prices prices.csv --budgets 10,20,40
      keyhole compare --seeds 10 --jobs 4 --json
      keyhole compare s3://flats/ --target rent --cluster tcp://10.0.0.1:8786 --results flats.jsonl
    """
    from keyhole.cli import comparison
    from keyhole.cli.games import GameSettings, StoredGames, refuse_standard_input
    from keyhole.cli.output import emit, plain, say
    from keyhole.cli.sizes import choose_sizes, make_problems, parse_budgets
    from keyhole.cli.source import cannot_study, open_history, open_source, say_findings
    from keyhole.cli.spending import (
        SPENDING_LEARNER,
        capped,
        read_spending_rule,
        refuse_other_learners,
    )
    from keyhole.problem import ProblemError
    from keyhole.saving.parallel import cluster

    priced = money.pricing.prices is not None
    budgets = parse_budgets(several.budgets, money=priced) if several.budgets else None
    if budgets and size.budget is not None:
        raise ProblemError(f"use --budget {size.budget:g} or --budgets, not both")
    if several.plot is not None:
        comparison.check_plot(several.plot, budgets is not None)
    source = open_source(file, reading, money.pricing)
    spending = read_spending_rule(money, source)
    if budgets and spending.option:
        raise ProblemError(
            f"{spending.option} cannot be used with --budgets: give one --budget, or none"
        )
    names = [SPENDING_LEARNER] if spending.option else options.learners_to_compare()
    if learner:
        names = _names(learner)
    refuse_other_learners(names, spending)
    history = open_history(file, reading, past, source)
    how = GameSettings(
        game.seeds, game.jobs, game.audit, history, spending, source.answers, bool(learner)
    )
    if game.cluster is not None:
        refuse_standard_input(file, past)
        if game.jobs != -1:
            raise ProblemError(
                f"--jobs {game.jobs} cannot be used with --cluster: its workers play the games"
            )
    kept = StoredGames(game.results, source, history, repr((file.target, reading)))
    size = capped(size, spending, source.pricing)
    result: comparison.LearnerComparison | comparison.BudgetComparison
    sizes = None
    if budgets is None:
        sizes = choose_sizes(source, size, None if history is None else history.stream)
        with cluster(game.cluster):
            result = comparison.compare_learners(source, sizes.problem, names, how, kept)
    else:
        problems = make_problems(source, budgets, size.sparsity)
        with cluster(game.cluster):
            result = comparison.compare_budgets(source, problems, names, how, several.plot, kept)
    if as_json:
        chosen = {} if sizes is None else {"sizes": sizes.as_json()}
        studied = None if history is None else history.as_json()
        said = source.answers_json()
        found = plain(result.by.findings)
        emit({**result.as_json(), "findings": found, "answers": said, "history": studied, **chosen})
    else:
        say_findings(result.by.findings)
        result.show()
        say(*source.answer_words())
        if sizes is not None and sizes.words:
            say(sizes.words)
        if history is not None:
            without = "the losses for comparison are without it"
            say(f"Every game begins {history.words()}; {without}.", *cannot_study(names, history))
    if isinstance(result, comparison.BudgetComparison):
        result.draw()  # last: whatever becomes of the picture, the table is there
    if result.played.interrupted:
        raise typer.Exit(options.INTERRUPTED)


def _names(typed: list[str]) -> list[str]:
    """The learners of lists like auto,random, each once."""
    from keyhole.problem import ProblemError

    names = [name.strip() for name in ",".join(typed).split(",")]
    if "" in names:
        raise ProblemError(f"--learners {','.join(typed)!r}: a name is missing; write auto,random")
    return list(dict.fromkeys(names))
