"""What the tests of the simulated clinic cost: an invented price list with panels.

The amounts are made up, in proportions that a hospital would recognise; they are nobody's.
"""

from __future__ import annotations

from keyhole.problem.price_table import PriceTable

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
            "haemoglobin_g_dl",
            "white_cells_g_l",
            "neutrophils_percent",
            "eosinophils_percent",
            "mcv_fl",
            "platelets_g_l",
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
