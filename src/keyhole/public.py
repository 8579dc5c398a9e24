"""The public names: `keyhole` hands out these, and nothing else."""

from keyhole import learners, report, streams, testing, theory
from keyhole.conditions import bbrcnp, restricted_condition_number, rip, weak_supermodularity
from keyhole.diagnosis import Diagnosis, diagnose, diagnose_moments
from keyhole.game import ProgressLine, play, rounds, sell
from keyhole.hindsight import (
    Hindsight,
    RegretCurve,
    hindsight,
    hindsight_curve,
    regret,
    regret_curve,
)
from keyhole.learners import LEARNERS
from keyhole.learners.auto import AutoLearner
from keyhole.learners.baselines import FixedSubset, FullInformation, RandomSubset, RunningMean, Zero
from keyhole.learners.dantzig import DantzigLearner
from keyhole.learners.dual_averaging import DualAveragingLearner
from keyhole.learners.hard_thresholding import HardThresholdingLearner
from keyhole.learners.online_greedy import OnlineGreedyLearner
from keyhole.ledger import Checkpoint, Ledger
from keyhole.model import SparseModel
from keyhole.problem import (
    BlockLearner,
    BlockStream,
    BudgetError,
    DataError,
    Interval,
    KeyholeError,
    Learner,
    MissingExtraError,
    Observation,
    Problem,
    ProblemError,
    Round,
    StateError,
    Stream,
    Ticket,
    TicketError,
)
from keyhole.report import plots
from keyhole.state import load, merge, save

__all__ = [
    "LEARNERS",
    "AutoLearner",
    "BlockLearner",
    "BlockStream",
    "BudgetError",
    "Checkpoint",
    "DantzigLearner",
    "DataError",
    "Diagnosis",
    "DualAveragingLearner",
    "FixedSubset",
    "FullInformation",
    "HardThresholdingLearner",
    "Hindsight",
    "Interval",
    "KeyholeError",
    "Learner",
    "Ledger",
    "MissingExtraError",
    "Observation",
    "OnlineGreedyLearner",
    "Problem",
    "ProblemError",
    "ProgressLine",
    "RandomSubset",
    "RegretCurve",
    "Round",
    "RunningMean",
    "SparseModel",
    "StateError",
    "Stream",
    "Ticket",
    "TicketError",
    "Zero",
    "bbrcnp",
    "diagnose",
    "diagnose_moments",
    "hindsight",
    "hindsight_curve",
    "learners",
    "load",
    "merge",
    "play",
    "plots",
    "regret",
    "regret_curve",
    "report",
    "restricted_condition_number",
    "rip",
    "rounds",
    "save",
    "sell",
    "streams",
    "testing",
    "theory",
    "weak_supermodularity",
]
