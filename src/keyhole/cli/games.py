"""Games of `keyhole compare`: learners, budgets and seeds in several processes; kept in a file."""

from __future__ import annotations

import itertools
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from keyhole.analysis.findings import Finding
from keyhole.analysis.first_look import FirstLook
from keyhole.analysis.hindsight import Hindsight, summed
from keyhole.analysis.price_limits import CostLimit
from keyhole.analysis.regret import regret
from keyhole.cli.options import FileOptions, HistoryOptions
from keyhole.cli.output import number
from keyhole.cli.progress import progress_bar, status_line
from keyhole.cli.result_file import ResultFile, Row, cell_id
from keyhole.cli.source import HistorySource, Source
from keyhole.cli.spending import NO_SPENDING_RULE, SEARCH_SECONDS, SpendingRule, make_player
from keyhole.errors import printable
from keyhole.game import Observer
from keyhole.game import play as play_game
from keyhole.game.probability_scores import ProbabilityScores
from keyhole.learners.baselines import LastValue, RunningMean, Zero
from keyhole.learners.registry import learner_row, make_learner
from keyhole.problem import BlockStream, DataError, Interval, Problem, ProblemError
from keyhole.problem.display import money_text
from keyhole.report.observers import QUICK_WORK, PrefixObserver, Rival, calibrated, full_rival
from keyhole.report.traces import RecentLoss
from keyhole.saving.parallel import Call, as_completed
from keyhole.streams import Answers
from keyhole.streams.files import FileStream
from keyhole.version import __version__


@dataclass(frozen=True)
class GameResult:
    """What one learner with one budget and one seed read, lost and took."""

    learner: str
    budget: float
    seed: int
    loss: float
    reads: float
    regret: Interval
    seconds: float
    spent: float = math.nan  # per example; without prices, features
    most_spent: float = math.nan
    total: float | None = None  # worth * loss + money, with --worth
    purse_left: float | None = None
    log_loss: float | None = None  # of probabilities, per round
    auc: float | None = None
    first_loss: float = 0.0
    last_tenth_loss: float = math.nan  # per round

    @property
    def later_loss(self) -> float:
        """Of all rounds but the first."""
        return max(self.loss - self.first_loss, 0.0)


@dataclass(frozen=True)
class BaselineLoss:
    """What a yardstick that everybody knows lost: in all, in the first round, of late per round."""

    loss: float
    first_loss: float = 0.0
    last_tenth: float = math.nan

    def later_mean(self, rounds: int) -> float:
        """Per round, of all rounds but the first."""
        return (self.loss - self.first_loss) / max(rounds - 1, 1)


@dataclass(frozen=True)
class Yardsticks:
    """What games are measured by: the best models in hindsight, and what reads nothing.

    With prices the best models are those for the same money, of any number of features.
    """

    best: Hindsight
    with_past: Hindsight
    mean: BaselineLoss
    last: BaselineLoss
    columns: bool = False  # whether the prices count columns
    full: BaselineLoss | None = None  # reading everything, where that is quick
    calibrated: bool = False  # whether all of these are probabilities of yes
    findings: tuple[Finding, ...] = ()  # what is to be known before anything else

    @property
    def known(self) -> dict[str, BaselineLoss]:
        """By name, what everybody knows."""
        full = {} if self.full is None else {"reading everything": self.full}
        return {**full, "the running mean of the label": self.mean, "its last value": self.last}

    @property
    def words(self) -> str:
        """What the best model in hindsight is."""
        return f"{self._words}, calibrated," if self.calibrated else self._words

    @property
    def _words(self) -> str:
        if self.best.worth is not None:
            return f"Best model by {money_text(self.best.worth)} × loss + money"
        if self.best.cost is not None:
            return f"Best model for {'as many columns' if self.columns else 'the same money'}"
        return f"Best {self.best.k} features"

    @property
    def spread(self) -> float:
        """What lies between the best constant and the best model: in money with --worth."""
        best = self.best
        if best.worth is not None and best.total is not None:
            return best.worth * best.empty_loss - best.total.high
        return best.empty_loss - best.loss.high

    @property
    def rounds(self) -> int:
        """How many examples there are."""
        return self.best.rounds


