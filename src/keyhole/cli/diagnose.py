"""keyhole diagnose: does my data fit, what should I use?"""

from __future__ import annotations

from typing import Annotated

import typer

from keyhole.cli import options


@options.with_flat_options
def diagnose(
    *,
    file: options.FileOptions,
    size: options.SizeOptions,
    pricing: options.PriceOptions,
    reading: options.ReadOptions,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Also list what the learner copes with by itself."),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Check a file: what to fix, what to expect, what to use.

    Reads the whole file, and says which of the paper's guarantees hold for it.

    With --prices, --budget is money. The theory counts features, so it is given the number that
    the budget buys at the mean price.

    \b
    Examples:
      keyhole diagnose flats.csv --target rent --budget 8 --sparsity 4
      keyhole diagnose flats.csv --target rent --prices prices.csv --budget 40
      keyhole diagnose flats.parquet -t rent --ignore id --json
    """
    import keyhole as kh
    from keyhole.analysis.advice.curves import features
    from keyhole.analysis.diagnosis.diagnose import counting_budget
    from keyhole.cli.output import emit, plain, say
    from keyhole.cli.sizes import choose_sizes
    from keyhole.cli.source import open_source
    from keyhole.problem.display import money_text

    source = open_source(file, reading, pricing)
    sizes = choose_sizes(source, size)
    problem = sizes.problem
    many = counting_budget(problem).reads
    found = kh.diagnose(source.stream, problem.k, many)
    if as_json:
        told = {"source": source.title, "target": source.target, **plain(found)}
        prices = source.prices_json()
        priced = prices and {**prices, "budget": problem.budget, "counted": many}
        emit({**told, "sizes": sizes.as_json(), "prices": priced})
    else:
        say(*found.page(everything=everything, typed=True).splitlines())
        if source.answers is not None:
            say("", f"The target is taken as numbers: {source.answers}.")
        if source.counts_columns:
            say("", *source.price_words())
        elif source.pricing is not None:
            say(
                "",
                f"In money: {money_text(problem.budget)} per example of "
                f"{money_text(source.pricing.everything)} for everything buys "
                f"{features(problem.reads)} whichever they are, at most {problem.width} of the "
                f"cheapest, and about {many} at the mean price, which is what the budget above "
                "counts.",
                *source.pricing.words(),
            )
        if sizes.words:
            say("", sizes.words)
