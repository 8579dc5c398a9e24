"""The learners, one algorithm per file; `registry.py` knows them by name."""

from keyhole.learners.registry import LEARNERS, LearnerRow, learner_row, make_learner

__all__ = ["LEARNERS", "LearnerRow", "learner_row", "make_learner"]
