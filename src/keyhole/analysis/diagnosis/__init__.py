"""Diagnosis of a stream: does the data fit, what is unusual, which learner to use; as a page."""

from keyhole.analysis.diagnosis.diagnose import (
    ColumnObserver,
    StreamSums,
    diagnose,
    diagnose_moments,
    diagnose_sums,
)
from keyhole.analysis.diagnosis.page import Diagnosis, Fit, Guarantee, Recommendation
from keyhole.analysis.findings import Finding

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
