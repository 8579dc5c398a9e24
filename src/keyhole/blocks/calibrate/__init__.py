"""Calibration: from the score of a learner to the probability of a yes, online."""
