"""Sizes of the problem: budget and sparsity, as typed or chosen from the first rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from keyhole import streams
from keyhole.analysis.advice.curves import kept, reads_for, round_up
from keyhole.analysis.hindsight_screening import MAX_FEATURES_UNSCREENED
from keyhole.cli.options import SizeOptions
from keyhole.cli.progress import status_line
from keyhole.cli.source import Pricing, Source
from keyhole.problem import BlockStream, KeyholeError, Problem, ProblemError
from keyhole.problem.display import counted, money_text
from keyhole.problem.prices import Prices

if TYPE_CHECKING:
    from keyhole.analysis.advice import BudgetCurve, MoneyCurve

MIN_ROWS_LOOKED_AT, MAX_ROWS_LOOKED_AT = 200, 2000  # of the first tenth of the file
MIN_ROWS_OF_CURVE = 50  # rows from which a curve is believed
MAX_CHOSEN_SPARSITY = 16  # sparsity that is chosen without being asked for
MAX_FEATURES_OF_CURVE = 1000  # features for which a curve is worked out without being asked for


@dataclass(frozen=True)
class ChosenSizes:
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


def make_problem(source: Source, size: SizeOptions) -> Problem:
    """The problem of a stream; of what is not given 8 features are read, and models have 4."""
    pricing, stream, sparsity = source.pricing, source.stream, size.sparsity
    if pricing is not None and not pricing.columns:
        return _priced(pricing, source, size)
    most, what = stream.d, "features"
    if pricing is not None:  # columns are counted, some of which are several features
        most, what = len(pricing.prices.items), "columns"
    budget = min(8, most) if size.budget is None else _whole(size.budget)
    if budget > most:
        raise ProblemError(f"--budget {budget} is more than the {most} {what} of {source.title}")
    if sparsity is not None and sparsity > budget:
        raise ProblemError(
            f"--sparsity {sparsity} is more than --budget {budget}: a model of {sparsity} {what} "
            f"cannot be used when {budget} are read"
        )
    k = min(4, budget) if sparsity is None else sparsity
    if pricing is None:
        return Problem(stream.d, k, budget, stream.names)
    # A model of k columns may have all features of the k largest.
    return Problem(stream.d, pricing.widest(k), budget, stream.names, pricing.prices)


def _whole(budget: float) -> int:
    """A budget that counts features."""
    if not float(budget).is_integer() or budget < 1:
        raise ProblemError(
            f"--budget {budget:g}: without --prices a budget is a number of features, at least 1"
        )
    return int(budget)


def _priced(pricing: Pricing, source: Source, size: SizeOptions) -> Problem:
    """The problem with prices; of what is not given everything may be bought, and models have 4."""
    budget = pricing.everything if size.budget is None else size.budget
    problem = Problem(source.stream.d, 1, budget, source.stream.names, pricing.prices)
    problem = problem.replace(limits=pricing.limits)
    k = min(4, problem.width) if size.sparsity is None else size.sparsity
    if k > problem.width:
        raise ProblemError(
            f"--sparsity {k} is more than {problem.width}, the most features that a budget of "
            f"{problem.budget:g} can buy at these prices"
        )
    return problem.replace(k=k)


def choose_sizes(
    source: Source, size: SizeOptions, history: BlockStream | None = None
) -> ChosenSizes:
    """The problem of a stream; what is not given of its sizes follows from the rest.

    A sparsity alone: the least budget of which AutoLearner keeps that many features. A budget
    alone: the sparsity of the curve, or what AutoLearner keeps of the budget if that is less.
    Neither: both from the curve of `history`, or else of the first rows of the stream.

    With prices: what is not given of both is that of the curve of money.
    """
    d = source.stream.d
    if size.budget is not None and size.sparsity is not None:
        return ChosenSizes(make_problem(source, size), "")
    if source.pricing is not None:
        chosen = _in_columns if source.pricing.columns else _in_money
        return chosen(source, source.pricing, size, history)
    if size.sparsity is not None:
        budget = reads_for(size.sparsity, d) if size.sparsity <= d else d
        problem = make_problem(source, replace(size, budget=budget))
        words = f"Budget {budget}: enough to keep {size.sparsity} features and to explore."
        return ChosenSizes(problem, f"{words} Or set --budget.")
    usual = make_problem(source, size)  # refuses what cannot be played before anything is read
    where, reason, curve = _curve(source, history)
    if curve is None or curve.sparsity == 0:
        words = f"{_sizes(usual, size)} by default: {reason or _flat(where, curve)}."
        return ChosenSizes(usual, f"{words} Or set --budget and --sparsity.", curve)
    k = curve.sparsity if size.budget is None else min(curve.sparsity, kept(usual.reads, d))
    problem = make_problem(source, SizeOptions(size.budget or curve.budget, k))
    uncounted = " (these reads are not counted)" if history is None else ""
    words = f"{_sizes(problem, size)} from {where}, read in full{uncounted}: "
    if k < curve.sparsity:
        words = f"Sparsity {k}, what a budget of {problem.budget} keeps. In {where}{uncounted}, "
    words += f"{curve.recommendation} Or set --budget and --sparsity."
    return ChosenSizes(problem, words, curve)


def _in_columns(
    source: Source, pricing: Pricing, size: SizeOptions, history: BlockStream | None
) -> ChosenSizes:
    """Sizes from the curve of money where every column costs 1; as usual where there is none."""
    usual = make_problem(source, size)  # refuses what cannot be played before anything is read
    where, reason, found = _curve(source, history)
    curve = _as_money_curve(found)
    missing = [name for name in ("budget", "sparsity") if getattr(size, name) is None]
    say = " and ".join(f"--{name}" for name in missing)
    if curve is None:
        reason = reason or f"in {where}, no number of columns is seen to explain anything"
        words = f"{_sizes(usual, size)} by default: {reason}. Or set {say}."
        return ChosenSizes(usual, words, found)
    budget = size.budget
    if budget is None:
        budget = max(float(size.sparsity or 1), min(curve.budget, pricing.everything))
    problem = make_problem(source, SizeOptions(budget, size.sparsity))
    if size.sparsity is None:
        i = max(0, min(curve.at(budget), curve.place))
        problem = problem.replace(k=max(1, min(int(curve.k[i]), problem.width)))
    told = [f"budget {money_text(problem.budget)}"] if size.budget is None else []
    weights = "1 weight" if problem.k == 1 else f"{problem.k} weights"
    told += [weights] if size.sparsity is None else []
    uncounted = " (these reads are not counted)" if history is None else ""
    words = " and ".join(told).capitalize() + f" from {where}, read in full{uncounted}: "
    words += f"of columns, {curve.recommendation} Or set {say}."
    return ChosenSizes(problem, words, curve)


def _in_money(
    source: Source, pricing: Pricing, size: SizeOptions, history: BlockStream | None
) -> ChosenSizes:
    """Sizes from the curve of money: a budget that is not given, a sparsity that is not given."""
    usual = make_problem(source, size)  # refuses what cannot be played before anything is read
    where, reason, found = _curve(source, history)
    curve = _as_money_curve(found)
    reason = reason or f"in {where}, no amount is seen to explain anything"
    uncounted = " (these reads are not paid for)" if history is None else ""
    if size.budget is not None:
        if curve is None:
            words = f"Sparsity {usual.k} by default: {reason}. Or set --sparsity."
            return ChosenSizes(usual, words, found)
        i = min(curve.at(size.budget), curve.place)
        k = max(1, min(int(curve.k[i]), usual.width)) if i >= 0 else 1
        words = f"Sparsity {k} from {where}, read in full{uncounted}: "
        words += f"{curve.recommendation} Or set --sparsity."
        return ChosenSizes(usual.replace(k=k), words, curve)
    if curve is None:
        would = money_text(suggested_budget(pricing.prices))
        raise ProblemError(
            f"--budget is missing and cannot be chosen: {reason}; use --budget {would}, a "
            f"quarter of the {money_text(pricing.everything)} that everything costs, or what you "
            "can spend"
        )
    k = curve.sparsity if size.sparsity is None else size.sparsity
    problem = make_problem(source, SizeOptions(curve.budget, k))
    both = "" if size.sparsity is not None else f" and sparsity {k}"
    words = f"Budget {money_text(curve.budget)}{both} from {where}, read in full{uncounted}: "
    words += f"{curve.recommendation} Or set --budget and --sparsity."
    return ChosenSizes(problem, words, curve)


def suggested_budget(prices: Prices) -> float:
    """A budget that buys something: about a quarter of everything, and the cheapest feature."""
    everything = range(len(prices.needs))
    cheapest = min(prices.count([j]) for j in everything)
    return prices.money(max(round_up(-(-prices.count(everything) // 4)), cheapest))


def _sizes(problem: Problem, size: SizeOptions) -> str:
    if size.budget is not None:
        return f"Sparsity {problem.k}"
    return f"Budget {problem.budget} and sparsity {problem.k}"


def _curve(source: Source, history: BlockStream | None) -> tuple[str, str, BudgetCurve | None]:
    """What to call the rows that sizes are chosen from, and their curve or why there is none."""
    from keyhole.analysis.advice import budget_curve

    stream, d, rows = source.stream, source.stream.d, history
    where = "the first rows" if rows is None else "the history"
    if d > MAX_FEATURES_OF_CURVE:  # the rows need not be read
        how = "takes long (keyhole advise)" if d <= MAX_FEATURES_UNSCREENED else "takes too long"
        return where, f"a curve of {d:,} features {how}", None
    if rows is None:
        tenth = MAX_ROWS_LOOKED_AT if stream.rounds is None else stream.rounds // 10
        first = streams.take(stream, min(max(tenth, MIN_ROWS_LOOKED_AT), MAX_ROWS_LOOKED_AT))
        # In memory: a file is not read once more for every pass.
        rows = streams.ArrayStream(*streams.collect(first), stream.names)
        where = f"the first {rows.rounds:,} rows"
    if rows.rounds is not None and rows.rounds < MIN_ROWS_OF_CURVE:
        are = "is" if rows.rounds == 1 else "are"
        return where, f"{counted(rows.rounds, 'row')} {are} too few for a curve", None
    prices = None if source.pricing is None else source.pricing.prices
    try:
        with status_line("sizes") as stage:
            most = None if rows.rounds is None else min(MAX_CHOSEN_SPARSITY, d, rows.rounds // 5)
            return where, "", budget_curve(rows, prices=prices, most=most, stage=stage)
    except KeyholeError as error:
        return where, str(error), None


def _as_money_curve(found: BudgetCurve | None) -> MoneyCurve | None:
    """A curve of money that recommends something."""
    from keyhole.analysis.advice import MoneyCurve

    return found if isinstance(found, MoneyCurve) and found.sparsity else None


def _flat(where: str, curve: BudgetCurve | None) -> str:
    most = len(curve.k) - 1 if curve is not None else 0
    return f"in {where}, no number of features up to {most} is seen to explain anything"


WHOLE, MONEY = r"([0-9]{1,9})", r"([0-9]{1,9}(?:\.[0-9]{1,9})?)"
MAX_BUDGETS = 1000  # budgets in one list


def parse_budgets(typed: Sequence[str], *, money: bool = False) -> list[float]:
    """The budgets of a list, ascending. A range has both its ends, and may have a step.

    Budgets of money may have decimals, and be 0.

    >>> parse_budgets(["12,4"]), parse_budgets(["4-16:4"]), parse_budgets(["1-3, 8"])
    ([4, 12], [4, 8, 12, 16], [1, 2, 3, 8])
    >>> parse_budgets(["12.50,4", "5-6:0.5"], money=True)
    [4.0, 5.0, 5.5, 6.0, 12.5]
    """
    text = ",".join(typed)
    number = MONEY if money else WHOLE
    pattern = re.compile(f"{number}(?:-{number}(?::{number})?)?")
    what = "an amount of money" if money else "a number of features"
    found: list[Decimal] = []
    for item in text.split(","):
        match = pattern.fullmatch(item.strip())
        if match is None:
            raise ProblemError(
                f"--budgets {text!r}: {item.strip()!r} is not {what}; "
                "write a list like 4,8,12 or a range like 4-16:4"
            )
        first, last, step = (Decimal(part) if part else None for part in match.groups())
        assert first is not None
        if step == 0 or (last is not None and last < first):
            raise ProblemError(
                f"--budgets {text!r}: the range {item.strip()} is empty; write it as 4-16:4"
            )
        many = 1 if last is None else int((last - first) / (step or 1)) + 1
        if len(found) + many > MAX_BUDGETS:
            raise ProblemError(f"--budgets {text!r}: that is more than {MAX_BUDGETS:,} budgets")
        found.extend(first + i * (step or 1) for i in range(many))
    if min(found) < 1 and not money:
        raise ProblemError(f"--budgets {text!r}: a budget is at least 1, got {min(found)}")
    twice = [budget for budget in sorted(set(found)) if found.count(budget) > 1]
    if twice:
        raise ProblemError(f"--budgets {text!r}: {twice[0]} is there twice")
    return [float(budget) if money else int(budget) for budget in sorted(found)]


def make_problems(source: Source, budgets: Sequence[float], sparsity: int | None) -> list[Problem]:
    """A problem for each budget, all of one sparsity: one yardstick for all."""
    d, smallest, largest = source.stream.d, min(budgets), max(budgets)
    typed = f"--budgets {','.join(map(str, budgets))}"
    if source.pricing is None and largest > d:
        raise ProblemError(f"{typed}: {largest} is more than the {d} features of {source.title}")
    if source.pricing is None and sparsity is not None and sparsity > smallest:
        raise ProblemError(
            f"--sparsity {sparsity} is more than {smallest}, the smallest of {typed}: a model of "
            f"{sparsity} features cannot be used when {smallest} are read"
        )
    if source.counts_columns:
        k = int(min(4, smallest)) if sparsity is None else sparsity
    else:
        k = make_problem(source, SizeOptions(smallest, sparsity)).k
    return [make_problem(source, SizeOptions(budget, k)) for budget in budgets]
