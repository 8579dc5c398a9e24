"""Tables of the last layer, from rows of all kinds in one list, as the command hands them over."""

from __future__ import annotations

from typing import Any

from benchmarks.auto import layer_tables as tables
from benchmarks.auto.layer import ALL_WAYS, WAYS

BEST: dict[str, Any] = {"file": "appliances", "all": 10.0, "half": 4.0, "constant": 30.0}
BEST |= {"short": 2.0, "short constant": 6.0}


def game(seed: int, lost: float, *, anew: bool) -> dict[str, Any]:
    """All ways lose the same, but for `usual`, which loses half after round 500."""
    row: dict[str, Any] = {"file": "appliances", "anew": anew, "seed": seed}
    for way in WAYS if anew else ALL_WAYS:
        row[way] = lost / 2 if way == "usual" else lost
        row |= {f"{way}, all": lost, f"{way}, half": lost / 2, f"{way}, short": lost / 4}
    return row


GAMES = [game(seed, lost, anew=anew) for seed, lost in enumerate((20.0, 12.0, 14.0))
         for anew in (False, True)]  # fmt: skip


def cells(table: str, name: str) -> list[str]:
    """The cells of the row of that name."""
    (line,) = (line for line in table.splitlines() if line.startswith(f"| {name} |"))
    return [cell.strip() for cell in line.strip("|").split("|")[1:]]


def test_regret_is_a_share_of_what_the_constant_loses_and_second_halves_count_twice() -> None:
    # Losses 20, 12, 14 against 10 and 30: .5, .1, .2. Halves 10, 6, 7 against 4: 2 * 6 / 20 = .6.
    found = cells(tables.table_layer([BEST, *GAMES]), "appliances")
    assert found == ["0.200 / 0.500", "0.300 / 0.600"] * len(ALL_WAYS)


def test_the_beginning_is_judged_by_its_own_best_features() -> None:
    # Losses 5, 3, 3.5 against 2 and 6: .75, .25, .375.
    found = cells(tables.table_short([BEST, *GAMES]), "appliances")
    assert found == [*["0.375 / 0.750"] * len(ALL_WAYS), "1.00", "1.00"]


def test_what_is_below_the_best_features_has_no_share() -> None:
    found = cells(tables.table_short([{**BEST, "short": 4.0}, *GAMES]), "appliances")
    assert found == [*["-0.250 / 0.500"] * len(ALL_WAYS), "-", "-"]


def test_files_late_labels_and_streams_stand_in_one_table_of_shares() -> None:
    late = {"file": "appliances", "delay": 6, "seed": 0}
    late |= {"without a layer": 4.0, "past=False": 3.0, "usual": 5.0}
    stream = {"stream": "iid", "seed": 0, "without a layer": 2.0, "past=False": 2.0, "usual": 1.0}
    sure = {"labels of": "S1", "seed": 0, "without a layer": 4.0, "past=False": 4.0, "usual": 3.0}
    table = tables.table_shares([*GAMES, late, stream, sure])
    assert cells(table, "appliances") == ["1.000 / 1.000", "0.500 / 0.500"]
    assert cells(table, "appliances, rows in random order") == ["1.000 / 1.000", "0.500 / 0.500"]
    assert cells(table, "appliances, labels 6 late") == ["0.750 / 0.750", "1.250 / 1.250"]
    assert cells(table, "iid") == ["1.000 / 1.000", "0.500 / 0.500"]
    assert cells(table, "S1, squared error after round 500") == ["1.000 / 1.000", "0.750 / 0.750"]
    assert len(table.splitlines()) == 2 + 5


def test_the_ten_are_normalised_and_the_realizable_suite_is_not() -> None:
    row: dict[str, Any] = {"seed": 0, "zero": 30.0, "best": 10.0, "best half": 4.0}
    for way in ALL_WAYS:
        row |= {way: 12.0, f"{way}, all": 12.0, f"{way}, half": 5.0}
    sure = {**row, "stream": "S1", "best": 0.0, "best half": 0.0}
    table = tables.table_suites([{**row, "stream": "iid"}, sure])
    assert cells(table, "iid") == ["0.100 / 0.100"] * 2 * len(ALL_WAYS)  # 2 / 20, 2 * 1 / 20
    assert cells(table, "S1") == ["12.0 / 12.0", "10.0 / 10.0"] * len(ALL_WAYS)
