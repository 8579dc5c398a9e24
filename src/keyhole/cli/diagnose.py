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
    from keyhole.cli.sizes import choose_sizes
    from keyhole.cli.source import open_source

    source = open_source(file, reading)
    sizes = choose_sizes(source, size)
    problem = sizes.problem
    found = kh.diagnose(source.stream, problem.k, problem.reads)
    if as_json:
        told = {"source": source.title, "target": source.target, **plain(found)}
        emit({**told, "sizes": sizes.as_json()})
    else:
        say(*str(found).splitlines())
        if sizes.words:
            say("", sizes.words)
