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
from keyhole.learners.aelr import AELRLearner
from keyhole.learners.aerr import AERRLearner
from keyhole.learners.auto import AutoLearner
from keyhole.learners.baselines import (
    FixedSubset,
    FullInformation,
    RandomSubset,
    RunningMean,
    Zero,
    oracle,
)
from keyhole.learners.dantzig import DantzigLearner
from keyhole.learners.ds_oslrc import DSOSLRCLearner
from keyhole.learners.ds_poslrc import DSPOSLRCLearner
from keyhole.learners.dual_averaging import DualAveragingLearner
from keyhole.learners.epsilon_greedy import EpsilonGreedyLearner
from keyhole.learners.explore_commit import ExploreThenCommitLearner
from keyhole.learners.hard_thresholding import HardThresholdingLearner
from keyhole.learners.online_greedy import OnlineGreedyLearner
from keyhole.learners.online_lasso import OnlineLassoLearner
from keyhole.learners.online_omp import OnlineOMPLearner
from keyhole.learners.subset_experts import SubsetExpertsLearner
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
    "AELRLearner",
    "AERRLearner",
    "AutoLearner",
    "BlockLearner",
    "BlockStream",
    "BudgetError",
    "Checkpoint",
    "DSOSLRCLearner",
    "DSPOSLRCLearner",
    "DantzigLearner",
    "DataError",
    "Diagnosis",
    "DualAveragingLearner",
    "EpsilonGreedyLearner",
    "ExploreThenCommitLearner",
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
    "OnlineLassoLearner",
    "OnlineOMPLearner",
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
    "SubsetExpertsLearner",
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
    "oracle",
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
