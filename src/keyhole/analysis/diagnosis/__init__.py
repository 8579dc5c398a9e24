"""Does my data fit, what will be seen of it, what should I use? As a page to read."""

from keyhole.analysis.diagnosis.diagnose import (
    ColumnObserver,
    StreamSums,
    diagnose,
    diagnose_moments,
    diagnose_sums,
)
from keyhole.analysis.diagnosis.page import Diagnosis, Finding, Fit, Guarantee, Recommendation

__all__ = [
    "ColumnObserver",
    "Diagnosis",
    "Finding",
    "Fit",
    "Guarantee",
    "Recommendation",
    "StreamSums",
    "diagnose",
    "diagnose_moments",
    "diagnose_sums",
]
