"""The tables of docs/benchmarks.md, as markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.common.tables import Mean, markdown, plus_minus
from benchmarks.regret.numbers import Loss, Results, exponent
from benchmarks.regret.suite import GROUPS, Player, Setting

DASH = "-"
LINE = "*read or know more:*"


class Notes:
    """Reasons for dashes, each told once below the table, numbered."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def mark(self, reason: str) -> str:
        """What stands in the cell."""
        # Numbers in a refusal differ from setting to setting, and the first says what it is about.
        kind = re.sub(r"\d[\d,.]*", "#", reason)
        known = {re.sub(r"\d[\d,.]*", "#", text): n for text, n in self._numbers.items()}
        at = known.get(kind) or self._numbers.setdefault(reason, len(self._numbers) + 1)
        return f"<sup>{at}</sup>"

    def text(self) -> str:
        """All reasons, in one paragraph."""
        clean = (text.replace("|", "/").replace("\n", " ") for text in self._numbers)
        told = [f"<sup>{i}</sup> {text}." for i, text in enumerate(clean, start=1)]
        return "Dashes: " + " ".join(told) if told else ""


def by_setting(
    results: Results,
    settings: Sequence[Setting],
    values: Callable[[Setting, Player], list[float]],
) -> str:
    """A row per player, a column per setting; those who read or know more below a line."""
    notes, lines = Notes(), []
    shown = [p for p in results.players if any(results.plays(s, p) for s in settings)]
    below = False
    for player in shown:
        if player.kind == "more" and not below:
            lines.append([LINE, *[""] * len(settings)])
            below = True
        cells = []
        for setting in settings:
            found, reason = values(setting, player), results.missing(setting, player)
            cell = plus_minus(Mean.of(found)) if found else DASH
            cells.append(f"{cell} {notes.mark(reason)}" if reason else cell)
        lines.append([f"**{player.name}**" if player.own else player.name, *cells])
    table = markdown(["", *(s.name.replace("_", "\\_") for s in settings)], lines)
    return "\n\n".join(part for part in (table, notes.text()) if part)


def the_settings(results: Results, settings: Sequence[Setting]) -> str:
    """What each setting is, and how sure its hindsight is."""
    lines = []
    for s in settings:
        bests = [row for seed in range(results.seeds) if (row := results.best(s, seed))]
        bests = [row for row in bests if "error" not in row]
        wide = [(r["high"] - r["low"]) / (r["constant"] - r["low"]) for r in bests]
        if not wide:
            sure = "not known yet"
        elif max(wide) <= 1e-9:
            sure = "exact"
        else:
            sure = f"best found is at {np.mean(wide):.3f}"
        explained = [1.0 - r["high"] / r["constant"] for r in bests]
        lines.append([
            s.name.replace("_", "\\_"), str(s.d), str(s.k),
            str(s.budget), f"{s.rounds:,}", str(s.features), s.units,
            f"{np.mean(explained):.3f}" if explained else DASH, sure,
        ])  # fmt: skip
    head = ["setting", "features", "k", "read", "rounds", "features in hindsight", "units",
            "R2 in hindsight", "hindsight"]  # fmt: skip
    return markdown(head, lines)


def ranks(results: Results) -> str:
    """Mean rank by group and over all settings, best first."""
    groups = [g for g in GROUPS if any(not s.players for s in results.of(g))]
    by_group = {g: results.ranks(results.of(g)) for g in groups}
    groups = [g for g in groups if by_group[g]]
    overall = results.ranks(results.settings)
    lines = [
        [
            f"**{player.name}**" if player.own else player.name,
            *(f"{by_group[g][player]:.1f}" for g in groups),
            f"{overall[player]:.1f}",
        ]
        for player in sorted(overall, key=lambda p: overall[p])
    ]
    return markdown(["", *groups, "all settings"], lines)


def growth(results: Results) -> str:
    """Regret at powers of two and the exponent, by setting and player."""
    lines, marks = [], [2**12, 2**14, 2**16]
    for setting in (s for s in results.settings if s.curve):
        for player in results.players:
            rounds, regret = results.curve(setting, player)
            if not len(regret):
                continue
            at = {t: plus_minus(Mean.of(regret[:, i])) for i, t in enumerate(rounds)}
            slope = exponent(rounds, regret)
            lines.append([
                setting.name, player.name, *(at.get(t, DASH) for t in marks),
                plus_minus(slope) if slope else "not positive throughout",
            ])  # fmt: skip
    return markdown(["setting", "", *(f"{t:,}" for t in marks), "exponent"], lines)


def costs(results: Results) -> str:
    """Microseconds of processor time per round, median over seeds, by some settings; and reads."""
    wanted = ("geo", "iid", "S2", "iid300", "S5", "mnist_3v5")
    settings = [s for s in results.settings if s.name in wanted]
    settings = sorted(settings or results.settings[:6], key=lambda s: s.d)
    lines = []
    for player in results.players:
        times = [results.values(s, player, "microseconds") for s in settings]
        if not any(times):
            continue
        shown = [f"{np.median(t):.1f}" if t else DASH for t in times]
        reads = [
            max(results.values(s, player, "reads"), default=0.0) / s.budget
            for s in results.settings
        ]
        lines.append([player.name, *shown, f"{max(reads):.2f}"])
    head = [f"{s.name.replace('_', chr(92) + '_')} (d = {s.d}, {s.budget} read)" for s in settings]
    return markdown(["", *head, "most reads / allowed"], lines)


def lost(found: Sequence[Loss], ours: Player) -> str:
    """Where a player loses, by whom, by how much; the largest share first."""
    lines = [
        [
            loss.setting.group, loss.setting.name.replace("_", "\\_"),
            f"**{loss.winner.name}**" if loss.winner.own else loss.winner.name,
            plus_minus(loss.ours), plus_minus(loss.theirs), plus_minus(loss.gap),
            f"{loss.share:.3f}",
        ]
        for loss in sorted(found, key=lambda loss: -loss.share)
    ]  # fmt: skip
    head = ["group", "setting", "best", f"regret of {ours.name}", "its regret", "difference",
            "difference, normalised"]  # fmt: skip
    return markdown(head, lines)
