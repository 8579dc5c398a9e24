"""Prediction intervals from past errors: quantiles followed online, with a guarantee."""
