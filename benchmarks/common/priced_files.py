"""Prices for three of the files of real data: how each is charged, by the names of its columns.

The prices of thyroid_cost are those of Turney (1995), in dollars. Those of nhanes_a1c and
appliances are rules made up here, for measuring only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from keyhole.problem import Problem
from keyhole.problem.prices import Money, PriceTable


class Parts(NamedTuple):
    """A price table while it is put together."""

    prices: dict[str, Money]
    panels: dict[str, tuple[Money, list[str]]]
    derived: dict[str, list[str]]

    def add(self, panel: str, fee: Money, member: str, own: Money | None = None) -> None:
        """Put a feature into a panel, with a price of its own beside the fee if it has one."""
        self.panels.setdefault(panel, (fee, []))[1].append(member)
        if own is not None:
            self.prices[member] = own

    def table(self, title: str) -> PriceTable:
        """What it has become."""
        return PriceTable(self.prices, self.panels, self.derived, title)


THYROID = {"TSH": "22.78", "T3": "11.41", "TT4": "14.51", "T4U": "11.41"}


def thyroid(names: Sequence[str]) -> PriceTable:
    """TSH 22.78, T3 11.41, TT4 14.51, T4U 11.41, others 1; FTI is computed from TT4 and T4U."""
    prices = {name: THYROID.get(name, "1.00") for name in names if name != "FTI"}
    return PriceTable(prices, {}, {"FTI": ["TT4", "T4U"]}, "thyroid_cost")


QUESTION = "0.25"
KNOWN = (  # of the person's file: nobody has to ask
    *("Gender", "AgeInYears", "RacehispanicOrigin", "ServedActiveDuty", "EducationLevel"),
    *("MaritalStatus", "TotalNumberOfPeople", "OfChildren", "OfAdults60"),
    *("AnnualHouseholdIncome", "AnnualFamilyIncome", "RatioOfFamilyIncome", "CoveredByHealth"),
)
MEASURED = ("60SecPulse", "WeightKg", "StandingHeight", "WaistCircumference")
METALS = ("BloodLead", "BloodCadmium", "BloodMercury", "BloodSelenium", "BloodManganese")
LIPIDS = ("DirectHdl", "TotalCholesterolMgdl")


def nhanes(names: Sequence[str]) -> PriceTable:
    """NHANES: by how a column is come by, which its name tells.

    Free: what stands in the file of a person (sex, age, origin, household, income, insurance). A
    question costs 0.25, once for all its levels. A measurement costs 1: pulse, weight, height,
    waist, and each reading of the blood pressure, which gives two values; the body mass index is
    computed from weight and height. A day's diet, asked for in an interview, costs 4 for its 11
    values. A blood draw costs 2; beside it, the metals cost 8 for all five, total cholesterol and
    HDL 1.50 each.
    """
    parts = Parts({}, {}, {})
    for name in names:
        stem = name.partition("_")[0]
        if name.startswith(KNOWN):
            parts.prices[name] = "0"
        elif name.endswith(("_DR1TOT", "_DR2TOT")):
            parts.add(f"diet, day {name[-4]}", "4", name)
        elif name.startswith(("SystolicBloodPres", "DiastolicBloodPres")):
            parts.add(f"blood pressure {name.partition('BloodPres')[2][:1]}", "1", name)
        elif name.startswith("BodyMassIndex"):
            parts.derived[name] = [n for n in names if n.startswith(("WeightKg", "StandingHeight"))]
        elif name.startswith(MEASURED):
            parts.prices[name] = "1"
        elif name.startswith(METALS):
            parts.add("metals", "8", name)
            parts.add("blood draw", "2", name)
        elif name.startswith(LIPIDS):
            parts.add("blood draw", "2", name, "1.50")
        elif sum(other.startswith(f"{stem}_") for other in names) > 1:
            parts.add(stem, QUESTION, name)
        else:
            parts.prices[name] = QUESTION
    return parts.table("nhanes_a1c")


CLOCK = ("hour_sin", "hour_cos", "hour2_sin", "hour2_cos", "weekend")
WEATHER = ("T_out", "Press_mm_hg", "RH_out", "Windspeed", "Visibility", "Tdewpoint")


def appliances(names: Sequence[str]) -> PriceTable:
    """A house: the clock is free, a sensor gives two values, a weather report six.

    A room's sensor costs 1.50 for temperature and humidity, the weather report 2, the meter of the
    lights 3, and the two columns of noise 1 each.
    """
    parts = Parts({}, {}, {})
    for name in names:
        if name in CLOCK:
            parts.prices[name] = "0"
        elif name in WEATHER:
            parts.add("weather report", "2", name)
        elif name.startswith(("T", "RH_")):
            parts.add(f"sensor {name.removeprefix('RH_').removeprefix('T')}", "1.50", name)
        else:
            parts.prices[name] = "3" if name == "lights" else "1"
    return parts.table("appliances")


class Charged(NamedTuple):
    """How a file is played for money: the rule of its prices, k, and money per example."""

    rule: Callable[[Sequence[str]], PriceTable]
    k: int
    budget: float

    def problem(self, names: Sequence[str]) -> Problem:
        """The problem for the features of the file."""
        return Problem(len(names), self.k, self.budget, names, prices=self.rule(names))


PRICED_FILES: Mapping[str, Charged] = {
    "thyroid_cost": Charged(thyroid, 3, 25.0),
    "nhanes_a1c": Charged(nhanes, 4, 12.0),
    "appliances": Charged(appliances, 4, 8.0),
}
