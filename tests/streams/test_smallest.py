"""The least that simulated streams can be made of, and what is just too little."""

from collections.abc import Callable

import pytest

import keyhole as kh
from keyhole import streams
from keyhole.streams import Simulated, csv_table
from keyhole.streams.csv_dialect import CsvDialect
from keyhole.streams.source_file import SourceFile

LEAST: dict[str, Callable[[], Simulated]] = {
    "switching": lambda: streams.switching(2, 1, 1, supports=2, mean_length=1),
    "drifting": lambda: streams.drifting(1, 1, periods=(1.0,), hold=1),
    "steady": lambda: streams.sign_flips(1, 1, steady=1, flipping=0, period=1),
    "flipping": lambda: streams.sign_flips(1, 1, steady=0, flipping=1),
    "no weak": lambda: streams.sign_flips(1, 1, steady=1, flipping=0, weak=0.0),
    "no strong": lambda: streams.sign_flips(1, 1, steady=0, flipping=1, strong=0.0),
    "all weak": lambda: streams.sign_flips(1, 1, steady=1, flipping=0, weak=1.0, noise_sd=0.0),
    "leaders": lambda: streams.leaders(3, 1, first_phase=1, growth=1.0),
    "no leaders": lambda: streams.leaders(3, 1, steady=0.0, leader=0.0),
    "all leaders": lambda: streams.leaders(3, 1, steady=0.5, leader=0.5, noise_sd=0.0),
    "realizable": lambda: streams.realizable(1, 1, 1, noise_sd=0.0),
    "dense": lambda: streams.dense(1, 1),
    "nonlinear": lambda: streams.nonlinear(5, 1),
    "dependent": lambda: streams.dependent(1, 1, 1),
    "ill_conditioned": lambda: streams.ill_conditioned(2, 1, 1),
    "padded_hard": lambda: streams.padded_hard(1, 1, 1, 0, set_size=1),
    "clinic": lambda: streams.clinic(1),
}


@pytest.mark.parametrize("name", LEAST)
def test_the_least_is_enough(name: str) -> None:
    X, y = streams.collect(LEAST[name]().stream)
    assert X.shape == (1, X.shape[1])
    assert y.shape == (1,)


LESS: dict[str, Callable[[], Simulated]] = {
    "d must be at least supports": lambda: streams.switching(1, 1, 1, supports=2),
    "k must be at least 1, got 0": lambda: streams.switching(2, 0, 1, supports=2),
    "n must be at least 1, got 0": lambda: streams.switching(2, 1, 0, supports=2),
    "supports must be at least 2": lambda: streams.switching(3, 1, 1, supports=1),
    "mean_length must be at least 1": lambda: streams.switching(4, 1, 1, mean_length=0.9),
    "periods must be at least 1": lambda: streams.drifting(1, 1, periods=(0.9,)),
    "periods must have 1 to d = 1 entries, got 0": lambda: streams.drifting(1, 1, periods=()),
    "periods must have 1 to d = 1 entries, got 2": lambda: streams.drifting(1, 1, periods=(1, 1)),
    "hold must be at least 1": lambda: streams.drifting(4, 1, hold=0),
    "from 1 to d = 1, got 0": lambda: streams.sign_flips(1, 1, steady=0, flipping=0),
    "from 1 to d = 1, got 1": lambda: streams.sign_flips(1, 1, steady=1, flipping=1),
    "period must be at least 1": lambda: streams.sign_flips(9, 1, period=0),
    "steady must be at least 0, got -1": lambda: streams.sign_flips(9, 1, steady=-1),
    "flipping must be at least 0": lambda: streams.sign_flips(9, 1, flipping=-1),
    "weak must be at least 0": lambda: streams.sign_flips(9, 1, weak=-0.1),
    "strong must be at least 0": lambda: streams.sign_flips(9, 1, strong=-0.1),
    r"flipping \* strong must be at most": lambda: streams.sign_flips(9, 1, weak=0.3),
    "d must be at least 3": lambda: streams.leaders(2, 1),
    "first_phase must be at least 1": lambda: streams.leaders(3, 1, first_phase=0),
    "growth must be at least 1": lambda: streams.leaders(3, 1, growth=0.9),
    r"steady must be at least 0 .* got -0\.1": lambda: streams.leaders(3, 1, steady=-0.1),
    "leader must be at least 0": lambda: streams.leaders(3, 1, leader=-0.1),
    r"steady \+ leader must be at most": lambda: streams.leaders(3, 1, steady=0.5),
    "k must be at most d = 1": lambda: streams.realizable(1, 2, 1),
    "noise_sd must be at least 0": lambda: streams.realizable(1, 1, 1, noise_sd=-0.1),
    "d must be at least 1, got 0": lambda: streams.dense(0, 1),
    "d must be at least 5": lambda: streams.nonlinear(4, 1),
    r"copies \* pairs = 4, got 3": lambda: streams.ill_conditioned(3, 2, 1),
    "hard must be at least 1": lambda: streams.padded_hard(1, 1, 0, 1),
    "padding must be at least 0": lambda: streams.padded_hard(1, 1, 1, -1),
    "set_size must be at least 1": lambda: streams.padded_hard(1, 1, 1, 1, set_size=0),
}


@pytest.mark.parametrize("message", LESS)
def test_less_is_refused(message: str) -> None:
    with pytest.raises(kh.ProblemError, match=message):
        LESS[message]()


def test_what_nobody_can_explain_is_quoted(tmp_path: object) -> None:
    """Arrow refused a block in which every row is as it should be: its own first line is said."""
    path = f"{tmp_path}/t.csv"
    with open(path, "w") as file:
        file.write("a,y\n1,2\n")
    table = csv_table.CsvTable(SourceFile(path), CsvDialect())
    with pytest.raises(kh.DataError, match=r"^t\.csv, somewhere from line 2 on: odd$"):
        table._explain(b"1,2\n", 2, {}, ValueError("odd\nand more"))