@dataclass(frozen=True)
class GameSettings:
    """How often everything is played, in how many processes, how much of it is audited.

    And what is studied before, by those learners that can.
    """

    seeds: int
    jobs: int = 1
    audit: float = 0.0
    history: HistorySource | None = None
    spending: SpendingRule = NO_SPENDING_RULE
    answers: Answers | None = None  # of a target that is yes or no
    named: bool = True  # whether learners were named: whoever cannot play is then refused

    def __post_init__(self) -> None:
        if self.jobs == 0:
            raise ProblemError("--jobs 0: at least one process has to play; -1: one for each core")


@dataclass
class PlayedGames:
    """The games that were finished, and how many there were to be."""

    total: int
    games: list[GameResult] = field(default_factory=list)
    interrupted: bool = False


Task = tuple[str, Problem, int]  # learner, problem, seed


@dataclass(frozen=True)
class LeftOut:
    """A learner that cannot play with a budget, and why."""

    learner: str
    budget: float
    reason: str


def entries(
    learners: Sequence[str], problems: Sequence[Problem], *, named: bool = True
) -> tuple[list[tuple[str, Problem]], list[LeftOut]]:
    """Every learner with every problem it can play, and those it cannot.

    One that reads everything has a problem of its own: budget = d, or what everything costs. One
    that can play none of them is refused if it was named, and left out with prices if not.
    """
    found: list[tuple[str, Problem]] = []
    left_out: list[LeftOut] = []
    for name in learners:
        own: Sequence[Problem] = problems
        if learner_row(name).reads_everything:
            p = problems[0]
            own = [p.whole()]
            reason = f"it reads all {p.d:,} features"
            all_of_it = own[0].budget
            left_out += [LeftOut(name, q.budget, reason) for q in problems if q.budget != all_of_it]
        can, cannot = _playable(name, own)
        if not can and (named or problems[0].prices is None):
            last = cannot[-1]
            typed = f"{name} cannot play with --budget {money_text(last.budget)}"
            raise ProblemError(f"{typed}: {last.reason}")
        found += [(name, problem) for problem in can]
        left_out += cannot
    return found, left_out


def _playable(name: str, problems: Sequence[Problem]) -> tuple[list[Problem], list[LeftOut]]:
    """The problems that a learner can play, and the others."""
    can, cannot = [], []
    for problem in problems:
        try:
            make_learner(name, problem, 0)
        except ProblemError as error:
            cannot.append(LeftOut(name, problem.budget, str(error)))
        else:
            can.append(problem)
    return can, cannot


def play(
    stream: BlockStream,
    entries: Sequence[tuple[str, Problem]],
    by: Yardsticks,
    how: GameSettings,
    kept: StoredGames,
) -> PlayedGames:
    """Play every entry with seeds 0, 1, ...: all of them with one seed before the next.

    Those that are kept are not played again. Ctrl-C ends it early.
    """
    tasks = [(*entry, seed) for seed in range(how.seeds) for entry in entries]
    played = PlayedGames(len(tasks))
    best = by.best
    played.games, tasks = kept.known(tasks, by, how)
    calls: list[Call] = [(_game, (stream, best, how, *task)) for task in tasks]

    def games() -> Iterator[GameResult]:
        for outcome in as_completed(calls, how.jobs):
            game: GameResult = outcome.result
            kept.keep(game, tasks[outcome.index], by, how)
            yield game

    def told(game: GameResult) -> str:
        mean = number(game.later_loss / max(best.rounds - 1, 1))
        who = f"{game.learner}, budget {money_text(game.budget)}, seed {game.seed}"
        return f"{who}: mean loss {mean} in {game.seconds:.1f} s"

    try:
        for game in progress_bar(games(), len(tasks), "games", told):
            played.games.append(game)
    except KeyboardInterrupt:
        played.interrupted = True
    order = [(name, problem.budget) for name, problem in entries]
    played.games.sort(key=lambda game: (order.index((game.learner, game.budget)), game.seed))
    return played


