"""What to spend: what so many features, or so much money, explain, and how much to buy."""

from keyhole.analysis.advice.curve import BudgetCurve
from keyhole.analysis.advice.estimate import budget_curve
from keyhole.analysis.advice.money_curve import MoneyCurve

__all__ = ["BudgetCurve", "MoneyCurve", "budget_curve"]
