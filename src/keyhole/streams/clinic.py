"""A simulated clinic: named medical tests in a doctor's units, days in hospital, a price list.

Patients and prices are invented. Ranges, correlations and proportions are plausible, nothing more:
this is for demonstrations and tests, not for medicine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from keyhole.problem import Floats
from keyhole.problem.prices import PriceTable
from keyhole.streams.arrays import LabelledRows
from keyhole.streams.designs import bounded
from keyhole.streams.simulate import CHUNK, Simulated, Truth, generate

# What hides behind the tests; loadings below are in this order.
FACTORS = ("age", "metabolic", "renal", "inflammation", "liver", "thyroid", "blood")
CLINIC_BUDGET = 30.0  # money per patient
PRICES = {
    # Asked, or looked at in passing.
    "age_years": "0",
    "heart_rate": "0",
    "respiratory_rate": "0",
    "temperature_c": "0",
    # Measured at the bed.
    "bmi": "0.80",
    "waist_cm": "0.50",
    "oxygen_saturation": "0.60",
    "glucose_mg_dl": "1.20",  # a drop from the finger: no blood is drawn for it
    # From drawn blood, beside the fee for drawing it.
    "crp_mg_l": "7.50",
    "esr_mm_h": "1.60",  # follows the same inflammation as the CRP, for a fifth of its price
    "creatinine_mg_dl": "3.40",
    "urea_mg_dl": "1.10",  # follows the kidneys as creatinine does
    "cystatin_c_mg_l": "14.50",
    "albumin_g_l": "2.90",
    "uric_acid_mg_dl": "1.30",
    "phosphate_mg_dl": "1.20",
    "magnesium_mmol_l": "1.60",
    "hba1c_percent": "6.50",
    "insulin_uu_ml": "12.00",
    "procalcitonin_ng_ml": "19.50",
    # A sample of urine, and what is done with it.
    "urine_albumin_mg_g": "4.20",
}
# Members that have no price above come with the fee.
PANELS = {
    "blood_pressure": ("1.00", ("systolic_bp", "diastolic_bp")),
    "urine_sample": ("1.50", ("urine_albumin_mg_g",)),
    "full_blood_count": (
        "4.60",
        (
            *("haemoglobin_g_dl", "white_cells_g_l", "neutrophils_percent"),
            *("eosinophils_percent", "mcv_fl", "platelets_g_l"),
        ),
    ),
    "electrolytes": ("2.40", ("sodium_mmol_l", "potassium_mmol_l")),
    "liver_enzymes": ("5.20", ("alt_u_l", "ast_u_l", "ggt_u_l", "bilirubin_mg_dl")),
    "lipids": ("5.80", ("triglycerides_mg_dl", "hdl_mg_dl", "ldl_mg_dl")),
    "iron_stores": ("8.40", ("ferritin_ng_ml", "iron_ug_dl")),
    "thyroid": ("11.00", ("tsh_miu_l", "free_t4_ng_dl")),
}
DRAW = "5.00"
FROM_BLOOD = (
    *("crp_mg_l", "esr_mm_h", "creatinine_mg_dl", "urea_mg_dl", "cystatin_c_mg_l", "albumin_g_l"),
    *("uric_acid_mg_dl", "phosphate_mg_dl", "magnesium_mmol_l", "hba1c_percent", "insulin_uu_ml"),
    "procalcitonin_ng_ml",
)
BLOOD_PANELS = (
    *("full_blood_count", "electrolytes", "liver_enzymes", "lipids", "iron_stores", "thyroid"),
)


class LabTest(NamedTuple):
    """One column: centre + spread z, or centre exp(spread z) if skewed, with z standard Gaussian.

    z = sum of loading * factor + what is the test's own, so that its variance is 1.
    """

    name: str
    centre: float
    spread: float
    skewed: bool
    decimals: int
    loadings: tuple[float, ...] = (0.0,) * len(FACTORS)


# fmt: off
TESTS = (  #                               skewed    age  metab. renal infl. liver thyr. blood
    LabTest("age_years",           62,   12,   False, 0, (0.95, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)),
    LabTest("bmi",                 27,   0.16, True,  1, (0.0, 0.7, 0.0, 0.1, 0.1, 0.0, 0.0)),
    LabTest("waist_cm",            97,   13,   False, 0, (0.1, 0.75, 0.0, 0.1, 0.1, 0.0, 0.0)),
    LabTest("systolic_bp",         134,  17,   False, 0, (0.4, 0.35, 0.2, 0.0, 0.0, 0.0, 0.0)),
    LabTest("diastolic_bp",        80,   10,   False, 0, (0.0, 0.4, 0.2, 0.0, 0.0, 0.0, 0.0)),
    LabTest("heart_rate",          76,   11,   False, 0, (0.0, 0.1, 0.0, 0.4, 0.0, 0.3, -0.2)),
    LabTest("respiratory_rate",    16,   2.4,  False, 0, (0.2, 0.0, 0.0, 0.4, 0.0, 0.0, 0.0)),
    LabTest("temperature_c",       37.0, 0.55, False, 1, (0.0, 0.0, 0.0, 0.6, 0.0, 0.1, 0.0)),
    LabTest("oxygen_saturation",   95.5, 1.0,  False, 1, (-0.3, -0.2, 0.0, -0.4, 0.0, 0.0, 0.0)),
    LabTest("glucose_mg_dl",       108,  0.24, True,  0, (0.1, 0.75, 0.0, 0.1, 0.0, 0.0, 0.0)),
    LabTest("hba1c_percent",       5.9,  0.13, True,  1, (0.1, 0.8, 0.0, 0.0, 0.0, 0.0, 0.0)),
    LabTest("insulin_uu_ml",       9,    0.6,  True,  1, (0.0, 0.7, 0.0, 0.0, 0.1, 0.0, 0.0)),
    LabTest("triglycerides_mg_dl", 130,  0.45, True,  0, (0.0, 0.6, 0.0, 0.0, 0.2, -0.1, 0.0)),
    LabTest("hdl_mg_dl",           50,   0.25, True,  0, (0.0, -0.6, 0.0, -0.1, 0.0, 0.0, 0.0)),
    LabTest("ldl_mg_dl",           118,  26,   False, 0, (0.1, 0.3, 0.0, 0.0, 0.0, -0.3, 0.0)),
    LabTest("uric_acid_mg_dl",     5.8,  1.1,  False, 1, (0.0, 0.4, 0.5, 0.0, 0.0, 0.0, 0.0)),
    LabTest("creatinine_mg_dl",    1.0,  0.32, True,  2, (0.2, 0.0, 0.75, 0.0, 0.0, 0.0, 0.0)),
    LabTest("urea_mg_dl",          38,   0.35, True,  0, (0.25, 0.0, 0.7, 0.1, 0.0, 0.0, 0.0)),
    LabTest("cystatin_c_mg_l",     0.95, 0.28, True,  2, (0.3, 0.1, 0.7, 0.1, 0.0, 0.0, 0.0)),
    LabTest("urine_albumin_mg_g",  12,   1.0,  True,  1, (0.1, 0.3, 0.5, 0.1, 0.0, 0.0, 0.0)),
    LabTest("potassium_mmol_l",    4.3,  0.4,  False, 1, (0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0)),
    LabTest("sodium_mmol_l",       139,  3.0,  False, 0, (-0.1, 0.0, -0.2, -0.2, -0.2, 0.0, 0.0)),
    LabTest("phosphate_mg_dl",     3.5,  0.5,  False, 1, (0.0, 0.0, 0.45, 0.0, 0.0, 0.0, 0.0)),
    LabTest("crp_mg_l",            14,   0.75, True,  1, (0.0, 0.1, 0.0, 0.8, 0.0, 0.0, 0.0)),
    LabTest("esr_mm_h",            24,   0.5,  True,  0, (0.2, 0.0, 0.0, 0.7, 0.0, 0.0, -0.3)),
    LabTest("white_cells_g_l",     8.2,  0.28, True,  1, (0.0, 0.1, 0.0, 0.6, 0.0, 0.0, 0.0)),
    LabTest("neutrophils_percent", 64,   8,    False, 0, (0.0, 0.0, 0.0, 0.6, 0.0, 0.0, 0.0)),
    LabTest("ferritin_ng_ml",      140,  0.7,  True,  0, (0.0, 0.1, 0.0, 0.4, 0.2, 0.0, 0.5)),
    LabTest("procalcitonin_ng_ml", 0.09, 0.9,  True,  3, (0.0, 0.0, 0.1, 0.65, 0.0, 0.0, 0.0)),
    LabTest("albumin_g_l",         38,   4.2,  False, 1, (-0.2, 0.0, -0.1, -0.35, -0.4, 0.0, 0.1)),
    LabTest("alt_u_l",             26,   0.5,  True,  0, (0.0, 0.2, 0.0, 0.0, 0.75, 0.0, 0.0)),
    LabTest("ast_u_l",             27,   0.4,  True,  0, (0.0, 0.0, 0.0, 0.1, 0.8, 0.0, 0.0)),
    LabTest("ggt_u_l",             32,   0.7,  True,  0, (0.0, 0.2, 0.0, 0.0, 0.7, 0.0, 0.0)),
    LabTest("bilirubin_mg_dl",     0.7,  0.4,  True,  2, (0.0, 0.0, 0.0, 0.0, 0.6, 0.0, 0.0)),
    LabTest("tsh_miu_l",           1.9,  0.6,  True,  2, (0.0, 0.0, 0.0, 0.0, 0.0, -0.8, 0.0)),
    LabTest("free_t4_ng_dl",       1.25, 0.16, True,  2, (0.0, 0.0, 0.0, 0.0, 0.0, 0.75, 0.0)),
    LabTest("haemoglobin_g_dl",    13.4, 1.5,  False, 1, (-0.2, 0.0, -0.3, -0.2, 0.0, 0.0, 0.75)),
    LabTest("iron_ug_dl",          85,   0.35, True,  0, (0.0, 0.0, 0.0, -0.3, 0.0, 0.0, 0.65)),
    LabTest("mcv_fl",              90,   5,    False, 0, (0.1, 0.0, 0.0, 0.0, 0.2, 0.0, 0.5)),
    LabTest("platelets_g_l",       245,  0.25, True,  0, (0.0, 0.0, 0.0, 0.3, -0.2, 0.0, -0.2)),
    LabTest("eosinophils_percent", 2.5,  0.6,  True,  1),
    LabTest("magnesium_mmol_l",    0.85, 0.08, False, 2),
)


# fmt: on

# Days in hospital per unit of a test: four that matter, then the weak ones.
DAYS = {
    "crp_mg_l": 0.09,
    "age_years": 0.09,
    "creatinine_mg_dl": 3.0,
    "haemoglobin_g_dl": -0.6,
    "albumin_g_l": -0.12,
    "glucose_mg_dl": 0.012,
    "sodium_mmol_l": -0.06,
    "alt_u_l": 0.012,
    "tsh_miu_l": 0.15,
    "respiratory_rate": 0.08,
}


INTERCEPT = 21.0


CLINIC_NOISE_SD = 1.7


FAILED = 0.015  # share of tests that give no result


def clinic(n: int = 4000, *, seed: int = 0) -> Simulated:
    """Patients with 42 tests each; the label is how many days they stay in hospital.

    The tests follow seven hidden factors (age, metabolic, renal, inflammation, liver, thyroid,
    blood); lab values are skewed where real ones are; two tests (eosinophils, magnesium) have to do
    with nothing. days = intercept + <x, weights> + uniform noise, where four or five tests matter
    most and a few more a little. Of all results 1.5 % are NaN, at random: the test failed. The
    label uses the value it would have had.

    Parameters
    ----------
    n
        Patients.
    seed
        Which patients; tests, weights and intercept are always the same.

    Returns
    -------
    Simulated
        The stream with its names, and the truth in days per unit of each test.

    Guarantee
    ---------
    None of the paper's: neither features nor labels are within [-1, 1], and some are absent. The
    best four tests explain about 70 % of the variance of the label, eight random ones about 36 %.

    Examples
    --------
    >>> stream, truth = clinic()
    >>> stream.d, stream.rounds, stream.names[:3]
    (42, 4000, ('age_years', 'bmi', 'waist_cm'))
    >>> [stream.names[j] for j in truth.support][:3]
    ['age_years', 'respiratory_rate', 'glucose_mg_dl']
    """
    names = tuple(test.name for test in TESTS)
    weights = np.array([DAYS.get(name, 0.0) for name in names])

    def chunk(start: int, rng: np.random.Generator) -> LabelledRows:
        X = _results(rng)
        y = INTERCEPT + (X * weights).sum(axis=1) + CLINIC_NOISE_SD * bounded(CHUNK, rng)
        X[rng.random(X.shape) < FAILED] = np.nan
        return X, y

    truth = Truth(weights, np.flatnonzero(weights), INTERCEPT, CLINIC_NOISE_SD)
    return Simulated(generate(len(TESTS), n, seed, chunk, names), truth)


def _results(rng: np.random.Generator) -> Floats:
    loadings = np.array([test.loadings for test in TESTS])
    own = np.sqrt(1.0 - (loadings**2).sum(axis=1))
    hidden = rng.standard_normal((CHUNK, len(FACTORS)))
    z = (hidden[:, None, :] * loadings).sum(axis=2) + own * rng.standard_normal((CHUNK, len(TESTS)))
    z = np.clip(z, -3.5, 3.5)  # no patient of 130 years, however many there are
    X: Floats = np.empty(z.shape)
    for j, test in enumerate(TESTS):
        value = test.spread * z[:, j]
        value = test.centre * np.exp(value) if test.skewed else test.centre + value
        X[:, j] = np.round(value, test.decimals)
    return X


def clinic_prices() -> PriceTable:
    """A price list for the tests of `clinic`: free ones, a fee for the blood draw, panels.

    The amounts are invented. Age and what is looked at in passing are free; blood pressure is one
    measurement of two values; whatever needs blood needs the blood draw, once; the full blood
    count, electrolytes, liver enzymes, lipids, iron stores and the thyroid have one fee each, for
    all their values; a sample of urine is a fee of its own. Of the tests that matter most, age is
    free, haemoglobin comes with the full blood count, creatinine and albumin are of middling
    price, and CRP is dear. Cheap tests that follow the same causes stand beside them: the
    temperature and ESR for CRP, urea for creatinine. Dear ones that add little are there too:
    procalcitonin, cystatin C, insulin. There is no imaging: the clinic has no such test.

    `CLINIC_BUDGET`, 30 per patient, buys the tests that matter most and leaves about 6 to look
    around with. Spent at random it pays for 8 or 9 orders, the blood draw and panels among them,
    which give some 14 values beside the free ones. All 42 cost 125.30.

    Examples
    --------
    >>> from keyhole import Problem
    >>> from keyhole.streams.clinic import clinic
    >>> stream, _ = clinic(100)
    >>> problem = Problem(stream.d, 4, CLINIC_BUDGET, stream.names, prices=clinic_prices())
    >>> wanted = ["age_years", "crp_mg_l", "creatinine_mg_dl", "haemoglobin_g_dl", "albumin_g_l"]
    >>> features = [stream.names.index(name) for name in wanted]
    >>> problem.cost(features), problem.affords(features)
    (23.4, True)
    >>> problem.prices.to_order(features)
    ('creatinine_mg_dl', 'crp_mg_l', 'albumin_g_l', 'full_blood_count', 'blood_draw')
    """
    drawn = (*FROM_BLOOD, *(name for panel in BLOOD_PANELS for name in PANELS[panel][1]))
    return PriceTable(PRICES, {**PANELS, "blood_draw": (DRAW, drawn)}, title="prices of the clinic")
