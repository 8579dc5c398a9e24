"""Budget and sparsity: as they were typed, or chosen from what the first rows of the file show."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from keyhole import streams
from keyhole.analysis.advice import BudgetCurve, MoneyCurve, budget_curve
from keyhole.analysis.advice.choosing import amount, round_up
from keyhole.analysis.advice.recommend import kept, reads_for
from keyhole.analysis.hindsight_screen import ALL
from keyhole.cli.options import SizeOptions
from keyhole.cli.progress import staged
from keyhole.cli.shop import Shop
from keyhole.cli.source import Source, make_problem
from keyhole.problem import BlockStream, KeyholeError, Problem, ProblemError
from keyhole.problem.display import counted
from keyhole.problem.prices import Prices

ENOUGH, MOST = 200, 2000  # rows: the first tenth of the file, but at least and at most so many
FEWEST = 50  # rows from which a curve is believed
LARGEST = 16  # sparsity that is chosen without being asked for
WIDEST = 1000  # features for which a curve is worked out without being asked for


@dataclass(frozen=True)
class Sizes:
    """The problem that is played, how its sizes came about, and the curve if there was one.

    `words` is empty where both sizes were typed.
    """

    problem: Problem
    words: str
    curve: BudgetCurve | None = None

    def as_json(self) -> dict[str, Any]:
        """How the sizes were chosen, for machines."""
        curve = None if self.curve is None else self.curve.as_json()
        return {"how": self.words or "given", "curve": curve}


def choose_sizes(source: Source, size: SizeOptions, history: BlockStream | None = None) -> Sizes:
    """The problem of a stream; what is not given of its sizes follows from the rest.

    A sparsity alone: the least budget of which AutoLearner keeps that many features. A budget
    alone: the sparsity of the curve, or what AutoLearner keeps of the budget if that is less.
    Neither: both from the curve of `history`, or else of the first rows of the stream.

    With prices: what is not given of both is that of the curve of money.
    """
    d = source.stream.d
    if size.budget is not None and size.sparsity is not None:
        return Sizes(make_problem(source, size), "")
    if source.shop is not None and source.shop.columns:
        return _in_columns(source, source.shop, size, history)
    if source.shop is not None:
        return _in_money(source, source.shop, size, history)
    if size.sparsity is not None:
        budget = reads_for(size.sparsity, d) if size.sparsity <= d else d
        problem = make_problem(source, replace(size, budget=budget))
        words = f"Budget {budget}: enough to keep {size.sparsity} features and to explore."
        return Sizes(problem, f"{words} Or set --budget.")
    usual = make_problem(source, size)  # refuses what cannot be played before anything is read
    rows, where = _looked_at(source, history)
    reason, curve = _curve(rows)
    if curve is None or curve.sparsity == 0:
        words = f"{_sizes(usual, size)} by default: {reason or _flat(where, curve)}."
        return Sizes(usual, f"{words} Or set --budget and --sparsity.", curve)
    k = curve.sparsity if size.budget is None else min(curve.sparsity, kept(usual.reads, d))
    problem = make_problem(source, SizeOptions(size.budget or curve.budget, k))
    uncounted = " (these reads are not counted)" if history is None else ""
    words = f"{_sizes(problem, size)} from {where}, read in full{uncounted}: "
    if k < curve.sparsity:
        words = f"Sparsity {k}, what a budget of {problem.budget} keeps. In {where}{uncounted}, "
    return Sizes(problem, f"{words}{curve.recommendation} Or set --budget and --sparsity.", curve)


def _in_columns(
    source: Source, shop: Shop, size: SizeOptions, history: BlockStream | None
) -> Sizes:
    """Sizes from the curve of money where every column costs 1; as usual where there is none."""
    usual = make_problem(source, size)  # refuses what cannot be played before anything is read
    rows, where = _looked_at(source, history)
    reason, found = _curve(rows, shop.prices)
    curve = found if isinstance(found, MoneyCurve) and found.sparsity else None
    say = " and ".join(
        f"--{name}" for name in ("budget", "sparsity") if getattr(size, name) is None
    )
    if curve is None:
        reason = reason or f"in {where}, no number of columns is seen to explain anything"
        return Sizes(usual, f"{_sizes(usual, size)} by default: {reason}. Or set {say}.", found)
    least = float(size.sparsity or 1)
    budget = max(least, min(curve.budget, shop.everything)) if size.budget is None else size.budget
    problem = make_problem(source, SizeOptions(budget, size.sparsity))
    if size.sparsity is None:
        i = max(0, min(curve.at(budget), curve.place))
        problem = problem.replace(k=max(1, min(int(curve.k[i]), problem.width)))
    told = [f"budget {amount(problem.budget)}"] if size.budget is None else []
    weights = "1 weight" if problem.k == 1 else f"{problem.k} weights"
    told += [weights] if size.sparsity is None else []
    uncounted = " (these reads are not counted)" if history is None else ""
    words = " and ".join(told).capitalize() + f" from {where}, read in full{uncounted}: "
    words += f"of columns, {curve.recommendation} Or set {say}."
    return Sizes(problem, words, curve)


def _in_money(source: Source, shop: Shop, size: SizeOptions, history: BlockStream | None) -> Sizes:
    """Sizes from the curve of money: a budget that is not given, a sparsity that is not given."""
    usual = make_problem(source, size)  # refuses what cannot be played before anything is read
    rows, where = _looked_at(source, history)
    reason, found = _curve(rows, shop.prices)
    curve = found if isinstance(found, MoneyCurve) and found.sparsity else None
    reason = reason or f"in {where}, no amount is seen to explain anything"
    uncounted = " (these reads are not paid for)" if history is None else ""
    if size.budget is not None:
        if curve is None:
            return Sizes(
                usual, f"Sparsity {usual.k} by default: {reason}. Or set --sparsity.", found
            )
        i = min(curve.at(size.budget), curve.place)
        k = max(1, min(int(curve.k[i]), usual.width)) if i >= 0 else 1
        words = f"Sparsity {k} from {where}, read in full{uncounted}: "
        words += f"{curve.recommendation} Or set --sparsity."
        return Sizes(usual.replace(k=k), words, curve)
    if curve is None:
        would = would_do(shop.prices)
        raise ProblemError(
            f"--budget is missing and cannot be chosen: {reason}; use --budget {amount(would)}, a "
            f"quarter of the {amount(shop.everything)} that everything costs, or what you can spend"
        )
    k = curve.sparsity if size.sparsity is None else size.sparsity
    problem = make_problem(source, SizeOptions(curve.budget, k))
    both = "" if size.sparsity is not None else f" and sparsity {k}"
    words = f"Budget {amount(curve.budget)}{both} from {where}, read in full{uncounted}: "
    return Sizes(problem, f"{words}{curve.recommendation} Or set --budget and --sparsity.", curve)


def would_do(prices: Prices) -> float:
    """A budget that buys something: about a quarter of everything, and the cheapest feature."""
    everything = range(len(prices.needs))
    cheapest = min(prices.count([j]) for j in everything)
    return prices.money(max(round_up(-(-prices.count(everything) // 4)), cheapest))


def _looked_at(source: Source, history: BlockStream | None) -> tuple[BlockStream, str]:
    """The rows that sizes are chosen from, and what to call them."""
    if history is not None:
        return history, "the history"
    if source.stream.d > WIDEST:  # no curve is made of them: they need not be read
        return source.stream, "the first rows"
    rows = _first(source.stream)
    return rows, f"the first {rows.rounds:,} rows"


def _sizes(problem: Problem, size: SizeOptions) -> str:
    if size.budget is not None:
        return f"Sparsity {problem.k}"
    return f"Budget {problem.budget} and sparsity {problem.k}"


def _first(stream: BlockStream) -> BlockStream:
    """The first rows, in memory: a file is not read once more for every pass."""
    tenth = MOST if stream.rounds is None else stream.rounds // 10
    first = streams.take(stream, min(max(tenth, ENOUGH), MOST))
    return streams.ArrayStream(*streams.collect(first), stream.names)


def _curve(rows: BlockStream, prices: Prices | None = None) -> tuple[str, BudgetCurve | None]:
    """The curve of some rows, or the reason why there is none."""
    d = rows.d
    if d > WIDEST:
        how = "takes long (keyhole advise)" if d <= ALL else "takes too long"
        return f"a curve of {d:,} features {how}", None
    if rows.rounds is not None and rows.rounds < FEWEST:
        are = "is" if rows.rounds == 1 else "are"
        return f"{counted(rows.rounds, 'row')} {are} too few for a curve", None
    try:
        with staged("sizes") as stage:
            most = None if rows.rounds is None else min(LARGEST, d, rows.rounds // 5)
            if prices is not None:
                return "", budget_curve(rows, prices=prices, most=most, stage=stage)
            return "", budget_curve(rows, most=most, stage=stage)
    except KeyholeError as error:
        return str(error), None


def _flat(where: str, curve: BudgetCurve | None) -> str:
    most = len(curve.k) - 1 if curve is not None else 0
    return f"in {where}, no number of features up to {most} is seen to explain anything"
