"""Draws the figures of docs/benchmarks.md: who does how well where, and how regret grows."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import SymLogNorm
from matplotlib.figure import Figure

from benchmarks.common.figures import COLOURS, save
from benchmarks.regret.numbers import Results

CLIP = 2.0  # normalised regret beyond which one colour does for all


def draw(page: Path, results: Results) -> dict[str, str]:
    """Figures beside the page; their file names, by what they show. None where nothing is."""
    plt.switch_backend("svg")
    made = {}
    with plt.rc_context({"svg.hashsalt": "keyhole", "font.size": 8}):
        for what, figure in (("heat", _heat(results)), ("growth", _growth(results))):
            if figure is not None:
                target = page.with_name(f"{page.stem}-{what}.svg")
                save(figure, target)
                made[what] = target.name
    return made


def _heat(results: Results) -> Figure | None:
    """A row per player, a column per setting; blank where there is nothing."""
    settings = [s for s in results.settings if not s.players]
    players = [p for p in results.players if any(results.shares(s, p) for s in settings)]
    if not settings or not players:
        return None
    table = np.full((len(players), len(settings)), np.nan)
    for i, player in enumerate(players):
        for j, setting in enumerate(settings):
            if shares := results.shares(setting, player):
                table[i, j] = np.mean(shares)
    size = (3.0 + 0.26 * len(settings), 1.8 + 0.2 * len(players))
    figure, axes = plt.subplots(figsize=size, layout="constrained")
    colours = plt.get_cmap("PuOr_r").with_extremes(bad="0.85")
    scale = SymLogNorm(linthresh=0.03, vmin=-CLIP, vmax=CLIP)
    shown = axes.imshow(np.clip(table, -CLIP, CLIP), cmap=colours, norm=scale, aspect="auto")
    axes.set_yticks(range(len(players)), [p.name for p in players])
    names = [s.name for s in settings]
    axes.set_xticks(range(len(settings)), names, rotation=90)
    groups = [s.group for s in settings]
    for j in range(1, len(groups)):
        if groups[j] != groups[j - 1]:
            axes.axvline(j - 0.5, color="black", lw=0.8)
    for i, player in enumerate(players):
        if player.kind == "more":
            axes.axhline(i - 0.5, color="black", lw=0.8)
            break
    axes.tick_params(length=0)
    bar = figure.colorbar(shown, ax=axes, label="normalised regret", pad=0.01)
    ticks = [-2, -0.5, -0.1, 0, 0.1, 0.5, 1, 2]
    bar.set_ticks(ticks, labels=[f"{t:g}" for t in ticks])
    return figure


def _growth(results: Results) -> Figure | None:
    """A panel per long setting: means over seeds; for keyhole's own also the range of seeds."""
    settings = [
        s for s in results.settings if any(len(results.curve(s, p)[0]) for p in results.players)
    ]
    if not settings:
        return None
    figure, panels = plt.subplots(
        1,
        len(settings),
        figsize=(1.0 + 2.5 * len(settings), 3.4),
        layout="constrained",
        squeeze=False,
        sharey=True,
    )
    least = min(
        float(results.curve(s, p)[1].min(initial=np.inf)) for s in settings for p in results.players
    )
    for axes, setting in zip(panels[0], settings, strict=True):
        played = [p for p in results.players if len(results.curve(setting, p)[0])]
        for player in (p for p in played if not p.own):
            rounds, regret = results.curve(setting, player)
            axes.plot(rounds, regret.mean(axis=0), color="0.75", lw=0.7)
        own = [p for p in played if p.own]
        for player, colour in zip(own, COLOURS * len(own), strict=False):
            rounds, regret = results.curve(setting, player)
            axes.plot(rounds, regret.mean(axis=0), color=colour, label=player.name)
            axes.fill_between(
                rounds, regret.min(axis=0), regret.max(axis=0), color=colour, alpha=0.2, lw=0
            )
        axes.set(xscale="log", xlabel="rounds", title=setting.name)
        axes.set_yscale("log" if least > 0 else "symlog")
        axes.grid(alpha=0.3)
    panels[0, 0].set_ylabel("regret")
    if panels[0, 0].get_legend_handles_labels()[1]:
        panels[0, 0].legend(frameon=False)
    return figure
