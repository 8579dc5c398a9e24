"""keyhole run: play a file and say what it cost and what was learnt."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from keyhole.cli import options


@dataclass(frozen=True)
class LearnerOptions:
    """Who plays."""

    learner: Annotated[
        str,
        typer.Option(
            "--learner",
            "-l",
            metavar="NAME",
            help="`keyhole learners` lists them.",
            autocompletion=options.complete_learner,
        ),
    ] = "auto"
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of all that is random.")] = 0
    audit: options.Audit = 0.0
    coverage: options.Coverage = None


@dataclass(frozen=True)
class KeepOptions:
    """What is kept of the run, and in which files."""

    report: Annotated[
        str | None,
        typer.Option("--report", metavar="FILE.html", help="Write a page with pictures too."),
    ] = None
    save: Annotated[
        str | None,
        typer.Option("--save", metavar="FILE.npz", help="Keep the learner, for `keyhole predict`."),
    ] = None


@options.flat
def run(
    *,
    file: options.FileOptions,
    size: options.SizeOptions,
    money: options.MoneyOptions,
    player: LearnerOptions,
    keep: KeepOptions,
    past: options.HistoryOptions,
    reading: options.ReadOptions,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say too what is bought at the end, and why.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Play a file, buying a few features per row, and say what was lost, read and learnt.

    Rows are played in the order of the file: predict, then learn from the label. Without --budget
    and --sparsity, the first rows or the history decide (`keyhole advise` shows the whole curve).
    With --history, old rows are learnt from before the first round: they are neither paid for nor
    counted. Ctrl-C ends the game early and sums up what was played; a second one leaves at once,
    but never before the learner is saved, if --save asks for it.
    A target of yes and no (two texts, true and false, 0 and 1) is predicted as a probability.

    With --coverage 0.9 every row is predicted with an interval, and 90 % of the labels lie within
    theirs; it says how wide they were, and shows it in the report.

    With --prices, features cost money, and --budget is what one row may cost. --worth V buys what
    pays, where one unit of squared error is worth V; --purse P spends at most P on the whole file.
    Without --budget both may buy everything of a row. prices.csv has a row for every feature and
    for every panel, which is paid once for all its features:

    \b
      feature,price,panel
      rooms,0,
      inspection,25,
      damp,,inspection
      wiring,12.50,inspection

    \b
    Examples:
      keyhole run
      keyhole run --prices clinic --budget 30
      keyhole run flats.csv --target rent --prices prices.csv --budget 40
      keyhole run flats.csv --target rent --prices prices.csv --worth 0.5
      keyhole run flats.csv --target rent --budget 8 --sparsity 4
      keyhole run new.csv --target rent --history old.csv
      keyhole run patients.csv --target outcome --positive ill
      keyhole run flats.csv --target rent --coverage 0.9
      keyhole run flats.parquet -t rent --ignore id --report out.html --save model.npz
      zcat flats.csv.gz | keyhole run - -t rent --json
    """
    from keyhole.cli.history import open_history
    from keyhole.cli.output import emit
    from keyhole.cli.recording import Before, recorded
    from keyhole.cli.sizes import choose_sizes
    from keyhole.cli.source import open_source
    from keyhole.cli.spending import capped, make_player, refuse_others, spending_of
    from keyhole.cli.summary import facts, show
    from keyhole.cli.yes_no import answering

    source = open_source(file, reading, money.shop)
    spending = spending_of(money, source)
    refuse_others([player.learner], spending)
    history = open_history(file, reading, past, source)
    size = capped(size, spending, source.shop)
    sizes = choose_sizes(source, size, None if history is None else history.stream)
    learner = answering(
        make_player(player.learner, sizes.problem, player.seed, spending), source.answers
    )
    done = recorded(learner, source, player, keep, Before(sizes, history, spending))
    if as_json:
        emit(facts(done))
    else:
        show(done, explain=explain)
    if done.failure is not None:
        raise done.failure
    if done.interrupted:
        sys.stderr.write("keyhole: interrupted; this is about the rounds that were played\n")
        raise typer.Exit(130)
