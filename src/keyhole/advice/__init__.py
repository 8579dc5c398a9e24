"""What to spend: what so many features, or so much money, explain, and how much to buy."""

from keyhole.advice.curve import BudgetCurve
from keyhole.advice.estimate import budget_curve
from keyhole.advice.money_curve import MoneyCurve

__all__ = ["BudgetCurve", "MoneyCurve", "budget_curve"]