def say_left_out(left_out: Sequence[LeftOut]) -> None:
    """A line on standard error for every learner that is not played everywhere."""
    for (name, reason), group in itertools.groupby(left_out, lambda x: (x.learner, x.reason)):
        budgets = ", ".join(money_text(one.budget) for one in group)
        line = f"keyhole: {name} is not played with budget {budgets}: {reason}"
        sys.stderr.write(f"{printable(line)}\n")


def measure(
    source: Source, problem: Problem, spending: SpendingRule = NO_SPENDING_RULE
) -> Yardsticks:
    """The best models in hindsight, without the past and with it; what everybody knows.

    From one pass.
    """
    stream, whole = source.stream, PrefixObserver(source.stream.d, intercept=True)
    yes_no = source.answers is not None
    mean, last = (
        Rival(calibrated(make(problem), yes_no), bins=2) for make in (RunningMean, LastValue)
    )
    full = full_rival(problem, stream.rounds, 2, QUICK_WORK, yes_no=yes_no)
    look = FirstLook(stream.d, brief=True)
    beside: list[Observer] = [whole, mean, last, look, *([] if full is None else [full])]
    with status_line("what games are measured by") as stage:
        stage("one pass over all rows")
        play_game(Zero(problem), stream, keep_predictions=False, observers=beside)
        if not whole.prefixes:
            raise DataError("the stream is empty: there is nothing to compare")
        best, with_past = _best_models(whole, problem, spending.deal(problem), stage)
        if yes_no:
            from keyhole.analysis.calibrated import calibrated_loss

            lost = calibrated_loss(stream, best)
            best = replace(best, loss=Interval(lost, lost, "calibrated in hindsight"))
    return Yardsticks(
        best,
        with_past,
        _known(mean),
        _known(last),
        source.counts_columns,
        None if full is None or full.gave_up else _known(full),
        yes_no,
        look.findings(stream.names),
    )


def _best_models(
    whole: PrefixObserver, problem: Problem, deal: CostLimit | None, stage: Callable[[str], None]
) -> tuple[Hindsight, Hindsight]:
    stage(f"the best model in hindsight, about {SEARCH_SECONDS:g} s")
    if deal is not None:
        best = whole.prefixes[-1].best_for(deal, SEARCH_SECONDS)
        return best, whole.beside_past().best_for(deal, SEARCH_SECONDS, best.support)
    best = whole.prefixes[-1].best(problem.k, SEARCH_SECONDS)
    stage(f"the best model beside earlier labels, about {SEARCH_SECONDS:g} s")
    return best, whole.beside_past().best(problem.k, SEARCH_SECONDS, best.support)


def _known(rival: Rival) -> BaselineLoss:
    ledger = rival.ledger
    return BaselineLoss(ledger.loss, ledger.first_loss, rival.recent.last_tenth.mean_loss)


def best_of_each(stream: BlockStream, problems: Sequence[Problem]) -> list[Hindsight]:
    """The best model for the money of each problem; none without prices."""
    pricing = problems[0].prices
    if pricing is None:
        return []
    whole = summed(stream, True, False)
    share = SEARCH_SECONDS / len(problems)
    deals = [CostLimit(pricing, None, pricing.limit(problem.budget), None) for problem in problems]
    return [whole.best_for(deal, share) for deal in deals]


