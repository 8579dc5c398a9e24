"""A notebook is run, cell by cell, in a kernel of its own: objects are shown as tables."""

from __future__ import annotations

from typing import Any

import nbclient
import nbformat

CELLS = (
    "import keyhole as kh\n"
    "stream, truth = kh.streams.clinic()\n"
    "problem = kh.Problem(d=42, k=4, budget=8, names=stream.names)\n"
    "learner = kh.RandomSubset(problem, seed=0)\n"
    "stream",
    "problem",
    "learner.ask()",
    "kh.play(learner, kh.streams.take(stream, 50))",
    "learner",
    "kh.LEARNERS",
)
EXPECTED = ("GeneratedStream", "Problem", "Ticket of round 1", "Ledger", "RandomSubset", "Learners")


def test_objects_are_tables_in_a_notebook() -> None:
    book: Any = nbformat.v4.new_notebook(  # type: ignore[no-untyped-call]
        cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS]  # type: ignore[no-untyped-call]
    )
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    shown = [cell.outputs[-1].data for cell in book.cells]
    for data, name in zip(shown, EXPECTED, strict=True):
        assert data["text/html"].startswith(f"<table><caption>{name}")
        assert "\n" not in data["text/plain"]
