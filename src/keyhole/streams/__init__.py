"""Streams of examples: from arrays and files, simulated, with drift; to files."""

from keyhole.streams import designs
from keyhole.streams.agnostic_suite import AGNOSTIC_SUITE, Case, agnostic_suite
from keyhole.streams.answers import Answers
from keyhole.streams.arrays import (
    ArrayStream,
    GeneratedStream,
    chain,
    collect,
    repeat,
    shuffle,
    take,
)
from keyhole.streams.clinic import clinic
from keyhole.streams.clinic_prices import CLINIC_BUDGET, clinic_prices
from keyhole.streams.dependent import dependent
from keyhole.streams.drift import drifting, leaders, sign_flips, switching
from keyhole.streams.files import FileStream, ReadStream, read
from keyhole.streams.measurements import linear_measurements
from keyhole.streams.priced_suite import PRICED_SUITE, Priced, PricedCase, priced_suite
from keyhole.streams.realizable_suite import REALIZABLE_SUITE, Setting, realizable_suite
from keyhole.streams.simulate import Simulated, Truth, linear
from keyhole.streams.sparse import SparseStream
from keyhole.streams.sparse_files import SparseFileStream
from keyhole.streams.synthetic import (
    dense,
    ill_conditioned,
    needle,
    nonlinear,
    padded_hard,
    realizable,
)
from keyhole.streams.writer import write

__all__ = [
    "AGNOSTIC_SUITE",
    "CLINIC_BUDGET",
    "PRICED_SUITE",
    "REALIZABLE_SUITE",
    "Answers",
    "ArrayStream",
    "Case",
    "FileStream",
    "GeneratedStream",
    "Priced",
    "PricedCase",
    "ReadStream",
    "Setting",
    "Simulated",
    "SparseFileStream",
    "SparseStream",
    "Truth",
    "agnostic_suite",
    "chain",
    "clinic",
    "clinic_prices",
    "collect",
    "dense",
    "dependent",
    "designs",
    "drifting",
    "ill_conditioned",
    "leaders",
    "linear",
    "linear_measurements",
    "needle",
    "nonlinear",
    "padded_hard",
    "priced_suite",
    "read",
    "realizable",
    "realizable_suite",
    "repeat",
    "shuffle",
    "sign_flips",
    "switching",
    "take",
    "write",
]
