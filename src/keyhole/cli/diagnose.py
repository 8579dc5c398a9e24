"""keyhole diagnose: does my data fit, what should I use?"""

from __future__ import annotations

from keyhole.cli import options


@options.flat
def diagnose(
    *,
    file: options.FileOptions,
    size: options.SizeOptions,
    reading: options.ReadOptions,
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

    source = open_source(file, reading)
    problem = make_problem(source, size)
    found = kh.diagnose(source.stream, problem.k, problem.budget)
    if as_json:
        emit({"source": source.title, "target": source.target, **plain(found)})
    else:
        say(*str(found).splitlines())
