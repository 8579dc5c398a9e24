"""What errors say, in options: the library names its parameters, a command line has options."""

from __future__ import annotations

import re
import shlex

# By parameter of the library, the option that sets it.
OPTIONS = {
    **{name: f"--{name}" for name in ("budget", "coverage", "most", "scout", "seed", "audit")},
    **{name: f"--{name}" for name in ("dates", "encoding", "positive", "known", "without")},
    **{name: f"--{name}" for name in ("ignore", "categorical", "missing", "rounds", "prices")},
    **{name: f"--{name}" for name in ("worth", "purse", "absent", "features", "target")},
    "k": "--sparsity",
    "half_life": "--half-life",
    "most_levels": "--most-levels",
    "n_features": "--n-features",
    "zero_based": "--zero-based",
    "yes_no": "--yes-no",
    "order_by": "--order-by",
    "skip_rows": "--skip-rows",
    "censored": "--censored",
}
NAME = "|".join(sorted(OPTIONS, key=len, reverse=True))
START = r"(?<![-\w.'\"/=])"  # of a word that is no part of an option, a path or a quotation


def in_options(text: str) -> str:
    """An error of the library as it is said to somebody who types options.

    >>> in_options("coverage must be a share of rounds, got 2.0")
    '--coverage must be a share of rounds, got 2'
    >>> in_options("yes or no needs two: say which means yes (positive='ill now', or --positive)")
    "yes or no needs two: say which means yes (--positive 'ill now')"
    >>> in_options("k must be at most budget = 3, got 9")
    '--sparsity must be at most --budget 3, got 9'
    """
    text = re.sub(r", or (--[\w-]+)(?=\))", "", text) if "(positive" in text else text
    text = re.sub(rf"\b(make|use) the problem with {START}", "use ", text)
    text = re.sub(rf"{START}k = (\d+)(?= feature)", r"\1", text)
    text = re.sub(rf"{START}({NAME})(?:=| = )('[^']*'|\"[^\"]*\"|[\w.+-]+)", _with_value, text)
    text = re.sub(rf"\(({NAME})\)", lambda found: f"({OPTIONS[found[1]]})", text)
    text = re.sub(rf"((?:^|: |; ))({NAME})(?=:| (?:must|can|cannot|is|has|needs|'))", _alone, text)
    text = re.sub(rf"\braise ({NAME})\b", lambda found: f"raise {OPTIONS[found[1]]}", text)
    text = re.sub(rf" with {START}\w+='\w+'", "", text)  # how a learner is set up is no option
    text = re.sub(r", or None\b", "", text)
    text = text.replace("save learners with keyhole.save", "save learners with --save")
    text = text.replace(
        "not a file of keyhole.save", "not a learner that `keyhole run --save` saved"
    )
    return re.sub(r"(?<![\w./'-])(-?\d+)\.0(?![\w/'])(?!\.\d)", r"\1", text)


def _with_value(found: re.Match[str]) -> str:
    value = found[2]
    if value[0] in "'\"":
        value = shlex.quote(value[1:-1])
    return f"{OPTIONS[found[1]]} {value}"


def _alone(found: re.Match[str]) -> str:
    return f"{found[1]}{OPTIONS[found[2]]}"
