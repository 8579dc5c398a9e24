"""What typos cost is measured: a checkout against itself, and games that differ by their typo."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.against.__main__ import HERE
from benchmarks.typos.__main__ import main
from benchmarks.typos.games import ALL, REAL, TYPOS, play


def test_a_checkout_loses_nothing_against_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(HERE), "--seeds", "1", "--only", "label x100 at 30", "spikes", "--workers", "1"]
    assert main([*words, "--results", str(tmp_path / "scores.jsonl")]) == 0
    typo, real = [
        line.split("|")[2:-1]
        for line in capsys.readouterr().out.splitlines()
        if "at 30" in line or "spikes" in line
    ]
    assert typo[0] == typo[1]
    assert real == [" 1.000 (1.000) "]


@pytest.mark.parametrize("name", ["label x100 at 7", "value x10 at 2", "1 % labels x100"])
def test_a_game_differs_from_the_one_without_in_its_typos(name: str) -> None:
    clean, make = TYPOS[name]
    game, other = make(1), ALL[clean](1)
    wrong = (game.y != other.y) | (game.X != other.X).any(axis=1)
    assert 0 < wrong.sum() <= 20
    assert not game.counts[wrong].any()
    if clean != "without 1 %":
        assert (game.counts == other.counts).all()


def test_every_game_can_be_made() -> None:
    for name in {"clinic: creatinine", "value x100 in row 3 of history", *REAL}:
        game = ALL[name](0)
        assert len(game.X) == len(game.y)
        assert game.counts.any()
    assert np.isfinite(play("clinic: label", 0))
