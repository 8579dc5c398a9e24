"""Two checkouts compared: the same one has no gains, and a score is kept."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.against.__main__ import HERE, main
from benchmarks.against.games import all_games, play


def test_a_checkout_gains_nothing_over_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "scores.jsonl"
    words = [str(HERE), "--seeds", "2", "--only", "few/begins:1", "--workers", "1"]
    assert main([*words, "--results", str(kept)]) == 0
    said = capsys.readouterr().out
    assert "+0.0000 ± 0.0000" in said
    assert "sum of gains +0.0000, of losses +0.0000" in said
    lines = [json.loads(line) for line in kept.read_text().splitlines()]
    assert [(name, seed) for _, name, seed, _ in lines] == [
        ("few/begins:1", 0),
        ("few/begins:1", 1),
    ]
    assert lines[1][3] == play(dict(all_games(None))["few/begins:1"], 1)
    kept.write_text("".join(json.dumps([*line[:3], 0.5]) + "\n" for line in lines))
    assert main([*words, "--results", str(kept)]) == 0
    assert "0.5000 (0.5000)" in capsys.readouterr().out  # what is kept is not played again


def test_the_score_is_r2_and_late_labels_come_late() -> None:
    games = dict(all_games(None))
    on_time, late = (play(games[f"{group}/iid"], 0) for group in ("ten", "late"))
    assert 0.5 < late < on_time < 1.0
    assert np.isfinite(late)


def test_unknown_checkouts_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["nowhere"])
    assert "OTHER must be a checkout" in capsys.readouterr().err
