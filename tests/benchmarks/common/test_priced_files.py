"""Prices of real files, by the names of their columns."""

import pytest

from benchmarks.common.files import FILES
from benchmarks.common.priced_files import PRICED_FILES
from keyhole.problem import Problem

COLUMNS = {
    "thyroid_cost": ["age", "sex", "goitre", "TSH", "T3", "TT4", "T4U", "FTI"],
    "nhanes_a1c": [
        *("GeneralHealthCondition_Good", "GeneralHealthCondition_Poor", "OnSpecialDiet"),
        *("EnergyKcal_DR1TOT", "AlcoholGm_DR1TOT", "EnergyKcal_DR2TOT", "WeightKg"),
        *("StandingHeightCm", "BodyMassIndexKgm2", "SystolicBloodPres1StRdgMmHg"),
        *("DiastolicBloodPres1StRdgMmHg", "SystolicBloodPres2NdRdgMmHg", "Gender_Female"),
        *("Gender_Male", "AgeInYearsAtScreening", "BloodLeadUgdl", "BloodCadmiumUgl"),
        *("DirectHdlcholesterolMgdl", "TotalCholesterolMgdl"),
    ],
    "appliances": [
        *("lights", "T1", "RH_1", "T2", "RH_2", "T_out", "Tdewpoint", "RH_out", "rv1", "weekend")
    ],
}
COSTS = {
    "thyroid_cost": [
        (["age", "sex"], 2.0),
        (["TSH"], 22.78),
        (["FTI"], 25.92),
        (["FTI", "TT4", "T4U"], 25.92),
        (["FTI", "T3"], 37.33),
    ],
    "nhanes_a1c": [
        (["Gender_Female", "Gender_Male", "AgeInYearsAtScreening"], 0.0),
        (["OnSpecialDiet"], 0.25),
        (["GeneralHealthCondition_Good", "GeneralHealthCondition_Poor"], 0.25),
        (["EnergyKcal_DR1TOT", "AlcoholGm_DR1TOT"], 4.0),
        (["EnergyKcal_DR1TOT", "EnergyKcal_DR2TOT"], 8.0),
        (["BodyMassIndexKgm2"], 2.0),
        (["WeightKg", "StandingHeightCm", "BodyMassIndexKgm2"], 2.0),
        (["SystolicBloodPres1StRdgMmHg", "DiastolicBloodPres1StRdgMmHg"], 1.0),
        (["SystolicBloodPres1StRdgMmHg", "SystolicBloodPres2NdRdgMmHg"], 2.0),
        (["BloodLeadUgdl", "BloodCadmiumUgl"], 10.0),
        (["DirectHdlcholesterolMgdl", "TotalCholesterolMgdl", "BloodLeadUgdl"], 13.0),
    ],
    "appliances": [
        (["weekend"], 0.0),
        (["T1", "RH_1"], 1.5),
        (["T1", "T2"], 3.0),
        (["T_out", "Tdewpoint", "RH_out"], 2.0),
        (["lights", "rv1"], 4.0),
    ],
}


@pytest.mark.parametrize("name", PRICED_FILES)
def test_columns_cost_what_the_rule_says(name: str) -> None:
    charged, columns = PRICED_FILES[name], COLUMNS[name]
    problem = charged.problem(columns)
    for features, cost in COSTS[name]:
        assert problem.cost([columns.index(f) for f in features]) == cost, features
    assert isinstance(problem, Problem)
    assert problem.k == FILES[name][0]
    assert charged.rule(columns).fitted(columns) == charged.rule(columns)


def test_money_per_example() -> None:
    limits = {name: charged.budget for name, charged in PRICED_FILES.items()}
    assert limits == {"thyroid_cost": 25.0, "nhanes_a1c": 12.0, "appliances": 8.0}
