"""Progress of a command on standard error, shown only if that is a terminal."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Self, TypeVar

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from keyhole.cli.output import number
from keyhole.errors import printable
from keyhole.game.ledger import Ledger
from keyhole.problem import Learner
from keyhole.problem.sparse_model import sparse_model

if TYPE_CHECKING:
    from keyhole.report import Recorder

T = TypeVar("T")
REFRESHES_PER_SECOND = 4  # updates


def progress_bar(
    items: Iterable[T], total: int, noun: str, told: Callable[[T], str]
) -> Iterator[T]:
    """The items as they come, a line about each, and a bar that counts them."""
    shown = (TextColumn(noun), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    visible = sys.stderr.isatty()
    with Progress(
        *shown,
        console=Console(stderr=True, highlight=False),
        transient=True,
        refresh_per_second=REFRESHES_PER_SECOND,
        disable=not visible,
    ) as bar:
        for item in bar.track(items, total=total):
            if visible:
                bar.console.print(Text(printable(told(item))))
            yield item


@contextlib.contextmanager
def status_line(what: str) -> Iterator[Callable[[str], None]]:
    """Within: a function to tell what is being done, which is shown in one line that goes away."""
    if not sys.stderr.isatty():
        yield lambda words: None
        return
    began, said = time.monotonic(), [what]

    def line() -> Text:
        return Text(printable(f"{': '.join(said)} ...{waited(began)}"))

    def stage(words: str) -> None:
        said[1:] = [words]

    with _live(line):
        yield stage


def _live(shown: Callable[[], RenderableType]) -> Live:
    """What is shown on standard error as it changes, and goes away at the end."""
    return Live(
        console=Console(stderr=True, highlight=False),
        refresh_per_second=REFRESHES_PER_SECOND,
        transient=True,
        get_renderable=shown,
    )


def waited(since: float) -> str:
    """How long something takes already, from two seconds on."""
    seconds = int(time.monotonic() - since)
    return f" {seconds} s" if seconds >= 2 else ""


class RunProgress:
    """What is going on in a run: the stage; rounds, rate, loss against the mean, the support.

    Give it to `play` as `progress`, and its `stage` to `record`. Used in a with statement.

    Parameters
    ----------
    learner
        Who plays.
    total
        How many rounds there are, None if not known.
    recorder
        Who records the run, and knows how the running mean and the last value of the label fare.
    """

    def __init__(self, learner: Learner, total: int | None, recorder: Recorder) -> None:
        self._learner = learner
        self._total = total
        self._recorder = recorder
        self._stage, self._since = "", time.monotonic()
        self._lines: list[str] = []
        self._live: Live | None = None
        self._start, self._last = time.perf_counter(), time.monotonic()
        self.ledger: Ledger | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._live = _live(self._shown)
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()

    def _shown(self) -> Group:
        stage = f"{self._stage} ...{waited(self._since)}"
        return Group(*(Text(printable(line)) for line in [stage, *self._lines]))

    def stage(self, words: str) -> None:
        """Something new begins."""
        self._stage, self._since = words, time.monotonic()

    def __call__(self, ledger: Ledger) -> None:
        """Remember the books so far, and show them if it is time."""
        self.ledger = ledger
        now = time.monotonic()
        if self._live is None or now - self._last < 1 / REFRESHES_PER_SECOND:
            return
        self._last = now
        of = f" of {self._total:,}" if self._total else ""
        rate = ledger.rounds / max(time.perf_counter() - self._start, 1e-9)
        variance, lost = self._recorder.predictions.variance, ledger.later_mean_loss
        r2 = f", R2 {1 - lost / variance:.3f}" if variance > 0 else ""
        mean, last = (
            number(who.ledger.later_mean_loss) for who in (self._recorder.mean, self._recorder.last)
        )
        names = sparse_model(self._learner).names
        self._lines = [
            f"{ledger.rounds:,}{of} rounds, {rate:,.0f} a second",
            f"loss {number(lost)} per round{r2}",
            f"by the mean so far {mean}, by the last label {last}",
            f"model of {', '.join(names[:8]) or 'nothing yet'}",
        ]
