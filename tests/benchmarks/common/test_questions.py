"""Questions and answers: what is stored is not asked again, and a failure loses nothing else."""

from pathlib import Path

import pytest

from benchmarks.common import Row
from benchmarks.common.questions import Ask, question
from benchmarks.common.room import renew
from benchmarks.common.store import Store
from benchmarks.common.versions import RUN

CALLS: list[int] = []


def double(value: int) -> Row:
    CALLS.append(value)
    if value < 0:
        raise ValueError("too small")
    if value == 13:
        raise KeyboardInterrupt
    return {"value": value, "twice": 2 * value}


def size(path: Path) -> Row:
    return {"bytes": path.stat().st_size}


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    CALLS.clear()
    return Ask(Store(tmp_path / "rows.jsonl"), workers=1)


def again(ask: Ask) -> Ask:
    """Another run on the same file."""
    CALLS.clear()
    return Ask(Store(ask.store.path), ask.workers)


def test_what_is_stored_is_not_asked_again(ask: Ask) -> None:
    assert [row["twice"] for row in ask(double, [(1,), (2,), (1,)])] == [2, 4, 2]
    assert CALLS == [1, 2]
    later = again(ask)
    assert [row["twice"] for row in later(double, [(3,), (2,)])] == [6, 4]
    assert CALLS == [3]
    assert all(row["run"] == RUN for row in later.store.rows.values())


def test_an_interrupted_run_goes_on(ask: Ask) -> None:
    with pytest.raises(KeyboardInterrupt):
        ask(double, [(1,), (2,), (13,), (4,)])
    assert again(ask)(double, [(1,), (2,), (4,)])
    assert CALLS == [4]


def test_a_failure_is_told_and_tried_again(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    assert [row["value"] for row in ask(double, [(1,), (-1,), (2,)])] == [1, 2]
    assert ask.failed == 1
    assert "double [-1]: ValueError: too small" in capsys.readouterr().err
    later = again(ask)
    later(double, [(1,), (-1,)])
    assert CALLS == [-1]
    assert later.failed == 1


def test_without_workers_only_what_is_stored_is_told(ask: Ask) -> None:
    ask(double, [(1,)])
    assert len(Ask(ask.store, None)(double, [(1,), (2,)])) == 1
    assert CALLS == [1]


def test_times_are_those_of_a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, timed = question(double, (1,)), question(double, (1,), timed=True)
    assert plain.id != timed.id
    monkeypatch.setattr("benchmarks.common.questions.machine", lambda: ["another"])
    assert question(double, (1,)).id == plain.id
    assert question(double, (1,), timed=True).id != timed.id
    assert timed.about["timed"]


def test_a_file_is_what_is_in_it(tmp_path: Path) -> None:
    one, two, other = (tmp_path / name for name in ("one", "two", "other"))
    for path, text in ((one, "a"), (two, "a"), (other, "b")):
        path.write_text(text)
    assert question(size, (one,)).id == question(size, (two,)).id
    assert question(size, (one,)).id != question(size, (other,)).id


def test_tables_are_renewed_between_their_markers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    renew(page, {"a": "1", "b": "2"})
    page.write_text("Words.\n" + page.read_text())
    renew(page, {"b": "3", "c": "4"})
    begin, end = "<!-- begin table {} -->\n", "\n<!-- end -->\n"
    shown = [begin.format(n) + t + end for n, t in (("a", "1"), ("b", "3"), ("c", "4"))]
    assert page.read_text() == "Words.\n" + "\n".join(shown)