def _game(
    stream: BlockStream,
    best: Hindsight,
    how: GameSettings,
    learner: str,
    problem: Problem,
    seed: int,
) -> GameResult:
    player = make_player(learner, problem, seed, how.spending, how.answers)
    scores = [] if how.answers is None else [ProbabilityScores()]
    if how.history is not None:
        how.history.teach_if_possible(player)
    start = time.perf_counter()
    recent = RecentLoss()
    observers: list[Observer] = [recent, *scores]
    ledger = play_game(player, stream, keep_predictions=False, audit=how.audit, observers=observers)
    seconds = time.perf_counter() - start
    worth, total = best.worth, None
    gap = regret(ledger, best)
    if worth is not None and best.total is not None:
        total = ledger.total(worth)
        gap = total - best.total
    return GameResult(
        learner,
        problem.budget,
        seed,
        ledger.loss,
        ledger.mean_reads,
        gap,
        seconds,
        ledger.spent / ledger.rounds,
        ledger.most_spent,
        total,
        getattr(player, "purse_left", None),
        log_loss=scores[0].log_loss if scores else None,
        auc=(scores[0].auc.low + scores[0].auc.high) / 2 if scores else None,
        first_loss=ledger.first_loss,
        last_tenth_loss=recent.last_tenth.mean_loss,
    )


class StoredGames:
    """The games of a file, by all that they hang on: rows, learner, problem, seed, history, money.

    `reading` says how the rows are read. Without a file nothing is kept.
    """

    def __init__(
        self, path: str | None, source: Source, history: HistorySource | None, reading: str
    ) -> None:
        self._file = None if path is None else _opened_results(path)
        self._about = {
            "keyhole": __version__,
            "stream": _identity(source.stream),
            "reading": reading,
            "answers": str(source.answers),
            "history": None
            if history is None
            else [_identity(history.stream), history.rows, history.half_life],
        }

    def known(
        self, tasks: Sequence[Task], by: Yardsticks, how: GameSettings
    ) -> tuple[list[GameResult], list[Task]]:
        """The games that are there, and the tasks that are left."""
        if self._file is None:
            return [], list(tasks)
        found, left = list[GameResult](), list[Task]()
        for task in tasks:
            key = self._key(task, by, how)
            if self._file.done(key):
                found.append(_kept_game(self._file.rows[key]["game"], by))
            else:
                left.append(task)
        return found, left

    def keep(self, game: GameResult, task: Task, by: Yardsticks, how: GameSettings) -> None:
        """Keep a game that was played."""
        if self._file is not None:
            told = {k: v for k, v in asdict(game).items() if k != "regret"}
            self._file.add({"id": self._key(task, by, how), "game": told})

    def _key(self, task: Task, by: Yardsticks, how: GameSettings) -> str:
        learner, problem, seed = task
        spending = repr(how.spending).replace("SpendingRule", "Spending")  # as it was called once
        return cell_id(
            {
                **self._about,
                # What reads nothing lost, in the order of the labels: another file, another number.
                "rows": [by.rounds, by.mean.loss, by.last.loss],
                "game": [learner, repr(problem), seed, how.audit, spending],
            }
        )


def _identity(stream: BlockStream) -> list[str]:
    """What the rows of a stream come from, as far as it tells."""
    names = list(stream.names or ())
    return [*(stream.sources if isinstance(stream, FileStream) else ()), *names]


def _kept_game(row: Row, by: Yardsticks) -> GameResult:
    """A game that was kept; regret is against the best model that is known now."""
    total, best = row.get("total"), by.best
    if best.total is not None and total is not None and not math.isnan(total):
        return GameResult(**row, regret=total - best.total)
    return GameResult(**row, regret=row["loss"] - best.loss)


def _opened_results(path: str) -> ResultFile:
    place = Path(path)
    if place.is_dir() or not place.parent.is_dir():
        raise DataError(f"--results {path}: name a file, in a folder that exists")
    try:
        return ResultFile(place)
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"--results {path} cannot be read: {error}") from None


def refuse_standard_input(file: FileOptions, past: HistoryOptions) -> None:
    """DataError if workers elsewhere would have to read what is piped in here."""
    if "-" in file.files or past.history == "-":
        raise DataError(
            "standard input cannot be used with --cluster: name a file that the workers can read"
        )
