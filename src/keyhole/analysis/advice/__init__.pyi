# The public names, each with the module it is loaded from; `keyhole/_lazy.py` reads this file.
from keyhole.analysis.advice.curves import BudgetCurve as BudgetCurve
from keyhole.analysis.advice.curves import MoneyCurve as MoneyCurve
from keyhole.analysis.advice.estimate import budget_curve as budget_curve

__all__: list[str]
