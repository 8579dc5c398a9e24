"""What to spend: what so many features explain, and how many to buy."""

from keyhole.advice.curve import BudgetCurve
from keyhole.advice.estimate import budget_curve

__all__ = ["BudgetCurve", "budget_curve"]
