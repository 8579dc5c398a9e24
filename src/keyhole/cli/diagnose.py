"""keyhole diagnose: does my data fit, what should I use?"""

from __future__ import annotations

from keyhole.cli import options


def diagnose(
    file: options.File = None,
    target: options.Target = None,
    budget: options.Budget = None,
    sparsity: options.Sparsity = None,
    rounds: options.Rounds = None,
    ignore: options.Ignore = None,
    categorical: options.Categorical = None,
    separator: options.Separator = None,
    decimal: options.Decimal = ".",
    missing: options.Missing = None,
    as_json: options.Json = False,
) -> None:
    """Look at a whole file: what to mend, what to expect, which guarantees apply, what to use.

    \b
    Examples:
      keyhole diagnose flats.csv --target rent --budget 8 --sparsity 4
      keyhole diagnose flats.parquet -t rent --ignore id --json
    """
    import keyhole as kh
    from keyhole.cli.output import emit, plain, say
    from keyhole.cli.source import make_problem, open_source

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
    found = kh.diagnose(source.stream, problem.k, problem.budget)
    if as_json:
        emit({"source": source.title, "target": source.target, **plain(found)})
    else:
        say(*str(found).splitlines())
