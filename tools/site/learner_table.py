"""The table of all learners, from the registry."""

from __future__ import annotations

from keyhole.learners.registry import LEARNERS


def markdown() -> str:
    """One row for every name in `kh.LEARNERS`."""
    lines = ["| name | group | prices | what it does |", "|---|---|---|---|"]
    for row in LEARNERS.values():
        lines.append(f"| `{row.name}` | {row.group} | {row.prices} | {row.summary} |")
    return "\n".join(lines)
