"""keyhole run: play a file and say what it cost and what was learnt."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from keyhole.cli import options
from keyhole.cli.options import option


@dataclass(frozen=True)
class LearnerOptions:
    """Who plays."""

    learner: options.LearnerKind = "auto"
    seed: options.Seed = 0
    audit: options.Audit = 0.0
    coverage: options.Coverage = None
    steps: Annotated[
        bool,
        typer.Option(
            "--steps",
            help="Buy each row step by step: look at a value before paying for the next, and stop "
            "when enough is known. Needs --worth or --purse.",
        ),
    ] = False


@dataclass(frozen=True)
class OutputOptions:
    """What is kept of the run, and in which files."""

    report: Annotated[
        str | None, option("--report FILE.html", "Also write a report with plots.")
    ] = None
    save: Annotated[
        str | None, option("--save FILE.npz", "Save the learner, for `keyhole predict`.")
    ] = None


@options.with_flat_options
def run(
    *,
    file: options.FileOptions,
    size: options.SizeOptions,
    money: options.MoneyOptions,
    player: LearnerOptions,
    keep: OutputOptions,
    past: options.HistoryOptions,
    reading: options.ReadOptions,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Also explain what the learner buys at the end, and why."),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Play a file, buying a few features per row.

    Reports loss, cost and model. Rows are played in order: predict, then learn from the label.
    Without --budget and --sparsity, they are chosen from the first rows or from the history
    (`keyhole advise` shows the whole curve). With --history, the learner first learns from old
    rows, which are neither paid for nor counted. A yes/no target (two texts, true and false, 0 and
    1) is predicted as a probability. Ctrl-C ends the game early and summarises what was played; a
    second Ctrl-C quits, but never before the learner is saved if --save asks for it.

    With --coverage 0.9, every prediction comes with an interval, and 90 % of the labels lie inside
    theirs. The summary and the report show how wide the intervals were.

    With --prices, features cost money and --budget is the most to spend on one row. --worth V buys
    what pays for itself if one unit of squared error is worth V; --purse P spends at most P on the
    whole file. With either, --budget may be left out. The price list has a row for every feature
    and for every panel; a panel is paid once for all its features:

    \b
      feature,price,panel
      rooms,0,
      inspection,25,
      damp,,inspection
      wiring,12.50,inspection

    With --steps, each row is bought in steps, the most useful item for the money first. After each
    step the learner asks whether going on is worth its price for a row that looks like this one;
    --worth or --purse says what money is worth. The summary shows how far rows went and what
    stopping saved. Where all items cost the same, give each the price 1.

    \b
    Examples:
      keyhole run
      keyhole run --prices clinic --budget 30
      keyhole run flats.csv --target rent --prices prices.csv --budget 40
      keyhole run flats.csv --target rent --prices prices.csv --worth 0.5
      keyhole run flats.csv --target rent --prices prices.csv --worth 0.5 --steps
      keyhole run flats.csv --target rent --budget 8 --sparsity 4
      keyhole run new.csv --target rent --history old.csv
      keyhole run patients.csv --target outcome --positive ill
      keyhole run flats.csv --target rent --coverage 0.9
      keyhole run flats.parquet -t rent --ignore id --report out.html --save model.npz
      zcat flats.csv.gz | keyhole run - -t rent --json
    """
    from keyhole.cli.output import emit
    from keyhole.cli.recording import Preparation, recorded
    from keyhole.cli.run_summary import facts, show
    from keyhole.cli.sizes import choose_sizes
    from keyhole.cli.source import open_history, open_source
    from keyhole.cli.spending import (
        capped,
        make_player,
        read_spending_rule,
        refuse_other_learners,
        refuse_steps_without,
    )

    source = open_source(file, reading, money.pricing)
    spending = read_spending_rule(money, source)
    refuse_other_learners([player.learner], spending)
    if player.steps:
        refuse_steps_without(spending, player.audit)
    history = open_history(file, reading, past, source)
    size = capped(size, spending, source.pricing)
    sizes = choose_sizes(source, size, None if history is None else history.stream)
    learner = make_player(player.learner, sizes.problem, player.seed, spending, source.answers)
    done = recorded(learner, source, player, keep, Preparation(sizes, history, spending))
    if as_json:
        emit(facts(done))
    else:
        show(done, explain=explain)
    if done.failure is not None:
        raise done.failure
    if done.interrupted:
        sys.stderr.write("keyhole: interrupted; this is about the rounds that were played\n")
        raise typer.Exit(options.INTERRUPTED)
