"""The file of results: what is read, what is added, by one process and by several."""

import multiprocessing
from pathlib import Path

from benchmarks.common.store import Store, cell_id


def test_lines_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "a", "loss": 1}\n\n{"id": "a", "loss": 2}\n[]\n{"id": "b", "lo')
    store = Store(path)
    assert store.broken == 2
    assert store.rows == {"a": {"id": "a", "loss": 2}}  # the last of a cell counts
    store.add({"id": "b", "error": "late"})
    assert not store.done("b")
    assert Store(path).rows == store.rows


def test_the_name_of_a_cell_is_its_content() -> None:
    one = cell_id({"a": 1, "b": [1, 2]})
    assert one == cell_id({"b": [1, 2], "a": 1})
    assert one != cell_id({"a": 1, "b": [2, 1]})


def add_many(path: Path, who: int, rows: int) -> None:
    store = Store(path)
    for i in range(rows):
        store.add({"id": f"{who}, {i}", "value": [who] * 5000})


def test_processes_that_write_at_once_do_not_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=add_many, args=(path, who, 50)) for who in (1, 2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    store = Store(path)
    assert (store.broken, len(store.rows)) == (0, 100)
    assert all(row["value"] == [int(cell[0])] * 5000 for cell, row in store.rows.items())
