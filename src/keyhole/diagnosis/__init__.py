"""Does my data fit, what will be seen of it, what should I use? As a page to read."""

from keyhole.diagnosis.judge import diagnose, diagnose_moments
from keyhole.diagnosis.page import Diagnosis, Finding, Fit, Guarantee, Recommendation

__all__ = [
    "Diagnosis",
    "Finding",
    "Fit",
    "Guarantee",
    "Recommendation",
    "diagnose",
    "diagnose_moments",
]
