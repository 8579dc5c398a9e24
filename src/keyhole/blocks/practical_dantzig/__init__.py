"""Algorithm 1 in practice: scales, thresholds and noise measured from what was read."""
