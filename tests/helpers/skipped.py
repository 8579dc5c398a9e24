"""Why tests were skipped, in one line at the end of a run."""

from collections import Counter
from collections.abc import Iterable, Sequence


def why_skipped(reasons: Iterable[str]) -> str:
    """How many tests were skipped, and why, the most frequent reason first.

    >>> why_skipped(["Skipped: no browser", "no browser", "Skipped: no long double"])
    '3 tests were skipped: 2 no browser; 1 no long double'
    >>> why_skipped([])
    ''
    """
    counts = Counter(reason.removeprefix("Skipped: ") for reason in reasons)
    if not counts:
        return ""
    tests = "test was" if counts.total() == 1 else "tests were"
    each = "; ".join(f"{count:,} {reason}" for reason, count in counts.most_common())
    return f"{counts.total():,} {tests} skipped: {each}"


def reason_of(longrepr: object) -> str:
    """The reason in what pytest knows of a skipped test: its file, line and reason, as a rule."""
    if isinstance(longrepr, Sequence) and not isinstance(longrepr, str) and len(longrepr) == 3:
        return str(longrepr[2])
    return str(longrepr)
