"""Every simulated stream has the rows it always had: what was measured on it stays comparable."""

from collections.abc import Callable

import numpy as np
import pytest

from keyhole import streams
from keyhole.streams import Simulated, designs

# The last feature of the first row, the sum of all features' sizes, the first and the last label,
# the sum of the labels' sizes; of the truth: sizes of the weights, intercept, noise, changes.
ROWS: dict[str, tuple[Callable[[], Simulated], tuple[float, ...]]] = {
    "realizable": (
        lambda: streams.realizable(20, 3, 1100),
        (-1, 22000, 0.269415941, -0.121578459, 540.884563, 1, 0, 0.1, 0),
    ),
    "realizable toeplitz": (
        lambda: streams.realizable(20, 3, 1100, design=designs.toeplitz(0.5)),
        (0.233232944, 11008.7, -0.167580766, 0.158794958, 320.469685, 1, 0, 0.1, 0),
    ),
    "realizable factor": (
        lambda: streams.realizable(20, 3, 1100, design=designs.factor(0.4), noise=designs.bounded),
        (0.62964127, 10887.0454, 0.021273421, 0.612578082, 313.916779, 1, 0, 0.1, 0),
    ),
    "realizable heavy_tailed": (
        lambda: streams.realizable(
            20, 3, 1100, design=designs.heavy_tailed(), noise=designs.student()
        ),
        (-0.479005851, 4285.52118, 0.0176249684, 0.02573711, 155.8889, 1, 0, 0.1, 0),
    ),
    "realizable binary": (
        lambda: streams.realizable(20, 3, 1100, design=designs.binary()),
        (0, 6724, -0.242243215, -0.0281444981, 246.714129, 1, 0, 0.1, 0),
    ),
    "realizable duplicates": (
        lambda: streams.realizable(20, 3, 1100, design=designs.duplicates()),
        (-0.221509623, 9922.35257, 0.383657832, -0.18826373, 287.40789, 1, 0, 0.1, 0),
    ),
    "dense": (
        lambda: streams.dense(20, 1100),
        (0.866349001, 10957.2298, -0.305574965, 0.147439518, 206.866073, 0.91339746, 0, 0.05, 0),
    ),
    "nonlinear": (
        lambda: streams.nonlinear(20, 1100),
        (
            0.233232944,
            11008.7,
            0.0335071405,
            -0.225626786,
            343.803286,
            0.846041974,
            0.00808042231,
            0.05,
            0,
        ),
    ),
    "needle": (lambda: streams.needle(30, 1100), (1, 33000, -1, -1, 1100, 0.92, 0, 0.95005263, 0)),
    "ill_conditioned": (
        lambda: streams.ill_conditioned(20, 4, 1100),
        (-0.221509623, 9922.35257, -0.591533003, -0.240031931, 174.820091, 9.1339746, 0, 0.05, 0),
    ),
    "padded_hard": (
        lambda: streams.padded_hard(12, 2, 300, 800),
        (-1, 11413, -0.5, 0.986189178, 591.384015, 1, 0, 0.1, 0),
    ),
    "linear_measurements": (
        lambda: streams.linear_measurements(12, 2, 1100),
        (0.574859491, 10489.8188, -1.37665499, 0.311119828, 986.879043, 1.12406861, 0, 1, 0),
    ),
    "dependent": (
        lambda: streams.dependent(20, 3, 1100),
        (0.233232944, 11008.7, -0.115200302, 0.355049881, 396.709442, 1.25, 0, 0.123764482, 0),
    ),
    "switching": (
        lambda: streams.switching(30, 2, 1100),
        (1, 33000, 0.972121611, 0.0780921411, 536.742685, 0.91339746, 0, 0.05, 5),
    ),
    "drifting": (
        lambda: streams.drifting(20, 1100),
        (0.866349001, 10957.2298, -0.094219268, 0.0463954682, 166.411923, 0.531756418, 0, 0.05, 35),
    ),
    "sign_flips": (
        lambda: streams.sign_flips(20, 1100),
        (-1, 22000, 0.391799365, 0.0284349858, 343.463481, 0.461818182, 0, 0.04, 6),
    ),
    "leaders": (
        lambda: streams.leaders(10, 1100),
        (1, 11000, 0.283238555, -0.212418709, 592.797999, 0.9, 0, 0.05, 6),
    ),
    "clinic": (
        lambda: streams.clinic(1100),
        (0.92, 2360659.13, 13.5320387, 14.9966698, 15216.192, 4.214, 21, 1.7, 0),
    ),
    "agnostic_suite iid": (
        lambda: streams.agnostic_suite("iid", 1100),
        (1, 33000, -0.0424492164, -0.0280973991, 690.872928, 1, 0, 0.2, 0),
    ),
    "agnostic_suite iid300": (
        lambda: streams.agnostic_suite("iid300", 1100),
        (-0.266801037, 165065.786, -0.41307479, -0.122316728, 300.872959, 1, 0, 0.15, 0),
    ),
    "realizable_suite S1": (
        lambda: streams.realizable_suite("S1", 1100),
        (-1, 22000, -0.179040643, 0.453597948, 708.364367, 1, 0, 0.1, 0),
    ),
    "realizable_suite S2": (
        lambda: streams.realizable_suite("S2", 1100),
        (-1, 110000, 0.109269196, 1.05684254, 425.120453, 1, 0, 0.1, 0),
    ),
    "realizable_suite S3": (
        lambda: streams.realizable_suite("S3", 1100),
        (-1, 110000, 0.209176478, 1.17052763, 498.880232, 1, 0, 0.3, 0),
    ),
    "realizable_suite S4": (
        lambda: streams.realizable_suite("S4", 1100),
        (0.0449216686, 164931.46, -0.425502392, 0.22925607, 251.562708, 1, 0, 0.1, 0),
    ),
    "realizable_suite S5": (
        lambda: streams.realizable_suite("S5", 1100),
        (1, 1100000, -0.210007033, -0.335323306, 304.521006, 1, 0, 0.1, 0),
    ),
    "realizable_suite S6": (
        lambda: streams.realizable_suite("S6", 1100),
        (0.949495082, 54844.6222, 0.412853391, -0.103514479, 255.148889, 1, 0, 0.1, 0),
    ),
    "realizable_suite S7": (
        lambda: streams.realizable_suite("S7", 1100),
        (0.208007517, 54520.5443, 0.0602738618, -0.0152464468, 204.699527, 1, 0, 0.1, 0),
    ),
    "realizable_suite S8": (
        lambda: streams.realizable_suite("S8", 1100),
        (0.0278484922, 99405.0127, 0.414740537, 0.364875618, 429.555759, 1.48792996, 0, 0.3, 0),
    ),
    "realizable_suite S9": (
        lambda: streams.realizable_suite("S9", 1100),
        (1, 16714, 0.609452962, 0.431440545, 635.601236, 1, 0.5, 0.1, 0),
    ),
    "realizable_suite S10": (
        lambda: streams.realizable_suite("S10", 1100),
        (-1, 110000, 0.109269196, 1.05684254, 425.120453, 1, 0, 0.1, 0),
    ),
    "realizable_suite S12": (
        lambda: streams.realizable_suite("S12", 1100),
        (-0.018211689, 54439.3015, -0.00686789245, -0.0419434564, 198.650358, 1, 0, 0.1, 0),
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_and_truth_are_what_they_always_were(name: str) -> None:
    make, wanted = ROWS[name]
    stream, truth = make()
    X, y = streams.collect(stream)
    assert len(y) == 1100  # more than one chunk
    found = (X[0, -1], np.nansum(np.abs(X)), y[0], y[-1], np.abs(y).sum())
    told = (np.abs(truth.weights).sum(), truth.intercept, truth.noise_sd, len(truth.path))
    assert (*found, *told) == pytest.approx(wanted, rel=1e-6, abs=1e-9)
